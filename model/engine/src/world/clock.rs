//! Time, where it is measured: what a tick is, and what must have happened before the next.
//!
//! A timed world counts *ticks*. [`Action::Tick`] is one more thing that may happen: everything
//! that was to happen at this tick has happened, and it is the next.
//!
//! - A **message** has so many ticks left: at its sending `Tm`, or those of a [slow](super::SlowLinks)
//!   link, and `Tp` more if it is sent in answer to a message, for the processing takes that long
//!   at most. It may arrive at any tick
//!   until none is left; then it must arrive, or be lost, or find its receiver down, before the
//!   clock goes on. On a FIFO link it leaves after the one before it, and has as many ticks at
//!   least. With an unbounded delay it has no time, and only arrives in the end.
//! - A **fixed** timer ([`Wait::Fixed`]) has as many ticks left as its duration when it is armed,
//!   and more where the processes' time-outs are [set apart](Stagger). It expires when none is
//!   left, and the clock waits for that. Where clocks [drift](super::Drift), it may expire earlier
//!   or later; it has as many ticks left as until the latest moment, and may expire once none but
//!   those between the earliest and the latest are left.
//! - A **detector** ([`Wait::Detector`]) counts the ticks for which it
//!   [may time out](Protocol::may_time_out). While it may, it may expire at any tick, and must
//!   before the clock goes on when it has counted its duration. When it no longer may, the count
//!   starts anew. If it may only because a process is paused, it has to count one tick first,
//!   unless its duration is 0: a pause of no time is none.
//!
//! What happens at one tick happens in every order: a time-out of exactly the time that an answer
//! may take is too short, for the two meet. A timer runs from the moment at which its process
//! handles what makes it arm the timer, even if what the process sends then leaves only after the
//! processing.
//!
//! A **paused** process delays no other: for it the clock waits neither for messages nor for
//! timers. Its clocks go on, to no less than 0. When it goes on itself, all that waits for it and
//! has no time left happens, in any order, before the clock goes on again.
//!
//! A clock that **jumps** moves all timers of its process by as many ticks: ahead, so that fixed
//! ones have fewer left, at least 0, and detectors have counted more; or back. What has no time
//! left then happens before the clock goes on, like anything else.
//!
//! All times are relative, so that a world stays finite; a tick at which no process waits
//! leads back to the same state. What one process owns depends on its own steps and on ticks, with
//! one exception: a detector's count is forgotten as soon as it may not time out.

use super::network::Left;
use super::state::Places;
use super::timed::{Delay, MAX_TICKS, Timed};
use super::{Action, Network, Scenario, Start, State, Timing, World, WorldError};
use crate::machine::{DynProtocol, Observation, Timer, TimerRules};
use crate::protocol::{Duration, Envelope, Id, Ids, MAX_TIMERS, RunOut, Timers, Wait};

/// What a timed world keeps besides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Times {
    /// The ticks that each message in flight has left; empty if the delay is unbounded.
    pub(super) left: Left,
    /// For each process, in the order of its timers: of a fixed timer that is armed, the ticks
    /// that are left, of a detector those that it has counted, otherwise 0.
    pub(super) clocks: Places<[u8; MAX_TIMERS]>,
    /// The ticks since the last fault, as far as they are asked for; otherwise 0.
    pub(super) calm: u8,
    /// The processes that are paused.
    pub(super) paused: Ids,
}

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

/// How a timer measures time in this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// It expires after so many ticks at the latest, and may when so many of them are left.
    Fixed { latest: u8, slack: u8 },
    /// It notices within so many ticks.
    Detector(u8),
}

/// The scenario of a timed world, for these rules.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    timed: Timed,
    /// Of each process, how each of its timers measures time.
    measures: Places<[Option<Measure>; MAX_TIMERS]>,
    /// Of each process, those that are fixed.
    fixed: Places<Timers>,
}

impl Clock {
    /// The clock of a world in which so many that elect follow `protocol`.
    pub(super) fn of(
        machine: &dyn DynProtocol,
        timed: Timed,
        nodes: usize,
    ) -> Result<Clock, WorldError> {
        let processes = nodes + machine.shape().services();
        let protocol = machine.protocol().name();
        check_messages(timed)?;
        timed.slow.check(timed.delay, processes)?;
        let timeless = |rules: &TimerRules| rules.duration.is_none() && !rules.timer.is_outcome();
        if machine.timers().iter().any(timeless) {
            return Err(WorldError::Timeless { protocol });
        }
        all_are_given(machine, timed, nodes)?;
        let (mut measures, mut fixed) = (Places::of(processes), Places::of(processes));
        for id in Id::all(processes) {
            let of_one: &mut [Option<Measure>; MAX_TIMERS] = &mut measures[id.index()];
            for (place, rules) in of_one.iter_mut().zip(machine.timers_of(id)) {
                // A choice is made before the clock goes on.
                *place = rules.timer.is_outcome().then_some(Measure::Detector(0));
                let Some(wait) = rules.wait else { continue };
                let times = |by| (by, machine.stagger(rules.timer, id, nodes));
                let more = rules.stagger.map(times).filter(|&(_, times)| times > 0);
                *place = Some(measure(id, wait, more, timed)?);
                if let Wait::Fixed(_) = wait {
                    let fixed: &mut Timers = &mut fixed[id.index()];
                    *fixed = fixed.and(rules.timer);
                }
            }
        }
        each_is_used(machine, timed, processes)?;
        Ok(Clock { timed, measures, fixed })
    }

    /// How many ticks a message has when it is sent from one process to another, if that is
    /// bounded.
    pub(super) fn lasts(&self, from: Id, to: Id, in_answer: bool) -> Option<u8> {
        let Delay::AtMost(usual) = self.timed.delay else { return None };
        let ticks = self.timed.slow.ticks(from, to).unwrap_or(usual);
        Some(if in_answer { ticks + self.timed.processing } else { ticks })
    }

    /// Whether a message has a time at all.
    pub(super) fn counts_messages(&self) -> bool {
        self.timed.delay != Delay::Unbounded
    }

    /// Whether some detector notices at once, and may do so again and again without a tick.
    pub(super) fn detects_at_once(&self) -> bool {
        self.measures.iter().flatten().any(|&measure| measure == Some(Measure::Detector(0)))
    }

    /// What a timer shows when it has just been armed.
    fn armed(&self, id: Id, timer: Timer) -> u8 {
        match self.measure(id, timer) {
            Measure::Fixed { latest, .. } => latest,
            Measure::Detector(_) => 0,
        }
    }

    fn measure(&self, id: Id, timer: Timer) -> Measure {
        let measure = self.measures[id.index()][timer.place()];
        measure.expect("a timer that is armed has a row whose `armed` says so")
    }

    /// What the count since the last fault shows when it no longer grows.
    fn calm(&self) -> u8 {
        // At most `MAX_TICKS` were asked for.
        self.timed.within.map_or(0, |within| within + 1)
    }
}

/// Whether clocks can jump as the scenario says.
pub(super) fn check_jumps(clock: Option<&Clock>, scenario: &Scenario) -> Result<(), WorldError> {
    let (jumps, jump) = (scenario.faults.jumps, scenario.jump);
    let Some(clock) = clock.filter(|_| jumps > 0) else {
        return if jumps > 0 { Err(WorldError::JumpsUntimed) } else { Ok(()) };
    };
    if jump == 0 {
        return Err(WorldError::NoJump);
    }
    check("jump", jump, 1)?;
    let latest = |measure: &Measure| match *measure {
        Measure::Fixed { latest, .. } => u32::from(latest),
        Measure::Detector(_) => 0,
    };
    let longest = clock.measures.iter().flatten().flatten().map(latest).max().unwrap_or(0);
    let ticks = longest + u32::from(jumps) * u32::from(jump);
    if ticks > u32::from(u8::MAX) { Err(WorldError::JumpsTooFar { jump, ticks }) } else { Ok(()) }
}

fn check_messages(timed: Timed) -> Result<(), WorldError> {
    match timed.delay {
        Delay::AtMost(ticks) => check("delay", ticks, 1)?,
        Delay::Unbounded if timed.processing > 0 => return Err(WorldError::ProcessingUnbounded),
        Delay::Unbounded => {}
    }
    check("processing", timed.processing, 0)?;
    check("within", timed.within.unwrap_or(0), 0)
}

fn check(flag: &str, ticks: u8, least: u8) -> Result<(), WorldError> {
    let flag = || flag.to_owned();
    match ticks {
        _ if ticks < least => Err(WorldError::NoTime { flag: flag() }),
        _ if ticks > MAX_TICKS => Err(WorldError::TooLong { flag: flag(), ticks }),
        _ => Ok(()),
    }
}

/// Whether every duration that a timer takes by these rules is given; if not, all that are missing.
fn all_are_given(machine: &dyn DynProtocol, timed: Timed, nodes: usize) -> Result<(), WorldError> {
    let mut missing = Vec::new();
    for place in 0..machine.timers().len() {
        for id in Id::all(nodes + machine.shape().services()) {
            let rules = &machine.timers_of(id)[place];
            let duration = match rules.wait {
                Some(Wait::Fixed(duration) | Wait::Detector(duration)) => duration,
                None => continue,
            };
            let by = rules.stagger.filter(|_| machine.stagger(rules.timer, id, nodes) > 0);
            for &Duration { name, meaning, .. } in [Some(duration), by].into_iter().flatten() {
                if timed.durations.of_process(name, id).is_none()
                    && !missing.contains(&(name, meaning))
                {
                    missing.push((name, meaning));
                }
            }
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(WorldError::NoDuration { missing }) }
}

/// Refuses a duration that no timer takes by these rules, or none of the process that has it of its
/// own.
fn each_is_used(
    machine: &dyn DynProtocol,
    timed: Timed,
    processes: usize,
) -> Result<(), WorldError> {
    let takes = |id, name: &str| {
        let mut waits = machine.timers_of(id).iter().filter_map(|of| Some((of.wait?, of.stagger)));
        waits.any(|(wait, by)| wait.duration() == name || by.is_some_and(|by| by.name == name))
    };
    for (name, _) in timed.durations.iter() {
        if !Id::all(processes).any(|id| takes(id, name)) {
            let (name, protocol) = (name.to_owned(), machine.protocol().name());
            return Err(WorldError::UnusedDuration { name, protocol });
        }
    }
    for (name, id, ticks) in timed.durations.own() {
        let name = || name.to_owned();
        if id.index() >= processes {
            return Err(WorldError::NoSuchProcess { name: name(), id, ticks, processes });
        }
        if !takes(id, &name()) {
            return Err(WorldError::UnusedOwnDuration { name: name(), id, ticks });
        }
    }
    Ok(())
}

/// How a timer of `id` measures time that waits as long as `wait` says, and a fixed one so much
/// more.
fn measure(
    id: Id,
    wait: Wait,
    more: Option<(&'static Duration, u8)>,
    timed: Timed,
) -> Result<Measure, WorldError> {
    let given = |&Duration { name, meaning, .. }: &'static Duration| {
        let missing = || WorldError::NoDuration { missing: vec![(name, meaning)] };
        timed.durations.of_process(name, id).ok_or_else(missing)
    };
    let (duration, least) = match wait {
        Wait::Fixed(duration) => (duration, 1),
        Wait::Detector(duration) => (duration, 0),
    };
    let ticks = given(duration)?;
    check(duration.name, ticks, least)?;
    let mut sum = format!("{} {ticks}", duration.name);
    let mut all = u32::from(ticks);
    if let Some((by, times)) = more.filter(|_| matches!(wait, Wait::Fixed(_))) {
        let step = given(by)?;
        check(by.name, step, 0)?;
        sum += &format!(" + {times} times {} {step}", by.name);
        all += u32::from(step) * u32::from(times);
    }
    let (earliest, latest) = timed.drift.window(all);
    let counted = |ticks: u32| {
        let Timed { drift, .. } = timed;
        let sum = if drift.is_none() { sum.clone() } else { format!("{sum}, drift {drift}") };
        u8::try_from(ticks).map_err(|_| WorldError::Uncountable { id, sum, ticks })
    };
    let (earliest, latest) = (counted(earliest)?, counted(latest)?);
    Ok(match wait {
        Wait::Fixed(_) => Measure::Fixed { latest, slack: latest - earliest },
        Wait::Detector(_) => Measure::Detector(latest),
    })
}

/// When things may, and must, happen.
impl World {
    /// The times of a world at its beginning. A converged one has had no fault for long.
    pub(super) fn first_times(&self) -> Option<Box<Times>> {
        let clock = self.clock.as_ref()?;
        let calm = if self.scenario.start == Start::Converged { clock.calm() } else { 0 };
        let clocks = Places::of(self.processes());
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
