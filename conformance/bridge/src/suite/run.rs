//! A suite, taken by the program.

use super::Suite;
use crate::divergence::Divergence;
use crate::error::Error;
use crate::mapping::Mapping;
use crate::pair::Pair;
use bellwether_engine::check::{Limits, Phase, Progress, Reason};
use bellwether_engine::world::Action;
use serde::Serialize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What came of driving the program through a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ran {
    /// The number of executions that the program has taken without a difference, those before the
    /// first one with a difference.
    pub executions: u64,
    /// The number of steps that were compared in them.
    pub steps: u64,
    /// The number of transitions that were taken in them, each counted once.
    pub transitions: u64,
    /// The number of the execution with a difference, from 1, if there is one.
    pub diverged: Option<usize>,
    /// The time that it took, in seconds.
    pub seconds: f64,
    /// The reason why it ended before all were taken, if it did.
    pub cut_short: Option<Reason>,
    /// The difference: after the fewest steps that lead to the same transition, if it shows there
    /// as well.
    #[serde(skip)]
    pub divergence: Option<Box<Divergence>>,
}

/// Drives the program through every execution of `suite`, several at once, until one shows a
/// difference. What is found is the same with any number of threads. `on_execution` is told of each
/// execution that is done: its number of steps.
///
/// # Errors
/// If the program does not implement the rules of the suite or refuses its configuration, or the
/// system gives no threads.
pub fn run<M: Mapping + Sync>(
    mapping: &M,
    suite: &Suite,
    threads: usize,
    limits: &Limits,
    on_execution: &(dyn Fn(usize) + Sync),
) -> Result<Ran, Error> {
    let started = Instant::now();
    // The states have all been found, and the most memory has been used for them.
    let limits = Limits { states: None, memory: None, ..*limits };
    let before = Duration::from_secs_f64(suite.summary.seconds);
    let runner = Runner {
        mapping,
        suite,
        limits: Limits { time: limits.time.map(|time| time.saturating_sub(before)), ..limits },
        started,
        next: AtomicUsize::new(0),
        end: AtomicUsize::new(suite.len()),
        found: Mutex::default(),
        on_execution,
    };
    on_threads(threads, &|| runner.work())?;
    runner.ran()
}

/// Does the same on so many threads at once.
fn on_threads(threads: usize, work: &(dyn Fn() -> Result<(), Error> + Sync)) -> Result<(), Error> {
    thread::scope(|scope| {
        let start = || thread::Builder::new().spawn_scoped(scope, work);
        let threads: Vec<_> = (0..threads.max(1)).map(|_| start()).collect();
        for thread in threads {
            let thread = thread.map_err(|error| Error::Threads(error.to_string()))?;
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        }
        Ok(())
    })
}

struct Runner<'a, M: Mapping> {
    mapping: &'a M,
    suite: &'a Suite,
    limits: Limits,
    started: Instant,
    /// The execution that is taken next.
    next: AtomicUsize,
    /// No execution is taken from here on.
    end: AtomicUsize,
    found: Mutex<Found>,
    on_execution: &'a (dyn Fn(usize) + Sync),
}

/// What the threads have found.
#[derive(Default)]
struct Found {
    /// The executions that show none.
    done: Vec<usize>,
    cut_short: Option<Reason>,
    /// The first execution that shows a difference, and that.
    divergence: Option<(usize, Box<Divergence>)>,
}

impl<M: Mapping + Sync> Runner<'_, M> {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one execution after the other.
    fn work(&self) -> Result<(), Error> {
        let mut pair = match Pair::begin(self.mapping, &self.suite.world)? {
            Ok(pair) => pair,
            Err(divergence) => {
                self.diverges(0, divergence);
                return Ok(());
            }
        };
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if at >= self.end.load(Ordering::Relaxed) {
                return Ok(());
            }
            if let Some(reason) = self.limits.exceeded(&self.progress()) {
                self.found().cut_short = Some(reason);
                return Ok(());
            }
            let actions = self.suite.execution(at);
            match take(&mut pair, &actions) {
                Err(divergence) => self.diverges(at, divergence),
                Ok(()) => self.found().done.push(at),
            }
            (self.on_execution)(actions.len());
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            phase: Phase::Executions,
            distinct: self.suite.summary.states,
            generated: self.suite.summary.transitions,
            levels: None,
            frontier: None,
            elapsed: self.started.elapsed(),
        }
    }

    /// An execution shows a difference. Those before it are taken to their ends, for the first one
    /// counts, however the threads take turns.
    fn diverges(&self, at: usize, divergence: Box<Divergence>) {
        self.end.fetch_min(at, Ordering::Relaxed);
        let mut found = self.found();
        if found.divergence.as_ref().is_none_or(|(first, _)| at < *first) {
            found.divergence = Some((at, divergence));
        }
    }

    fn ran(self) -> Result<Ran, Error> {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut done = found.done;
        if let Some((at, _)) = &found.divergence {
            done = (0..*at).collect();
        }
        let mut ran = Ran { cut_short: found.cut_short, ..self.suite.taken_in(&done) };
        if let Some((at, divergence)) = found.divergence {
            ran.diverged = Some(at + 1);
            let shorter = self.suite.shortest(at, divergence.step);
            let shorter = shorter.filter(|actions| actions.len() < divergence.step);
            let again = match shorter {
                Some(actions) => match Pair::begin(self.mapping, &self.suite.world)? {
                    Ok(mut pair) => take(&mut pair, &actions).err(),
                    Err(divergence) => Some(divergence),
                },
                None => None,
            };
            ran.divergence = Some(again.unwrap_or(divergence));
        }
        ran.seconds = self.started.elapsed().as_secs_f64();
        Ok(ran)
    }
}

impl Suite {
    /// What was taken in these executions.
    fn taken_in(&self, done: &[usize]) -> Ran {
        let taken = || done.iter().flat_map(|&at| &self.numbers()[at]);
        let mut is_taken = vec![false; self.taken.len()];
        taken().for_each(|&transition| is_taken[transition as usize] = true);
        Ran {
            executions: done.len() as u64,
            steps: taken().count() as u64,
            transitions: is_taken.iter().filter(|&&is_taken| is_taken).count() as u64,
            ..Ran::default()
        }
    }
}

/// Takes these steps from the beginning.
fn take<M: Mapping>(pair: &mut Pair<'_, M>, actions: &[Action]) -> Result<(), Box<Divergence>> {
    pair.restart();
    actions.iter().try_for_each(|action| pair.step(action))
}
