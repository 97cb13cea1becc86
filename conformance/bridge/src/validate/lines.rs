//! The lines of one log, read one by one.

use crate::error::Malformed;
use bellwether_core::trace::{Entry, Line, Start};
use serde::de::{DeserializeOwned, IgnoredAny};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

/// A longer line is none of a node's.
const LONGEST: u64 = 1 << 20;

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
        let text = BufReader::with_capacity(1 << 16, File::open(file)?);
        Ok(Log { name: file.display().to_string(), text: Box::new(text) })
    }

    /// Returns the name of the protocol of which the log is, if its first line says it. Nothing is
    /// taken from the text.
    ///
    /// # Errors
    /// If the text cannot be read.
    pub fn protocol(&mut self) -> io::Result<Option<String>> {
        let first = self.text.fill_buf()?.split(|byte| *byte == b'\n').next();
        let line =
            serde_json::from_slice::<Line<IgnoredAny, IgnoredAny>>(first.unwrap_or_default());
        Ok(match line {
            Ok(Line { entry: Entry::Start(start), .. }) => Some(start.protocol),
            _ => None,
        })
    }
}

/// Reads the lines of a log.
pub(super) struct Lines {
    log: Log,
    buffer: Vec<u8>,
    /// The number of the line in the buffer.
    line: u64,
    /// Where that line begins, and where the next does.
    begins: u64,
    ends: u64,
    /// Whether the line in the buffer was looked at and not taken.
    ahead: bool,
    /// How many lines were torn: the last of a file, or of an incarnation that was killed.
    pub(super) torn: u64,
}

impl Lines {
    pub(super) fn new(log: Log) -> Self {
        Lines { log, buffer: Vec::new(), line: 0, begins: 0, ends: 0, ahead: false, torn: 0 }
    }

    pub(super) fn name(&self) -> &str {
        &self.log.name
    }

    /// The number of the line that was read last.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// What is wrong with the line that was read last.
    pub(super) fn wrong(&self, why: impl Into<String>) -> Malformed {
        self.wrong_at(0, why)
    }

    fn wrong_at(&self, column: u64, why: impl Into<String>) -> Malformed {
        let (log, byte) = (self.log.name.clone(), self.begins + column);
        Malformed { log, line: self.line, byte, why: why.into() }
    }

    /// The first line: the start of an incarnation.
    pub(super) fn start(&mut self) -> Result<Start, Malformed> {
        match self.read::<IgnoredAny, IgnoredAny>()? {
            Some(Line { entry: Entry::Start(start), .. }) => Ok(start),
            Some(_) => Err(self.wrong("the first line of a log is the start of a node")),
            None => Err(self.wrong("the log has no line")),
        }
    }

    /// The next line, if there is one.
    pub(super) fn read<D: DeserializeOwned, M: DeserializeOwned>(
        &mut self,
    ) -> Result<Option<Line<D, M>>, Malformed> {
        if !self.fill()? {
            return Ok(None);
        }
        let error = match serde_json::from_slice(&self.buffer) {
            Ok(line) => return Ok(Some(line)),
            Err(error) => error,
        };
        if self.buffer.last() != Some(&b'\n') {
            self.torn += 1;
            return Ok(None);
        }
        let column = u64::try_from(error.column().saturating_sub(1)).unwrap_or(0);
        let words = error.to_string();
        // The place is told otherwise.
        let why = words.split(" at line ").next().unwrap_or(&words);
        let wrong = self.wrong_at(column, why);
        // One that was killed in the middle of a line, and started again.
        if self.fill()? {
            let after = serde_json::from_slice::<Line<IgnoredAny, IgnoredAny>>(&self.buffer);
            if matches!(after, Ok(Line { entry: Entry::Start(_), .. })) {
                self.torn += 1;
                self.ahead = true;
                return self.read();
            }
        }
        Err(wrong)
    }

    /// Fills the buffer with the next line; whether there is one.
    fn fill(&mut self) -> Result<bool, Malformed> {
        if std::mem::take(&mut self.ahead) {
            return Ok(true);
        }
        self.buffer.clear();
        (self.begins, self.line) = (self.ends, self.line + 1);
        let read = self.log.text.by_ref().take(LONGEST).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|error| self.wrong(format!("cannot be read: {error}")))?;
        self.ends += read as u64;
        if read as u64 == LONGEST && self.buffer.last() != Some(&b'\n') {
            return Err(self.wrong(format!("a line has at most {LONGEST} bytes")));
        }
        if read == 0 {
            self.line -= 1;
        }
        Ok(read > 0)
    }
}
