//! Actions: the things that may happen next in a world, how fair each is, so that it happens in the
//! end, and when it is still the same action.
//!
//! Weak fairness speaks of an action that stays enabled. An *arming* is the action, not the timer:
//! a timer that is armed anew, or cancelled and armed, was not armed continuously, and the expiry
//! of a timer that is armed anew for ever is owed by nothing. So is a *copy* of a message, where
//! each may be lost: the delivery of a message of which every copy is lost is owed by nothing.
//! Strong fairness speaks of what is enabled again and again. There, the timer is the action, and
//! the message: a random length is drawn for each arming, and a link does not lose every copy.
//!
//! In a **timed** world the clock owes everything that takes time. Time goes on for ever, so a tick
//! happens again and again; and before the clock goes on, whatever has no time left happens. That
//! is all: an expiry or a delivery of which the clock does not wait for is owed by nothing, however
//! often it is possible. Only a message without a largest delay is owed as elsewhere.

use super::clock::Clock;
use super::{DeliveryFairness, Envelope, Heals, Recovers, State, World};
use crate::machine::{Effect, Timer};
use crate::protocol::Id;
use crate::space::Fairness;
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

impl World {
    /// Returns whether `action` is fair in some state, so that it happens in the end if it stays
    /// possible: deliveries, expiries that are due, ticks, that a paused process goes on, and if
    /// links must heal or processes recover, that. Faults are not.
    #[inline]
    #[must_use]
    pub fn is_fair(&self, action: &Action) -> bool {
        match action {
            Action::Deliver(_)
            | Action::Expire { early: false, .. }
            | Action::Resume(_)
            | Action::Tick => true,
            Action::Heal(..) => self.scenario.heals == Heals::Must,
            Action::Recover(_) => self.scenario.recovers == Recovers::Must,
            _ => false,
        }
    }

    /// How fair `action` is in a state in which these are `enabled`.
    pub(crate) fn fairness(&self, action: &Action, enabled: &[Action]) -> Fairness {
        let Some(clock) = self.clock.as_ref() else { return self.untimed_fairness(action) };
        let by_the_clock = match action {
            Action::Deliver(_) => !self.insists() && clock.counts_messages(),
            Action::Expire { .. } => true,
            _ => false,
        };
        match action {
            _ if !self.is_fair(action) => Fairness::None,
            // Time does not stand still where it may go on. It can only be kept from that again and
            // again by what takes no time at all.
            Action::Tick if clock.detects_at_once() => Fairness::Strong,
            _ if !by_the_clock => self.untimed_fairness(action),
            _ if enabled.contains(&Action::Tick) => Fairness::None,
            // The clock waits.
            _ => Fairness::Weak,
        }
    }

    fn untimed_fairness(&self, action: &Action) -> Fairness {
        match *action {
            _ if !self.is_fair(action) => Fairness::None,
            Action::Deliver(_) if self.insists() => Fairness::Strong,
            Action::Expire { id, timer, .. }
                if self.machine.timers_of(id)[timer.place()].random =>
            {
                Fairness::Strong
            }
            _ => Fairness::Weak,
        }
    }

    /// Whether some action may be strongly fair.
    pub(super) fn has_strong(&self) -> bool {
        let random = || self.machine.timers().iter().any(|rules| rules.random);
        self.insists() || self.clock.as_ref().map_or_else(random, Clock::detects_at_once)
    }

    /// Whether what is sent again and again arrives.
    fn insists(&self) -> bool {
        self.scenario.fairness == DeliveryFairness::Strong
    }

    /// The actions that `action`, which is enabled in `state`, interrupts: they may be enabled
    /// before it and after it, but what is enabled then is another arming, or another copy.
    pub(crate) fn interrupted(&self, state: &State, action: &Action) -> Vec<Action> {
        if let Action::Lose(e) = *action {
            return vec![Action::Deliver(e)];
        }
        let outcome = self.apply(state, action);
        let Some(id) = outcome.actor else { return Vec::new() };
        let anew = outcome.effects.iter().flat_map(|effect| match *effect {
            Effect::Arm(timer) | Effect::Cancel(timer) => [Some(timer), None],
            Effect::ArmSince { timer, since } => [Some(timer), Some(since)],
            Effect::Send { .. } | Effect::Persist(_) => [None, None],
        });
        anew.flatten().map(|timer| Action::Expire { id, timer, early: false }).collect()
    }
}
