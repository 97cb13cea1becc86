//! How a command ends: its exit status is decided before anything is printed or saved, and nothing
//! that cannot be written turns it into a success.
//!
//! The first Ctrl-C or SIGTERM lets no further run begin, and the second ends the program at once.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use bellwether_cli::{asks, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

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

/// Tells what is wrong on standard output, where a program reads, if that is asked for. Returns
/// whether it is told.
pub(super) fn refuses(error: &anyhow::Error) -> bool {
    let parts: Vec<String> = error.chain().map(ToString::to_string).collect();
    let typed = json::typed();
    let halves: Vec<_> = parts.iter().map(|part| json::halves(part, &typed)).collect();
    let mut wrong = halves.iter().map(|(wrong, _)| wrong);
    let message = wrong.next();
    let help = halves.iter().find_map(|(_, help)| *help);
    let causes: Vec<_> = wrong.collect();
    let object = serde_json::json!({
        "error": { "message": message, "causes": causes, "help": help },
        "status": USAGE,
    });
    asks("--json")
        && json::line(&object).is_ok_and(|line| io::stdout().write_all(line.as_bytes()).is_ok())
}

/// The signals, each with the exit status of a program that it has ended.
const SIGNALS: [(i32, u8); 2] = [(SIGINT, 130), (SIGTERM, 143)];

/// Whether a signal came, and what is done when one comes.
pub(super) struct Stop {
    came: Arc<AtomicBool>,
    actions: Mutex<Vec<SigId>>,
}

impl Stop {
    /// Heeds signals from here on. Where they cannot be had, the first ends the program.
    pub(super) fn on_signals() -> Stop {
        let stop = Stop { came: Arc::default(), actions: Mutex::default() };
        stop.heed(|status| status);
        stop
    }

    /// The flag that the first signal sets.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.came
    }

    /// Makes the exit status of the program that of what was found, also if a second signal ends it
    /// while it prints that. What is cut off there is no success.
    fn end_with(&self, found: u8) {
        if found != HOLDS {
            self.heed(|_| found);
        }
    }

    /// Ends the program with this status on the second signal.
    fn heed(&self, status: impl Fn(u8) -> u8) {
        let mut actions = self.actions.lock().unwrap_or_else(PoisonError::into_inner);
        for action in actions.drain(..) {
            low_level::unregister(action);
        }
        for (signal, usual) in SIGNALS {
            let ends = status(usual).into();
            // In this order: what is registered first sees the flag as it was before the signal.
            let ends = flag::register_conditional_shutdown(signal, ends, Arc::clone(&self.came));
            actions.extend(ends);
            actions.extend(flag::register(signal, Arc::clone(&self.came)));
        }
    }
}
