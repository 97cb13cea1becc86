//! What may happen next in a world.

use super::Envelope;
use crate::machine::Timer;
use crate::protocol::Id;
use crate::words::jumps;
use std::fmt;

/// An action: one thing that happens in a world.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A message arrives.
    Deliver(Envelope),
    /// A process's timer expires, or the process chooses an outcome; `early` if what it waits for
    /// could still come.
    Expire {
        /// The process whose timer expires.
        id: Id,
        /// The timer that expires.
        timer: Timer,
        /// Whether the expiry spends a false suspicion.
        early: bool,
    },
    /// A message is lost.
    Lose(Envelope),
    /// A message in flight is doubled.
    Duplicate(Envelope),
    /// A process stops.
    Crash(Id),
    /// A crashed process starts again.
    Recover(Id),
    /// A process stops for some time, and loses nothing.
    Pause(Id),
    /// A process that was paused goes on.
    Resume(Id),
    /// The link between two processes is cut; the lower id first, or if it is one direction, the
    /// sender.
    Cut(Id, Id, Ways),
    /// The link between two processes works again; the ids as in a cut.
    Heal(Id, Id, Ways),
    /// The clock of a process jumps by so many ticks: ahead, or if they are negative, back.
    Jump(Id, i16),
    /// The clock of a timed world goes on.
    Tick,
}

/// The directions of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ways {
    /// Both.
    Both,
    /// From the first process to the second.
    One,
}

impl Ways {
    /// Returns the directions, each with its sender and its receiver.
    pub(in crate::world) fn of(self, a: Id, b: Id) -> impl Iterator<Item = (Id, Id)> {
        [(a, b), (b, a)].into_iter().take(if self == Ways::Both { 2 } else { 1 })
    }
}

impl Action {
    /// Returns whether the action is a fault or a repair: all but what happens by itself.
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
            | Action::Heal(..)
            | Action::Jump(..) => true,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Deliver(e) => {
                write!(f, "{} gets {} from {}", e.to, e.message.label(), e.from)
            }
            Action::Expire { id, timer, .. } if timer.is_outcome() => {
                write!(f, "{id} chooses {}", timer.label())
            }
            Action::Expire { id, timer, early: false } => {
                write!(f, "{id}'s {} timer expires", timer.label())
            }
            Action::Expire { id, timer, early: true } => {
                write!(f, "{id}'s {} timer expires too early", timer.label())
            }
            Action::Lose(e) => {
                write!(f, "{} from {} to {} is lost", e.message.label(), e.from, e.to)
            }
            Action::Duplicate(e) => {
                write!(f, "{} from {} to {} is doubled", e.message.label(), e.from, e.to)
            }
            Action::Crash(id) => write!(f, "{id} crashes"),
            Action::Recover(id) => write!(f, "{id} recovers"),
            Action::Pause(id) => write!(f, "{id} is paused"),
            Action::Resume(id) => write!(f, "{id} goes on"),
            Action::Cut(a, b, Ways::Both) => write!(f, "the link between {a} and {b} is cut"),
            Action::Cut(a, b, Ways::One) => write!(f, "the link from {a} to {b} is cut"),
            Action::Heal(a, b, Ways::Both) => write!(f, "the link between {a} and {b} heals"),
            Action::Heal(a, b, Ways::One) => write!(f, "the link from {a} to {b} heals"),
            Action::Jump(id, by) => write!(f, "{id}'s clock {}", jumps(*by)),
            Action::Tick => f.write_str("a tick passes"),
        }
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
