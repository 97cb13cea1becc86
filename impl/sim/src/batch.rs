//! Many runs, one seed after the other, on several threads. The result is the same with any number
//! of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::code::Code;
use crate::run::run;
use crate::world::{Broken, Counts};

/// The limits of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Set from outside.
    pub stop: &'a AtomicBool,
    /// The time that it may take.
    pub time: Option<Duration>,
}

/// The result of many runs.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// How many runs were finished.
    pub runs: u64,
    /// How many were asked for.
    pub asked: u64,
    /// The sum of their counts.
    pub counts: Counts,
    /// The sum of their digests.
    pub digest: u64,
    /// The longest time to agreement after the last fault, and the seed of that run.
    pub slowest: Option<(Duration, u64)>,
    /// The first run, in the order of seeds, in which an invariant was broken.
    pub failed: Option<(Code, Broken)>,
}

impl Summary {
    fn add(&mut self, code: &Code, outcome: crate::world::Outcome) {
        self.runs += 1;
        let (sum, one) = (&mut self.counts, outcome.counts);
        sum.steps += one.steps;
        sum.sent += one.sent;
        sum.lost += one.lost;
        sum.syncs += one.syncs;
        sum.beside += one.beside;
        sum.unseen += one.unseen;
        sum.starts += one.starts;
        sum.leaders += one.leaders;
        sum.faults += one.faults;
        sum.transfers += one.transfers;
        sum.changes += one.changes;
        sum.wipes += one.wipes;
        self.digest = self.digest.wrapping_add(outcome.digest);
        let settled = outcome.settled.map(|settled| (settled, code.seed));
        // The first of two that took as long.
        let slower = |a: (Duration, u64), b: (Duration, u64)| (a.0, !a.1) > (b.0, !b.1);
        if let Some(one) = settled
            && self.slowest.is_none_or(|most| slower(one, most))
        {
            self.slowest = Some(one);
        }
        let earlier = |code: &Code| self.failed.as_ref().is_none_or(|f| code.seed < f.0.seed);
        if let Some(broken) = outcome.broken.filter(|_| earlier(code)) {
            self.failed = Some((code.clone(), broken));
        }
    }
}

/// Runs `first` and as many seeds after it as make `runs`, until one breaks an invariant. Those
/// before that one are finished. `told` is called after each run.
#[must_use]
pub fn batch(
    first: &Code,
    runs: u64,
    threads: NonZeroUsize,
    limits: Limits<'_>,
    told: &(dyn Fn() + Sync),
) -> Summary {
    let begun = Instant::now();
    let (next, end) = (AtomicU64::new(0), AtomicU64::new(runs));
    let summary = Mutex::new(Summary { asked: runs, ..Summary::default() });
    let work = || {
        loop {
            let late = limits.time.is_some_and(|time| begun.elapsed() >= time);
            if late || limits.stop.load(Ordering::Relaxed) {
                return;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end.load(Ordering::Relaxed) {
                return;
            }
            let code = Code { seed: first.seed.wrapping_add(number), ..first.clone() };
            let outcome = run(&code, false);
            if outcome.broken.is_some() {
                end.fetch_min(number, Ordering::Relaxed);
            }
            summary.lock().unwrap_or_else(PoisonError::into_inner).add(&code, outcome);
            told();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(work);
        }
        work();
    });
    summary.into_inner().unwrap_or_else(PoisonError::into_inner)
}
