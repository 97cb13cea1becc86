//! What can happen next in a state: enumerated here, and nowhere else. The list of actions takes it
//! from here, and so does the [packed](super::packed) search, which looks up what follows.

use super::network::deliverable;
use super::time::Due;
use super::{Action, Heals, Recovers, State, Ways, World};
use crate::machine::{Observation, Timer};
use crate::protocol::{Belief, Id};
use std::convert::Infallible;

/// Something that can happen. How the messages are found that may arrive next, each taker knows:
/// those that [`deliverable`] gives.
#[derive(Clone, Copy)]
pub(super) enum Next {
    /// Each message that may arrive next does, unless its receiver is paused.
    EachArrives,
    /// Each message that may arrive next is lost.
    EachIsLost,
    /// Each message that may arrive next is doubled.
    EachIsDoubled,
    /// This happens.
    One(Action),
}

impl World {
    /// Gives `take` everything that can happen in `state`, in an order that is always the same,
    /// until it fails.
    #[inline]
    pub(super) fn each_next<E>(
        &self,
        state: &State,
        mut take: impl FnMut(Next) -> Result<(), E>,
    ) -> Result<(), E> {
        let view = self.view(state);
        take(Next::EachArrives)?;
        self.each_expiry(state, &view, &mut take)?;
        if self.clock.as_ref().is_some_and(|clock| self.may_tick(clock, state, &view)) {
            take(Next::One(Action::Tick))?;
        }
        let (spent, may) = (state.spent, self.scenario.faults);
        if may.losses.allows(spent.losses) {
            take(Next::EachIsLost)?;
        }
        if spent.duplicates < may.duplicates {
            take(Next::EachIsDoubled)?;
        }
        if spent.crashes < may.crashes {
            for id in self.crashable().filter(|&id| state.up(id)) {
                take(Next::One(Action::Crash(id)))?;
            }
        }
        if spent.recoveries < may.recoveries && self.lets_recover(state) {
            for id in self.ids().filter(|&id| !state.up(id)) {
                take(Next::One(Action::Recover(id)))?;
            }
        }
        if may.cuts > 0 {
            self.each_cut_and_heal(state, &mut take)?;
        }
        if may.one_way_cuts > 0 {
            self.each_one_way_cut_and_heal(state, &mut take)?;
        }
        if may.pauses > 0 {
            self.each_pause_and_resume(state, &mut take)?;
        }
        if spent.jumps < may.jumps {
            // Where no timer runs, there is nothing that a clock says.
            for id in self.ids().filter(|&id| state.armed(id).next().is_some()) {
                let by = i16::from(self.scenario.jump);
                take(Next::One(Action::Jump(id, by)))?;
                take(Next::One(Action::Jump(id, -by)))?;
            }
        }
        Ok(())
    }

    /// Whether a process that is down may recover now, as long as recoveries are left.
    #[inline]
    fn lets_recover(&self, state: &State) -> bool {
        self.scenario.recovers != Recovers::Quiet
            || state.flight.is_empty()
                && state.members().all(|id| state.belief(id) != Some(Belief::Undecided))
    }

    #[inline]
    fn each_expiry<E>(
        &self,
        state: &State,
        view: &Observation<'_>,
        take: &mut impl FnMut(Next) -> Result<(), E>,
    ) -> Result<(), E> {
        let may_suspect = state.spent.suspicions < self.scenario.faults.suspicions;
        for id in self.ids().filter(|&id| !state.paused(id)) {
            for timer in state.armed(id) {
                if let Some(early) = self.may_expire(state, view, id, timer, may_suspect) {
                    take(Next::One(Action::Expire { id, timer, early }))?;
                }
            }
        }
        Ok(())
    }

    /// Whether a timer that is armed may expire; if so, whether that would be too early.
    #[inline]
    fn may_expire(
        &self,
        state: &State,
        view: &Observation<'_>,
        id: Id,
        timer: Timer,
        may_suspect: bool,
    ) -> Option<bool> {
        let early = self.due(state, view, id, timer) != Due::Now;
        let waits = || self.machine.waits_for_others(timer, state.process(id));
        let may = !early || (may_suspect && waits());
        may.then_some(early)
    }

    fn each_cut_and_heal<E>(
        &self,
        state: &State,
        take: &mut impl FnMut(Next) -> Result<(), E>,
    ) -> Result<(), E> {
        for (a, b) in self.pairs() {
            match (state.connected(a, b), state.connected(b, a)) {
                (false, false) => take(Next::One(Action::Heal(a, b, Ways::Both)))?,
                (true, true) if state.spent.cuts < self.scenario.faults.cuts => {
                    take(Next::One(Action::Cut(a, b, Ways::Both)))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Where one direction may be cut, each heals by itself, whatever cut it.
    fn each_one_way_cut_and_heal<E>(
        &self,
        state: &State,
        take: &mut impl FnMut(Next) -> Result<(), E>,
    ) -> Result<(), E> {
        for (from, to) in self.directions() {
            if !state.connected(from, to) {
                take(Next::One(Action::Heal(from, to, Ways::One)))?;
            } else if state.spent.one_way_cuts < self.scenario.faults.one_way_cuts {
                take(Next::One(Action::Cut(from, to, Ways::One)))?;
            }
        }
        Ok(())
    }

    fn each_pause_and_resume<E>(
        &self,
        state: &State,
        take: &mut impl FnMut(Next) -> Result<(), E>,
    ) -> Result<(), E> {
        for id in self.crashable().filter(|&id| state.up(id)) {
            if state.paused(id) {
                take(Next::One(Action::Resume(id)))?;
            } else if state.spent.pauses < self.scenario.faults.pauses {
                take(Next::One(Action::Pause(id)))?;
            }
        }
        Ok(())
    }

    /// Whether `action` is one of those that are [enabled](World::enabled), of which not all are
    /// looked for if it is a delivery or an expiry.
    pub(super) fn is_enabled(&self, state: &State, action: &Action) -> bool {
        match *action {
            Action::Deliver(sent) => {
                let next = deliverable(self.scenario.network, &state.flight);
                !state.paused(sent.to) && next.into_iter().any(|e| e == sent)
            }
            Action::Expire { id, timer, early } => {
                let may_suspect = state.spent.suspicions < self.scenario.faults.suspicions;
                let view = self.view(state);
                state.timers(id).has(timer)
                    && !state.paused(id)
                    && self.may_expire(state, &view, id, timer, may_suspect) == Some(early)
            }
            _ => {
                let mut enabled = Vec::new();
                self.enabled(state, &mut enabled);
                enabled.contains(action)
            }
        }
    }

    /// Appends to `actions` everything that can happen in `state`, in an order that is always the
    /// same.
    pub fn enabled(&self, state: &State, actions: &mut Vec<Action>) {
        let next = || deliverable(self.scenario.network, &state.flight);
        let listed: Result<(), Infallible> = self.each_next(state, |what| {
            match what {
                Next::EachArrives => {
                    let arrive = next().filter(|e| !state.paused(e.to));
                    actions.extend(arrive.map(Action::Deliver));
                }
                Next::EachIsLost => actions.extend(next().map(Action::Lose)),
                Next::EachIsDoubled => actions.extend(next().map(Action::Duplicate)),
                Next::One(action) => actions.push(action),
            }
            Ok(())
        });
        let Ok(()) = listed;
    }

    /// Returns everything that can happen in `state`, as [`World::enabled`] does, as a list of its
    /// own.
    #[must_use]
    pub fn actions(&self, state: &State) -> Vec<Action> {
        let mut actions = Vec::new();
        self.enabled(state, &mut actions);
        actions
    }

    /// Returns whether nothing is left to happen but faults: no message is in flight, no process is
    /// paused, no timer will expire by itself but heartbeats that tell no process anything new, and
    /// no link or process is broken that must not stay so.
    #[must_use]
    pub fn is_quiescent(&self, state: &State) -> bool {
        if !state.flight.is_empty() || self.ids().any(|id| state.paused(id)) {
            return false;
        }
        let view = self.view(state);
        let left = |id| {
            state.armed(id).any(|timer| {
                self.due(state, &view, id, timer) != Due::Never
                    && !self.machine.no_news(&view, id, timer)
            })
        };
        let healing = self.scenario.heals == Heals::Must && state.cut != self.unreachable;
        let left_to_recover = state.spent.recoveries < self.scenario.faults.recoveries;
        let recovering = self.scenario.recovers == Recovers::Must
            && left_to_recover
            && self.ids().any(|id| !state.up(id));
        !healing && !recovering && !self.ids().any(left)
    }
}
