//! Time, where it is measured: what a tick is, and what must have happened before the next.
//!
//! A timed world counts *ticks*. [`Action::Tick`](super::Action::Tick) is one more thing that may
//! happen: everything that was to happen at this tick has happened, and it is the next.
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
use super::per_process::PerProcess;
use super::{Delay, MAX_TICKS, Scenario, Timed, WorldError};
use crate::machine::{DynProtocol, Timer, TimerRules};
use crate::protocol::{Duration, Id, Ids, MAX_TIMERS, Timers, Wait};

/// What a timed world keeps besides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Times {
    /// The ticks that each message in flight has left; empty if the delay is unbounded.
    pub(super) left: Left,
    /// For each process, in the order of its timers: of a fixed timer that is armed, the ticks
    /// that are left, of a detector those that it has counted, otherwise 0.
    pub(super) clocks: PerProcess<[u8; MAX_TIMERS]>,
    /// The ticks since the last fault, as far as they are asked for; otherwise 0.
    pub(super) calm: u8,
    /// The processes that are paused.
    pub(super) paused: Ids,
}

/// How a timer measures time in this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// It expires after so many ticks at the latest, and may when so many of them are left.
    Fixed { latest: u8, slack: u8 },
    /// It notices within so many ticks.
    Detector(u8),
}

/// The scenario of a timed world, for these rules.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub(super) timed: Timed,
    /// Of each process, how each of its timers measures time.
    measures: PerProcess<[Option<Measure>; MAX_TIMERS]>,
    /// Of each process, those that are fixed.
    pub(super) fixed: PerProcess<Timers>,
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
        let (mut measures, mut fixed) = (PerProcess::of(processes), PerProcess::of(processes));
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
    pub(super) fn armed(&self, id: Id, timer: Timer) -> u8 {
        match self.measure(id, timer) {
            Measure::Fixed { latest, .. } => latest,
            Measure::Detector(_) => 0,
        }
    }

    pub(super) fn measure(&self, id: Id, timer: Timer) -> Measure {
        let measure = self.measures[id.index()][timer.place()];
        measure.expect("a timer that is armed has a row whose `armed` says so")
    }

    /// What the count since the last fault shows when it no longer grows.
    pub(super) fn calm(&self) -> u8 {
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
