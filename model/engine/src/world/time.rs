//! What the clock of a timed world does: when timers may expire, and when the clock goes on.

use super::clock::{Clock, Measure, Times};
use super::network::Left;
use super::per_process::PerProcess;
use super::{Action, Network, Start, State, Timing, World};
use crate::machine::Timer;
use crate::protocol::{Envelope, Id, Ids, Observation, RunOut, Timers};

/// When an armed timer expires by itself, if no process and no fault does anything first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// It may now.
    Now,
    /// It will, when its time has come.
    Later,
    /// What it waits for can still come.
    Never,
}

/// When things may, and must, happen.
impl World {
    /// The times of a world at its beginning. A converged one in which all are up has had no fault
    /// for long.
    pub(super) fn first_times(&self) -> Option<Box<Times>> {
        let clock = self.clock.as_ref()?;
        let converged = self.scenario.start == Start::Converged && self.scenario.down.is_empty();
        let calm = if converged { clock.calm() } else { 0 };
        let clocks = PerProcess::of(self.processes());
        Some(Box::new(Times { left: Left::new(), clocks, calm, paused: Ids::NONE }))
    }

    /// When an armed timer expires by itself. A world without a clock does not know when: with
    /// asynchronous timing every armed timer is due, with perfect timing each that
    /// [may time out](Protocol::may_time_out).
    #[inline]
    pub(super) fn due(&self, state: &State, view: &Observation<'_>, id: Id, timer: Timer) -> Due {
        let measure = self.clock.as_ref().map(|clock| clock.measure(id, timer));
        let now = match measure {
            Some(Measure::Fixed { slack, .. }) if state.clock(id, timer) > Some(slack) => {
                return Due::Later;
            }
            Some(Measure::Fixed { .. }) => true,
            None if self.scenario.timing == Timing::Asynchronous => true,
            Some(Measure::Detector(most)) if most > 0 && state.clock(id, timer) == Some(0) => {
                match self.machine.may_time_out(view, id, timer) {
                    true if !self.machine.may_time_out(&view.without_pauses(), id, timer) => {
                        return Due::Later;
                    }
                    notices => notices,
                }
            }
            Some(Measure::Detector(_)) | None => self.machine.may_time_out(view, id, timer),
        };
        if now { Due::Now } else { Due::Never }
    }

    /// The fixed timers of a process that have run out, however slow its clock.
    pub(super) fn run_out(&self, state: &State, id: Id) -> Timers {
        let has = |clock: &Clock, timer| {
            matches!(clock.measure(id, timer), Measure::Fixed { .. })
                && state.clock(id, timer) == Some(0)
        };
        self.clock.as_ref().map_or(Timers::NONE, |clock| {
            let armed = state.armed(id).filter(|&timer| has(clock, timer));
            armed.fold(Timers::NONE, Timers::and)
        })
    }

    /// The same of every process.
    #[inline]
    pub(super) fn all_run_out<'a>(&'a self, state: &'a State) -> RunOut<'a> {
        let clocks = self.clock.as_ref().zip(state.times.as_ref());
        clocks
            .map_or_else(RunOut::default, |(clock, times)| RunOut::new(&clock.fixed, &times.clocks))
    }

    /// Whether everything has happened that must before the clock goes on.
    pub(super) fn may_tick(&self, clock: &Clock, state: &State, view: &Observation<'_>) -> bool {
        let must = |id: Id, timer: Timer| match clock.measure(id, timer) {
            Measure::Fixed { .. } => state.clock(id, timer) == Some(0),
            Measure::Detector(most) => {
                state.clock(id, timer) >= Some(most) && self.machine.may_time_out(view, id, timer)
            }
        };
        let mut messages = state.flight.iter().zip(state.ticks_left());
        !messages.any(|(e, &left)| left == 0 && !state.paused(e.to))
            && !armed(state).any(|(id, timer)| !state.paused(id) && must(id, timer))
    }

    /// The clock goes on.
    pub(super) fn tick(&self, state: &mut State) {
        let Some(clock) = &self.clock else { return };
        let view = self.view(state);
        let later = |(id, timer): (Id, Timer)| {
            let shows = state.clock(id, timer).unwrap_or(0);
            match clock.measure(id, timer) {
                // Only those of a process that is paused show 0.
                Measure::Fixed { .. } => (id, timer, shows.saturating_sub(1)),
                Measure::Detector(most) => {
                    let counts = u8::from(self.machine.may_time_out(&view, id, timer));
                    (id, timer, (shows + counts).min(most))
                }
            }
        };
        let later: Vec<_> = armed(state).map(later).collect();
        for (id, timer, shows) in later {
            state.set_clock(id, timer, shows);
        }
        if let Some(times) = &mut state.times {
            // Only those that wait for a process that is paused have none.
            times.left.iter_mut().for_each(|left| *left = left.saturating_sub(1));
            // A pause is a fault for as long as it lasts.
            times.calm =
                if times.paused.is_empty() { (times.calm + 1).min(clock.calm()) } else { 0 };
        }
        if self.scenario.network == Network::Set {
            state.merge();
        }
    }

    /// The clock of a process jumps: its fixed timers have fewer ticks left, or more, and its
    /// detectors have counted more, or fewer. What must have happened by then happens now.
    pub(super) fn jump(&self, state: &mut State, id: Id, by: i16) {
        let Some(clock) = &self.clock else { return };
        let moved = |shows: u8, by: i16, most: u8| {
            let moved = (i16::from(shows) + by).clamp(0, i16::from(most));
            u8::try_from(moved).unwrap_or(most)
        };
        for timer in state.armed(id) {
            let shows = state.clock(id, timer).unwrap_or(0);
            let shows = match clock.measure(id, timer) {
                Measure::Fixed { .. } => moved(shows, -by, u8::MAX),
                Measure::Detector(most) => moved(shows, by, most),
            };
            state.set_clock(id, timer, shows);
        }
    }

    /// A timer is armed: its clock starts.
    pub(super) fn start_clock(&self, state: &mut State, id: Id, timer: Timer) {
        if let Some(clock) = &self.clock {
            state.set_clock(id, timer, clock.armed(id, timer));
        }
    }

    /// What every action does to the times besides: a fault is the last one, and a detector that
    /// may not time out forgets what it has counted.
    pub(super) fn settle_clocks(&self, state: &mut State, action: &Action) {
        let Some(clock) = &self.clock else { return };
        let view = self.view(state);
        let in_vain = |&(id, timer): &(Id, Timer)| {
            matches!(clock.measure(id, timer), Measure::Detector(_))
                && state.clock(id, timer) > Some(0)
                && !self.machine.may_time_out(&view, id, timer)
        };
        let in_vain: Vec<_> = armed(state).filter(in_vain).collect();
        for (id, timer) in in_vain {
            state.set_clock(id, timer, 0);
        }
        if let Some(times) = state.times.as_mut().filter(|_| action.is_fault()) {
            times.calm = 0;
        }
    }
}

/// What the properties of timed worlds ask.
impl World {
    /// The fixed timers that may expire: time-outs, which wait for others, or those that pace
    /// something.
    pub(super) fn due_at<'a>(
        &'a self,
        state: &'a State,
        time_outs: bool,
    ) -> impl Iterator<Item = (Id, Timer)> {
        let wanted = move |&(id, timer): &(Id, Timer)| {
            let due = |clock: &Clock| match clock.measure(id, timer) {
                Measure::Fixed { slack, .. } => state.clock(id, timer) <= Some(slack),
                Measure::Detector(_) => false,
            };
            self.clock.as_ref().is_some_and(due)
                && self.machine.waits_for_others(timer, state.process(id)) == time_outs
                && !state.paused(id)
        };
        armed(state).filter(wanted)
    }

    /// Returns whether a time-out is due; never in a world without a clock.
    #[must_use]
    pub fn some_time_out_is_due(&self, state: &State) -> bool {
        self.due_at(state, true).next().is_some()
    }

    /// Returns whether every time-out that is due waits for what can no longer come.
    #[must_use]
    pub fn time_outs_are_accurate(&self, state: &State) -> bool {
        let view = self.view(state);
        self.due_at(state, true).all(|(id, timer)| self.machine.may_time_out(&view, id, timer))
    }

    /// Returns whether every timer that is due and paces something would expire with perfect timing
    /// too.
    #[must_use]
    pub fn periods_are_accurate(&self, state: &State) -> bool {
        let view = self.view(state);
        self.due_at(state, false).all(|(id, timer)| self.machine.may_time_out(&view, id, timer))
    }

    /// Returns whether the last fault is longer ago than `within` says; never without it.
    #[must_use]
    pub fn is_calm(&self, state: &State) -> bool {
        let clock = self.clock.as_ref().filter(|clock| clock.timed.within.is_some());
        let calm = state.times.as_ref().map(|times| times.calm);
        clock.is_some_and(|clock| calm == Some(clock.calm()))
    }
}

/// Every timer that is armed, and whose it is.
fn armed(state: &State) -> impl Iterator<Item = (Id, Timer)> {
    state.ids().flat_map(|id| state.armed(id).map(move |timer| (id, timer)))
}

/// A time-out that is due although what it waits for can still come.
#[derive(Clone, Debug)]
pub struct TooEarly {
    /// The process whose time-out it is.
    pub id: Id,
    /// The timer.
    pub timer: Timer,
    /// The messages in flight that it waits for: if they were not in flight, it might expire, and
    /// with any of them it may not. None if it waits for more than messages.
    pub messages: Vec<Envelope>,
    /// The processes that may still send what it waits for, if it waits for more than messages: if
    /// one of them were down, it might expire.
    pub senders: Vec<Id>,
}

impl World {
    /// Returns the time-outs that are due in `state` although what they wait for can still come;
    /// none where [they are accurate](World::time_outs_are_accurate).
    #[must_use]
    pub fn too_early(&self, state: &State) -> Vec<TooEarly> {
        let due = self.due_at(state, true);
        let early = due.filter(|&(id, timer)| !self.is_rightly_due(state, id, timer));
        early.map(|(id, timer)| self.why(state, id, timer)).collect()
    }

    fn is_rightly_due(&self, state: &State, id: Id, timer: Timer) -> bool {
        self.machine.may_time_out(&self.view(state), id, timer)
    }

    fn why(&self, state: &State, id: Id, timer: Timer) -> TooEarly {
        let silent = without(state, state.in_flight());
        let mut messages = Vec::new();
        if self.is_rightly_due(&silent, id, timer) {
            messages = self.least(state, id, timer);
        }
        let decides = |&other: &Id| {
            let down = silent.without(other, &*self.machine);
            self.is_rightly_due(&down, id, timer)
        };
        let others = state.ids().filter(|&other| other != id && state.up(other));
        let senders = others.filter(|other| messages.is_empty() && decides(other)).collect();
        TooEarly { id, timer, messages, senders }
    }

    /// As few messages as have to be out of flight for the timer to expire rightly.
    fn least(&self, state: &State, id: Id, timer: Timer) -> Vec<Envelope> {
        let mut least = state.in_flight().to_vec();
        least.dedup();
        for envelope in least.clone() {
            let fewer: Vec<Envelope> = least.iter().copied().filter(|e| *e != envelope).collect();
            if self.is_rightly_due(&without(state, &fewer), id, timer) {
                least = fewer;
            }
        }
        least
    }
}

/// The same state, but that these messages are not in flight.
fn without(state: &State, messages: &[Envelope]) -> State {
    let mut state = state.clone();
    state.flight.retain(|envelope| !messages.contains(envelope));
    state
}
