//! How a command ends: its exit status is decided before anything is printed or saved, and nothing
//! that cannot be written turns it into a success. The first Ctrl-C or SIGTERM ends what a command
//! does, which tells what it knows, and the second ends the program at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The exit status if the command did what it was asked.
const SUCCESS: u8 = 0;
/// The exit status if the arguments, a file or the surroundings do not allow what was asked.
pub(crate) const USAGE: u8 = 2;

/// The end of a command: the exit status that says what was found, and what could not be written
/// of it.
///
/// A reader that closes the pipe, such as `head` or `grep -q`, has read enough, and the status
/// stays. Whatever else cannot be written is told on standard error: a success is none any more
/// then, and any other status stays, for it says more.
#[derive(Debug)]
#[must_use]
pub struct Exit {
    status: u8,
    lost: Vec<anyhow::Error>,
}

impl Exit {
    /// Decides the exit status. What is printed and saved follows.
    pub fn with(status: u8) -> Exit {
        end_with(status);
        Exit { status, lost: Vec::new() }
    }

    /// Prints a text.
    pub fn tell(self, text: &str) -> Exit {
        self.note_printed(io::stdout().write_all(text.as_bytes()))
    }

    /// Takes note of what came of printing.
    pub fn note_printed(mut self, told: Result<(), impl Into<anyhow::Error>>) -> Exit {
        let told: anyhow::Result<()> = told.map_err(Into::into);
        if let Err(error) = told
            && !is_closed_pipe(&error)
        {
            self.lost.push(error.context("cannot print all of it; send it where there is room"));
        }
        self
    }

    /// Takes note of what came of a file. The error names the file, and what to do.
    pub fn note_saved(mut self, saved: anyhow::Result<()>) -> Exit {
        self.lost.extend(saved.err());
        self
    }

    /// Tells what could not be written, and returns the exit status of the program.
    #[must_use]
    pub fn code(self) -> ExitCode {
        // The end of a text without a newline has not been written yet.
        let exit =
            if self.lost.is_empty() { self.note_printed(io::stdout().flush()) } else { self };
        let Exit { status, lost } = exit;
        for error in &lost {
            complain(&format!("{error:#}"));
        }
        let is_no_success = status == SUCCESS && !lost.is_empty();
        ExitCode::from(if is_no_success { USAGE } else { status })
    }
}

/// Prints what is wrong, if that can be: no status depends on who reads it.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {message}");
}

const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// Whether the reader of the output has closed the pipe.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The signals, each with the exit status of a program that it has ended.
const SIGNALS: [(i32, u8); 2] = [(SIGINT, 130), (SIGTERM, 143)];

/// Whether a signal came. There is one for the process, as there is of signals.
static STOPPED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// What is done when a signal comes; nothing of ours before [`tell_when_stopped`].
static ACTIONS: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Makes a command end and tell what it knows on Ctrl-C or SIGTERM, if it looks at [`stopped`]; the
/// second time the program ends at once. Where signals cannot be had, the first time does.
pub fn tell_when_stopped() {
    let mut actions = ACTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    actions.extend(SIGNALS.into_iter().flat_map(|(signal, status)| heed(signal, status)));
}

/// Makes the exit status of the program that of what was found, also if a second signal ends it
/// while it prints that. What is cut off there is no success.
fn end_with(found: u8) {
    let mut actions = ACTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if found == SUCCESS || actions.is_empty() {
        return;
    }
    for action in actions.drain(..) {
        low_level::unregister(action);
    }
    actions.extend(SIGNALS.into_iter().flat_map(|(signal, _)| heed(signal, found)));
}

/// Ends the program with this status on the second of the signals.
fn heed(signal: i32, status: u8) -> impl Iterator<Item = SigId> {
    // In this order: what is registered first sees the flag as it was before the signal.
    let ends = flag::register_conditional_shutdown(signal, status.into(), Arc::clone(&STOPPED));
    let stops = flag::register(signal, Arc::clone(&STOPPED));
    [ends, stops].into_iter().flatten()
}

/// Returns the flag that the first signal sets after [`tell_when_stopped`].
#[must_use]
pub fn stopped() -> &'static AtomicBool {
    &STOPPED
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    fn error(kind: io::ErrorKind) -> Result<(), io::Error> {
        Err(kind.into())
    }

    /// `ExitCode` can be compared by what it shows only.
    fn shown(code: ExitCode) -> String {
        format!("{code:?}")
    }

    #[test]
    fn what_cannot_be_written_changes_a_success_only() {
        for status in 0..5 {
            let same = shown(ExitCode::from(status));
            let closed = error(io::ErrorKind::BrokenPipe);
            assert_eq!(shown(Exit::with(status).note_printed(closed).code()), same);
            let lost = shown(ExitCode::from(if status == SUCCESS { USAGE } else { status }));
            let full = error(io::ErrorKind::StorageFull);
            assert_eq!(shown(Exit::with(status).note_printed(full).code()), lost);
            assert_eq!(shown(Exit::with(status).note_saved(Err(anyhow!("full"))).code()), lost);
        }
    }

    /// The pipe of a file is not that of a reader who has seen enough.
    #[test]
    fn a_file_that_is_a_closed_pipe_is_lost() {
        let closed = error(io::ErrorKind::BrokenPipe).map_err(Into::into);
        assert_eq!(
            shown(Exit::with(SUCCESS).note_saved(closed).code()),
            shown(ExitCode::from(USAGE))
        );
    }
}
