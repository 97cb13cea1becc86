//! Ctrl-C and SIGTERM: the first ends a search, which tells what it knows, and the second ends the
//! program at once.

use super::HOLDS;
use bellwether_engine::check::Cancel;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The signals, each with the exit status of a program that it has ended.
const SIGNALS: [(i32, u8); 2] = [(SIGINT, 130), (SIGTERM, 143)];

/// Whether a signal came. There is one for the process, as there is of signals.
static STOPPED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// What is done when a signal comes; nothing of ours before [`tell_when_stopped`].
static ACTIONS: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Makes a search end and tell what it knows on Ctrl-C or SIGTERM; the second time the program ends
/// at once. Where signals cannot be had, the first time does.
pub fn tell_when_stopped() {
    let mut actions = ACTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    actions.extend(SIGNALS.into_iter().flat_map(|(signal, status)| heed(signal, status)));
}

/// Makes the exit status of the program that of what was found, also if a second signal ends it
/// while it prints that. What is cut off there is no success.
pub(super) fn end_with(found: u8) {
    let mut actions = ACTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if found == HOLDS || actions.is_empty() {
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

/// Returns what ends every search of the command line [on a signal](tell_when_stopped).
#[must_use]
pub fn stopped() -> Cancel {
    Cancel::when(&STOPPED)
}
