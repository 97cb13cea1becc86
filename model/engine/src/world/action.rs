//! What may happen next in a world.

use super::Envelope;
use crate::protocol::{Id, Protocol};
use crate::words::label;
use std::fmt;

/// One thing that happens.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action<P: Protocol> {
    /// A message arrives.
    Deliver(Envelope<P::Message>),
    /// A process's timer expires; `early` if what it waits for could still come.
    Expire {
        /// Whose timer.
        id: Id,
        /// Which timer.
        timer: P::Timer,
        /// Whether this spends a false suspicion.
        early: bool,
    },
    /// A message is lost.
    Lose(Envelope<P::Message>),
    /// A message in flight is doubled.
    Duplicate(Envelope<P::Message>),
    /// A process stops.
    Crash(Id),
    /// A crashed process starts again.
    Recover(Id),
    /// A process stops for some time, and loses nothing.
    Pause(Id),
    /// A process that was paused goes on.
    Resume(Id),
    /// The link between two processes is cut; the lower id first.
    Cut(Id, Id),
    /// The link between two processes works again; the lower id first.
    Heal(Id, Id),
    /// In a timed world, the clock goes on.
    Tick,
}

impl<P: Protocol> Action<P> {
    /// Whether something went wrong, or was repaired: all but what happens by itself.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        match self {
            Action::Deliver(_) | Action::Tick => false,
            Action::Expire { early, .. } => *early,
            Action::Lose(_)
            | Action::Duplicate(_)
            | Action::Crash(_)
            | Action::Recover(_)
            | Action::Pause(_)
            | Action::Resume(_)
            | Action::Cut(..)
            | Action::Heal(..) => true,
        }
    }
}

impl<P: Protocol> fmt::Display for Action<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Deliver(e) => {
                write!(f, "{} gets {} from {}", e.to, label(&e.message), e.from)
            }
            Action::Expire { id, timer, early: false } => {
                write!(f, "{id}'s {} timer expires", label(timer).to_lowercase())
            }
            Action::Expire { id, timer, early: true } => {
                write!(f, "{id}'s {} timer expires too early", label(timer).to_lowercase())
            }
            Action::Lose(e) => {
                write!(f, "{} from {} to {} is lost", label(&e.message), e.from, e.to)
            }
            Action::Duplicate(e) => {
                write!(f, "{} from {} to {} is doubled", label(&e.message), e.from, e.to)
            }
            Action::Crash(id) => write!(f, "{id} crashes"),
            Action::Recover(id) => write!(f, "{id} recovers"),
            Action::Pause(id) => write!(f, "{id} is paused"),
            Action::Resume(id) => write!(f, "{id} goes on"),
            Action::Cut(a, b) => write!(f, "the link between {a} and {b} is cut"),
            Action::Heal(a, b) => write!(f, "the link between {a} and {b} heals"),
            Action::Tick => f.write_str("a tick passes"),
        }
    }
}

impl<P: Protocol> fmt::Debug for Action<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
