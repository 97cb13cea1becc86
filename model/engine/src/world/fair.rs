//! What happens in the end: how fair each action is, and when it is still the same action.
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

use super::{Action, DeliveryFairness, Heals, Recovers, State, World};
use crate::machine::Effect;
use crate::space::Fairness;

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
        self.insists() || self.clock.as_ref().map_or_else(random, super::Clock::detects_at_once)
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
        let super::Outcome { actor, effects, .. } = self.apply(state, action);
        let Some(id) = actor else { return Vec::new() };
        let anew = effects.iter().flat_map(|effect| match *effect {
            Effect::Arm(timer) | Effect::Cancel(timer) => [Some(timer), None],
            Effect::ArmSince { timer, since } => [Some(timer), Some(since)],
            Effect::Send { .. } | Effect::Persist(_) => [None, None],
        });
        anew.flatten().map(|timer| Action::Expire { id, timer, early: false }).collect()
    }
}
