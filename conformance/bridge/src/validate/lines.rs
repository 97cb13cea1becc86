//! The lines of one log, read one by one.
//!
//! Some logs grow while they are read: a file that a node writes, and what comes through a pipe.
//! Where nothing more has come yet, reading fails with [`ErrorKind::WouldBlock`], and goes on from
//! there the next time.

use crate::error::Malformed;
use bellwether_core::trace::{Entry, Line, Start};
use serde::de::{DeserializeOwned, IgnoredAny};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::task::Poll;
use std::thread;

/// A longer line is none of a node's.
const LONGEST: u64 = 1 << 20;
/// The name of standard input in messages.
const INPUT: &str = "standard input";
/// How much is read from a pipe at once.
const CHUNK: usize = 1 << 16;
/// How many of these wait to be judged. A program that writes more waits.
const MOST: usize = 16;

/// A log of one node.
pub struct Log {
    /// The name of the log, for messages: that of its file.
    pub name: String,
    /// The text of the log.
    pub text: Box<dyn BufRead>,
}

impl Log {
    /// Returns the log that this file has.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(file: &Path) -> io::Result<Log> {
        Ok(Log::of(file.display().to_string(), File::open(file)?))
    }

    /// Returns the log that this file has, which may grow while it is judged. Of what is no file,
    /// such as a named pipe, the log goes on until its other end is closed.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn follow(file: &Path) -> io::Result<Log> {
        let (name, file) = (file.display().to_string(), File::open(file)?);
        if file.metadata()?.is_file() {
            return Ok(Log::of(name, Growing { file, read: 0 }));
        }
        Ok(Log::of(name, Piped::new(file)?))
    }

    /// Returns the log that comes through standard input.
    #[must_use]
    pub fn input() -> Log {
        Log::of(INPUT.to_owned(), io::stdin())
    }

    /// Returns the log that comes through standard input while it is judged.
    ///
    /// # Errors
    /// If the system gives no thread that waits for it.
    pub fn growing_input() -> io::Result<Log> {
        Ok(Log::of(INPUT.to_owned(), Piped::new(io::stdin())?))
    }

    fn of(name: String, text: impl Read + 'static) -> Log {
        Log { name, text: Box::new(BufReader::with_capacity(1 << 16, text)) }
    }

    /// Returns the name of the protocol of which the log is, if its first line says it. Nothing is
    /// taken from the text. If that line has not come yet, `waits` waits for it, and says whether
    /// to go on.
    ///
    /// # Errors
    /// If the text cannot be read.
    pub fn protocol(&mut self, mut waits: impl FnMut() -> bool) -> io::Result<Option<String>> {
        let mut first = Vec::new();
        loop {
            let room = LONGEST.saturating_sub(first.len() as u64);
            match self.text.by_ref().take(room).read_until(b'\n', &mut first) {
                Ok(_) => break,
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(_) if waits() => {}
                Err(_) => break,
            }
        }
        let line = serde_json::from_slice::<Line<IgnoredAny, IgnoredAny>>(&first);
        let rest = mem::replace(&mut self.text, Box::new(io::empty()));
        self.text = Box::new(Cursor::new(first).chain(rest));
        Ok(match line {
            Ok(Line { entry: Entry::Start(start), .. }) => Some(start.protocol),
            _ => None,
        })
    }
}

/// A file that may become longer.
struct Growing {
    file: File,
    read: u64,
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

/// The lines that come through a pipe, until its other end is closed. A thread of its own waits for
/// it.
struct Piped {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
}

impl Piped {
    /// # Errors
    /// If the system gives no thread.
    fn new(from: impl Read + Send + 'static) -> io::Result<Self> {
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

pub(super) struct Lines {
    log: Log,
    buffer: Vec<u8>,
    /// The number of the line in the buffer.
    line: u64,
    /// Where that line begins, and where the next does.
    begins: u64,
    ends: u64,
    /// True if the line in the buffer was looked at and not taken.
    ahead: bool,
    /// True if the rest of the line in the buffer has not come yet.
    partial: bool,
    /// The mistake in the line before, if the next decides whether it was torn.
    doubtful: Option<Malformed>,
    /// How many lines were torn: the last of a file, or of an incarnation that was killed.
    pub(super) torn: u64,
}

impl Lines {
    pub(super) fn new(log: Log) -> Self {
        Lines {
            log,
            buffer: Vec::new(),
            line: 0,
            begins: 0,
            ends: 0,
            ahead: false,
            partial: false,
            doubtful: None,
            torn: 0,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.log.name
    }

    /// The number of the line that was read last.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Returns what is wrong with the line that was read last.
    pub(super) fn wrong(&self, why: impl Into<String>) -> Malformed {
        self.wrong_at(0, why)
    }

    fn wrong_at(&self, column: u64, why: impl Into<String>) -> Malformed {
        let (log, byte) = (self.log.name.clone(), self.begins + column);
        Malformed { log, line: self.line, byte, why: why.into() }
    }

    /// The first line: the start of an incarnation.
    pub(super) fn start(&mut self) -> Result<Poll<Start>, Malformed> {
        match self.read::<IgnoredAny, IgnoredAny>()? {
            Poll::Ready(Some(Line { entry: Entry::Start(start), .. })) => Ok(Poll::Ready(start)),
            Poll::Ready(Some(_)) => {
                Err(self.wrong("the first line of a log is the start of a node"))
            }
            Poll::Ready(None) => Err(self.wrong("the log has no line")),
            Poll::Pending => Ok(Poll::Pending),
        }
    }

    /// The next line, if there is one; pending if it has not come yet.
    pub(super) fn read<D: DeserializeOwned, T: DeserializeOwned>(
        &mut self,
    ) -> Result<Poll<Option<Line<D, T>>>, Malformed> {
        if let Some(wrong) = self.doubtful.take() {
            return self.read_after(wrong);
        }
        match self.fill()? {
            Poll::Ready(true) => {}
            Poll::Ready(false) => return Ok(Poll::Ready(None)),
            Poll::Pending => return Ok(Poll::Pending),
        }
        let error = match serde_json::from_slice(&self.buffer) {
            Ok(line) => return Ok(Poll::Ready(Some(line))),
            Err(error) => error,
        };
        match self.unreadable(&error) {
            Some(wrong) => self.read_after(wrong),
            None => Ok(Poll::Ready(None)),
        }
    }

    /// Returns what is wrong with the line in the buffer; nothing if it was torn.
    fn unreadable(&mut self, error: &serde_json::Error) -> Option<Malformed> {
        if self.buffer.last() != Some(&b'\n') {
            self.torn += 1;
            return None;
        }
        let column = u64::try_from(error.column().saturating_sub(1)).unwrap_or(0);
        let words = error.to_string();
        // The place is told otherwise.
        let why = words.split(" at line ").next().unwrap_or(&words);
        Some(self.wrong_at(column, why))
    }

    /// The line that follows one that is wrong. If it is a start, the node was killed in the middle
    /// of the wrong one, and started again.
    fn read_after<D: DeserializeOwned, T: DeserializeOwned>(
        &mut self,
        wrong: Malformed,
    ) -> Result<Poll<Option<Line<D, T>>>, Malformed> {
        match self.fill()? {
            Poll::Ready(true) if self.is_start() => {
                self.torn += 1;
                self.ahead = true;
                self.read()
            }
            Poll::Ready(_) => Err(wrong),
            Poll::Pending => {
                self.doubtful = Some(wrong);
                Ok(Poll::Pending)
            }
        }
    }

    fn is_start(&self) -> bool {
        let line = serde_json::from_slice::<Line<IgnoredAny, IgnoredAny>>(&self.buffer);
        matches!(line, Ok(Line { entry: Entry::Start(_), .. }))
    }

    /// Nothing more is read, though more may come; what is wrong with the last line, if anything
    /// is.
    pub(super) fn finish(&mut self) -> Option<Malformed> {
        self.torn += u64::from(mem::take(&mut self.partial) && !self.buffer.is_empty());
        self.doubtful.take()
    }

    /// Fills the buffer with the next line; whether there is one. Pending if its end has not come
    /// yet.
    fn fill(&mut self) -> Result<Poll<bool>, Malformed> {
        if mem::take(&mut self.ahead) {
            return Ok(Poll::Ready(true));
        }
        if !mem::take(&mut self.partial) {
            self.buffer.clear();
            (self.begins, self.line) = (self.ends, self.line + 1);
        }
        let room = LONGEST.saturating_sub(self.buffer.len() as u64);
        let read = self.log.text.by_ref().take(room).read_until(b'\n', &mut self.buffer);
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.partial = true;
                return Ok(Poll::Pending);
            }
            Err(error) => return Err(self.wrong(format!("cannot be read: {error}"))),
        }
        let read = self.buffer.len() as u64;
        self.ends = self.begins + read;
        if read == LONGEST && self.buffer.last() != Some(&b'\n') {
            return Err(self.wrong(format!("a line has at most {LONGEST} bytes")));
        }
        if read == 0 {
            self.line -= 1;
        }
        Ok(Poll::Ready(read > 0))
    }
}
