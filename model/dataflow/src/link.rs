//! A connection to another process that is told of when it is lost.
//!
//! Timely's threads panic when they cannot read or write. So they never see that they cannot.

use super::flow::ProcessEvent;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::Sender;
use std::thread;
use timely::communication::allocator::zero_copy::stream::Stream;

/// A connection to a process.
pub(super) struct Link {
    stream: TcpStream,
    process: usize,
    says: Sender<ProcessEvent>,
    frames: Frames,
    lost: bool,
}

impl Link {
    pub(super) fn new(
        stream: TcpStream,
        process: usize,
        says: Sender<ProcessEvent>,
    ) -> io::Result<Self> {
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)?;
        Ok(Link { stream, process, says, frames: Frames::default(), lost: false })
    }

    fn lose(&mut self) {
        if !self.lost {
            self.lost = true;
            // Without a listener the search is over, and nothing is lost.
            let _ = self.says.send(ProcessEvent::Lost(self.process));
        }
    }
}

impl Read for Link {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(read) if read > 0 => {
                    self.frames.pass(&bytes[..read]);
                    return Ok(read);
                }
                _ if self.frames.ended => return Ok(0),
                _ => {
                    self.lose();
                    // Nothing more will come, and the process is about to say so and to end.
                    loop {
                        thread::park();
                    }
                }
            }
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.lost {
            match self.stream.write(bytes) {
                Ok(written) if written > 0 => return Ok(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                _ => self.lose(),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Link {
    fn try_clone(&self) -> io::Result<Self> {
        Link::new(self.stream.try_clone()?, self.process, self.says.clone())
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        // It may be lost.
        let _ = self.stream.shutdown(how);
        Ok(())
    }
}

/// The bytes of the header of a message: `timely::communication::networking::MessageHeader`.
const HEADER: usize = 48;
/// Where it says how many bytes follow.
const LENGTH: std::ops::Range<usize> = 32..40;

/// The messages in a stream. One of no length says that it has ended.
#[derive(Debug)]
struct Frames {
    header: [u8; HEADER],
    /// How much of a header has come.
    come: usize,
    /// How many bytes of a message have not.
    left: u64,
    ended: bool,
}

impl Default for Frames {
    fn default() -> Self {
        Frames { header: [0; HEADER], come: 0, left: 0, ended: false }
    }
}

impl Frames {
    /// These bytes come next.
    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let here = usize::try_from(self.left).map_or(bytes.len(), |l| l.min(bytes.len()));
                self.left -= here as u64;
                bytes = &bytes[here..];
                continue;
            }
            let here = (HEADER - self.come).min(bytes.len());
            self.header[self.come..self.come + here].copy_from_slice(&bytes[..here]);
            self.come += here;
            bytes = &bytes[here..];
            if self.come == HEADER {
                let mut length = [0; size_of::<u64>()];
                length.copy_from_slice(&self.header[LENGTH]);
                self.left = u64::from_be_bytes(length);
                self.ended = self.left == 0;
                self.come = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use timely::communication::networking::MessageHeader;

    fn message(length: usize) -> Vec<u8> {
        let header = MessageHeader {
            channel: 1,
            source: 2,
            target_lower: 3,
            target_upper: 4,
            length,
            seqno: 5,
        };
        let mut bytes = Vec::new();
        header.write_to(&mut bytes).expect("there is room");
        // Not what the end of a stream looks like.
        bytes.extend(std::iter::repeat_n(0, length));
        bytes
    }

    proptest! {
        /// However a stream is cut into pieces.
        #[test]
        fn the_end_of_a_stream_is_seen_and_nothing_else_is_taken_for_it(
            lengths in proptest::collection::vec(1usize..200, 0..20),
            pieces in proptest::collection::vec(1usize..100, 1..20),
        ) {
            let mut bytes: Vec<u8> = lengths.iter().flat_map(|&length| message(length)).collect();
            let before = bytes.len() + HEADER - 1;
            bytes.extend(message(0));
            let (mut frames, mut at) = (Frames::default(), 0);
            for piece in pieces.iter().cycle() {
                let to = (at + piece).min(before);
                frames.pass(&bytes[at..to]);
                prop_assert!(!frames.ended);
                at = to;
                if at == before {
                    break;
                }
            }
            frames.pass(&bytes[before..]);
            prop_assert!(frames.ended);
        }
    }
}
