//! `--engine simulation`: a swarm of random walks. They find violations and prove nothing.
//!
//! Walks have numbers, and each follows from the seed and its number. They are taken in rounds, by
//! all threads, and what they found is put together in the order of their numbers. So with a limit
//! on steps, or none, the same is found with any number of threads.

use super::{
    CheckError, Counterexample, Counts, Decision, Event, Limits, Options, Phase, Progress, Reason,
    Report, Simulation, Verdict,
};
use crate::property::{Kind, Property, Temporal};
use crate::world::swarm::{Coverage, Goal, Plan, Sketch, Swarm, Walk};
use crate::world::{Action, World};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many steps the walks take in all if no limit says otherwise.
const STEPS: u64 = 1_000_000;

/// How many walks are one round.
const ROUND: u64 = 32;

/// One walk of so many looks which rules decide its steps.
const ONE_LOOKS_OF: u64 = 32;

/// What the walks have found so far.
struct WalkTotals {
    started: Instant,
    walks: u64,
    steps: u64,
    longest: usize,
    states: Sketch,
    coverage: Coverage,
    /// For each goal the shortest execution to it, of those of the first walk.
    found: Vec<Option<Vec<Action>>>,
}

impl WalkTotals {
    fn add(&mut self, walk: Walk) {
        self.walks += 1;
        self.steps += walk.steps as u64;
        self.longest = self.longest.max(walk.steps);
        self.states.add(&walk.states);
        self.coverage.add(walk.coverage);
        for (known, found) in self.found.iter_mut().zip(walk.found) {
            let Some(steps) = found else { continue };
            if known.as_ref().is_none_or(|known| known.len() > steps) {
                *known = Some(walk.path[..steps].to_vec());
            }
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            phase: Phase::States,
            distinct: self.states.count(),
            generated: self.steps + self.walks,
            levels: None,
            frontier: None,
            elapsed: self.started.elapsed(),
        }
    }
}

/// The state to look for, if a state decides the property.
fn goal(property: &Property) -> Option<Goal> {
    let (condition, answer) = match &property.temporal {
        Temporal::Always(condition) => (condition, false),
        Temporal::Reachable(condition) => (condition, true),
        Temporal::Liveness(_) => return None,
    };
    Some(Goal { condition: condition.clone(), answer })
}

/// Walks in `world` until a limit is reached.
pub(super) fn search(
    world: &World,
    properties: &[Property],
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    let goals: Vec<_> = properties.iter().filter_map(goal).collect();
    let none_found = vec![None; goals.len()];
    let swarm = Swarm::new(world, goals);
    let mut totals = WalkTotals {
        started: Instant::now(),
        walks: 0,
        steps: 0,
        longest: 0,
        states: Sketch::default(),
        coverage: Coverage::default(),
        found: none_found,
    };
    let of_goals = || properties.iter().filter(|property| goal(property).is_some());
    let violates = |(property, found): (&Property, &Option<Vec<Action>>)| {
        (found.is_some() && property.kind() == Kind::Safety).then_some(property.name)
    };
    let cut_short = loop {
        let first = totals.walks;
        let round = round(&swarm, first, options, totals.started)?;
        let whole = round.len() as u64 == ROUND;
        let mut ends = None;
        for walk in round {
            totals.add(walk);
            let mut violated = of_goals().zip(&totals.found).filter_map(violates);
            if options.first && violated.next().is_some() {
                ends = Some(Some(Reason::FirstViolation));
            } else if ends.is_none()
                && totals.steps.max(totals.walks) >= most_steps(&options.limits)
            {
                ends = Some(None);
            }
            if ends.is_some() {
                break;
            }
        }
        for property in of_goals().zip(&totals.found).filter_map(violates) {
            on_event(Event::Violated { property, steps: None });
        }
        let progress = totals.progress();
        on_event(Event::Progress(progress));
        if let Some(reason) = ends {
            break reason;
        }
        let limits = Limits { states: None, ..options.limits };
        if let Some(reason) = limits.exceeded(&progress) {
            // To walk for as long as was asked for is the whole search.
            break (reason != Reason::Time).then_some(reason);
        }
        debug_assert!(whole, "a round ends early for a limit only");
    };
    Ok(found(world, properties, options, &swarm, totals, cut_short))
}

/// How many steps are taken at most. No more walks are: some worlds have walks without a step.
fn most_steps(limits: &Limits) -> u64 {
    limits.states.unwrap_or(if limits.time.is_some() { u64::MAX } else { STEPS })
}

/// A round of walks, in the order of their numbers; those that were taken before a limit on time or
/// the user ended it.
fn round(
    swarm: &Swarm<'_>,
    first: u64,
    options: &Options,
    started: Instant,
) -> Result<Vec<Walk>, CheckError> {
    let next = AtomicU64::new(first);
    let walks = Mutex::new(Vec::new());
    let stop = || {
        let over = |most: Duration| started.elapsed() >= most;
        options.limits.cancel.is_some_and(super::Cancel::is_due)
            || options.limits.time.is_some_and(over)
    };
    let take = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= first + ROUND || stop() {
                break;
            }
            let looks = number.is_multiple_of(ONE_LOOKS_OF);
            let plan = Plan { seed: options.seed, number, depth: options.depth, looks };
            let Some(walk) = swarm.walk(&plan, &stop) else { break };
            walks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, walk));
        }
    };
    thread::scope(|scope| {
        for _ in 1..options.threads {
            thread::Builder::new().spawn_scoped(scope, take)?;
        }
        take();
        Ok(())
    })
    .map_err(|error: std::io::Error| CheckError::Threads {
        threads: options.threads,
        error: error.to_string(),
    })?;
    let mut walks = walks.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    walks.sort_unstable_by_key(|(number, _)| *number);
    Ok(walks.into_iter().map(|(_, walk)| walk).collect())
}

fn found(
    world: &World,
    properties: &[Property],
    options: &Options,
    swarm: &Swarm<'_>,
    totals: WalkTotals,
    cut_short: Option<Reason>,
) -> Report {
    let mut paths = totals.found.into_iter().enumerate();
    let decide = |property: &Property| {
        let path = goal(property).and_then(|_| paths.next()).and_then(|(at, path)| {
            let violated = property.kind() == Kind::Safety;
            path.map(|path| if violated { swarm.shorten(at, &path) } else { path })
        });
        let sampled = Some(Reason::Sampled);
        let (verdict, reason) = Verdict::of(property.kind(), path.is_some(), sampled, false);
        let path = path.filter(|_| verdict == Verdict::Violated);
        let counterexample = path.map(|steps| Counterexample { steps, cycle: None });
        Decision { property: property.clone(), verdict, reason, counterexample, several: None }
    };
    let decisions = properties.iter().map(decide).collect();
    let counts = Counts {
        distinct: totals.states.count(),
        generated: totals.steps + totals.walks,
        depth: totals.longest,
    };
    let Coverage { taken, rules, looked } = totals.coverage;
    let simulation = Simulation {
        walks: totals.walks,
        steps: totals.steps,
        longest: totals.longest as u64,
        depth: options.depth,
        seed: options.seed,
        about_states: counts.distinct,
        actions: taken,
        rules,
        looked,
    };
    Report {
        counts,
        cut_short,
        bounds_met: swarm.bounds_met(),
        decisions,
        simulation: Some(simulation),
        ..Report::of(world, options)
    }
}
