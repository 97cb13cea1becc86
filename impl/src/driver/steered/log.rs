//! What the driver says in the log about messages that its node ignores: the only place where it
//! says so.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::dispatcher::{self, Dispatch};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// How such a line begins.
const IGNORED: &str = "message ignored";

/// A line of the log: the number of the peer, and the name of the reason.
pub(super) type Ignored = (u64, String);

/// The lines that are not taken out yet. A clone is the same.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Ignored>>>);

/// The log of all that a thread drives: to make one costs more than a step.
struct Log {
    lines: Lines,
    dispatch: Dispatch,
}

thread_local! {
    static LOG: Log = Log::new();
}

impl Log {
    fn new() -> Self {
        let lines = Lines::default();
        #[cfg(test)]
        crate::log::tests::listen_beside_others();
        Self { dispatch: Dispatch::new(lines.clone()), lines }
    }
}

impl Lines {
    fn all(&self) -> MutexGuard<'_, Vec<Ignored>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does this, and returns the messages that were ignored meanwhile, as the log says.
pub(super) fn listen<T>(act: impl FnOnce() -> T) -> (T, Vec<Ignored>) {
    LOG.with(|log| {
        log.lines.all().clear();
        let done = dispatcher::with_default(&log.dispatch, act);
        (done, std::mem::take(&mut *log.lines.all()))
    })
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        if line.message.starts_with(IGNORED) {
            self.all().push((line.peer, line.reason));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is read of a line.
#[derive(Default)]
struct Line {
    message: String,
    peer: u64,
    reason: String,
}

impl Visit for Line {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "peer" {
            self.peer = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "reason" {
            value.clone_into(&mut self.reason);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // A text takes whatever is written to it.
            let _ = write!(self.message, "{value:?}");
        }
    }
}
