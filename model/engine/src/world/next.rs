//! What can happen next in a state: enumerated here, and nowhere else. The list of actions takes it
//! from here, and so does the [packed](super::packed) search, which looks up what follows.

use super::clock::Due;
use super::network::deliverable;
use super::{Action, Heals, State, World};
use crate::protocol::{Protocol, View};
use std::convert::Infallible;

/// Something that can happen. How the messages are found that may arrive next, each taker knows:
/// those that [`deliverable`] gives.
#[derive(Clone, Copy)]
pub(super) enum Next<P: Protocol> {
    /// Each message that may arrive next does, unless its receiver is paused.
    EachArrives,
    /// Each message that may arrive next is lost.
    EachIsLost,
    /// Each message that may arrive next is doubled.
    EachIsDoubled,
    /// This happens.
    One(Action<P>),
}

impl<P: Protocol> World<P> {
    /// Gives `take` everything that can happen in `state`, in an order that is always the same,
    /// until it fails.
    #[inline]
    pub(super) fn each_next<E>(
        &self,
        state: &State<P>,
        mut take: impl FnMut(Next<P>) -> Result<(), E>,
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
            for id in self.mortals().filter(|&id| state.up(id)) {
                take(Next::One(Action::Crash(id)))?;
            }
        }
        if spent.recoveries < may.recoveries {
            for id in self.ids().filter(|&id| !state.up(id)) {
                take(Next::One(Action::Recover(id)))?;
            }
        }
        if may.cuts > 0 {
            self.each_cut_and_heal(state, &mut take)?;
        }
        if may.pauses > 0 {
            self.each_pause_and_resume(state, &mut take)?;
        }
        Ok(())
    }

    #[inline]
    fn each_expiry<E>(
        &self,
        state: &State<P>,
        view: &View<'_, P>,
        take: &mut impl FnMut(Next<P>) -> Result<(), E>,
    ) -> Result<(), E> {
        let may_suspect = state.spent.suspicions < self.scenario.faults.suspicions;
        for id in self.ids().filter(|&id| !state.paused(id)) {
            for (_, row) in state.timers(id).rows::<P>() {
                let timer = row.timer;
                let early = self.due(state, view, (id, timer)) != Due::Now;
                if !early || (may_suspect && row.waits_for_others(state.process(id))) {
                    take(Next::One(Action::Expire { id, timer, early }))?;
                }
            }
        }
        Ok(())
    }

    fn each_cut_and_heal<E>(
        &self,
        state: &State<P>,
        take: &mut impl FnMut(Next<P>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (a, b) in self.pairs() {
            if !state.connected(a, b) {
                take(Next::One(Action::Heal(a, b)))?;
            } else if state.spent.cuts < self.scenario.faults.cuts {
                take(Next::One(Action::Cut(a, b)))?;
            }
        }
        Ok(())
    }

    fn each_pause_and_resume<E>(
        &self,
        state: &State<P>,
        take: &mut impl FnMut(Next<P>) -> Result<(), E>,
    ) -> Result<(), E> {
        for id in self.mortals().filter(|&id| state.up(id)) {
            if state.paused(id) {
                take(Next::One(Action::Resume(id)))?;
            } else if state.spent.pauses < self.scenario.faults.pauses {
                take(Next::One(Action::Pause(id)))?;
            }
        }
        Ok(())
    }

    /// Everything that can happen in `state`, in an order that is always the same.
    pub fn enabled(&self, state: &State<P>, actions: &mut Vec<Action<P>>) {
        let next = || deliverable::<P>(self.scenario.network, &state.flight);
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

    /// Whether nothing is left to happen but faults: no message is in flight, no process is paused,
    /// and no timer will expire by itself but heartbeats that tell no process anything new.
    #[must_use]
    pub fn is_quiescent(&self, state: &State<P>) -> bool {
        if !state.flight.is_empty() || self.ids().any(|id| state.paused(id)) {
            return false;
        }
        let view = self.view(state);
        let left = |id| {
            state.timers(id).rows::<P>().any(|(_, row)| {
                let no_news =
                    |no_news: crate::protocol::NoNews<P>| no_news(&self.protocol, &view, id);
                self.due(state, &view, (id, row.timer)) != Due::Never
                    && !row.periodic.is_some_and(no_news)
            })
        };
        let healing = self.scenario.heals == Heals::Must && state.cut != self.scenario.missing.0;
        !healing && !self.ids().any(left)
    }
}
