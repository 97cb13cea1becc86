//! Logs that grow while they are read: a file that a node writes, and what comes through a pipe.
//!
//! Where nothing more has come yet, reading fails with [`ErrorKind::WouldBlock`], and goes on from
//! there the next time.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

/// How much is read from a pipe at once.
const CHUNK: usize = 1 << 16;
/// How many of these wait to be judged. A program that writes more waits.
const MOST: usize = 16;

/// A file that may become longer.
pub(super) struct Growing {
    file: File,
    read: u64,
}

impl Growing {
    pub(super) fn new(file: File) -> Self {
        Growing { file, read: 0 }
    }
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        if self.file.metadata()?.len() < self.read {
            return Err(io::Error::other("the file has become shorter"));
        }
        Err(ErrorKind::WouldBlock.into())
    }
}

/// What comes through a pipe, until its other end is closed. A thread of its own waits for it.
pub(super) struct Piped {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
}

impl Piped {
    /// # Errors
    /// If the system gives no thread.
    pub(super) fn new(from: impl Read + Send + 'static) -> io::Result<Self> {
        let (queue, chunks) = sync_channel(MOST);
        thread::Builder::new().name("log".to_owned()).spawn(move || pump(from, &queue))?;
        Ok(Piped { chunks, chunk: Cursor::default() })
    }
}

/// Reads to the end, or until no one takes what is read.
fn pump(mut from: impl Read, queue: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => Ok(buffer[..read].to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = read.is_err();
        if queue.send(read).is_err() || is_last {
            return;
        }
    }
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.chunk.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        match self.chunks.try_recv() {
            Ok(chunk) => self.chunk = Cursor::new(chunk?),
            Err(TryRecvError::Empty) => return Err(ErrorKind::WouldBlock.into()),
            Err(TryRecvError::Disconnected) => return Ok(0),
        }
        self.chunk.read(buffer)
    }
}
