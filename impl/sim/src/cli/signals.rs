//! Ctrl-C and SIGTERM: the first lets no further run begin, the second ends the program at once.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use super::HOLDS;

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
    pub(super) fn end_with(&self, found: u8) {
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
