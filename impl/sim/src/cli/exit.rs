//! How a command ends: its exit status is decided before anything is printed or saved, and nothing
//! that cannot be written turns it into a success.

use std::io::{self, Write as _};
use std::process::ExitCode;

use super::signals::Stop;
use super::{HOLDS, USAGE};

/// The end of a command: the exit status that says what was found, and what could not be written
/// of it.
///
/// A reader that closes the pipe, such as `head`, has read enough, and the status stays. Whatever
/// else cannot be written is told on standard error: a success is none any more then, and any other
/// status stays, for it says more.
#[derive(Debug)]
#[must_use]
pub(super) struct Exit {
    status: u8,
    lost: Vec<anyhow::Error>,
}

impl Exit {
    /// Decides the exit status. What is printed and saved follows.
    pub(super) fn with(status: u8, stop: &Stop) -> Exit {
        stop.end_with(status);
        Exit { status, lost: Vec::new() }
    }

    /// Prints this.
    pub(super) fn tell(self, text: &str) -> Exit {
        let mut out = io::stdout().lock();
        self.told(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Takes note of what came of printing.
    pub(super) fn told(mut self, told: io::Result<()>) -> Exit {
        if let Err(error) = told
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            let error = anyhow::Error::from(error);
            self.lost.push(error.context("cannot print all of it; send it where there is room"));
        }
        self
    }

    /// Takes note of what came of a file. The error names the file, and what to do.
    pub(super) fn saved(mut self, saved: anyhow::Result<()>) -> Exit {
        self.lost.extend(saved.err());
        self
    }

    /// Tells what could not be written, and returns the exit status of the program.
    pub(super) fn code(self) -> ExitCode {
        for error in &self.lost {
            complain(error);
        }
        let is_no_success = self.status == HOLDS && !self.lost.is_empty();
        ExitCode::from(if is_no_success { USAGE } else { self.status })
    }
}

/// Prints what is wrong, if that can be: no status depends on who reads it.
pub(super) fn complain(error: &anyhow::Error) {
    let _ = writeln!(io::stderr(), "error: {error:#}");
}
