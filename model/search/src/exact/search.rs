//! Breadth-first search, level by level, with any number of threads and one result.
//!
//! A level is searched in rounds. In each, the next states of every [shard] are expanded, the
//! shards being shared out among [workers](Worker), and each worker sorts what follows by the shard
//! it belongs to; then each shard takes in what the workers have for it, one worker after the
//! other. No two threads ever write to the same place, and what a round does depends on nothing but
//! the states before it: not on the number of threads, nor on which was first.
//!
//! Which number a state gets depends on how the space packs it, so nothing that is reported does
//! depend on numbers: counts, levels, and paths chosen by the order of actions.

use super::disk::{self, Folder, Logged};
use super::edges::ShardRows;
use super::error::DiskError;
use super::level::{Goal, Level, Reached};
use super::parallel;
use super::shard::{SHARDS, SHARDS_PER_WORKER, Shard, WORKERS};
use crate::limits::{Limits, Reason};
use crate::progress::{Counts, Event, Phase, Progress, Unfinished};
use crate::space::{Answers, Arrival, OUTSIDE_WORD, Scratch, Space};
use serde_json::Value;
use std::io;
use std::time::{Duration, Instant};

/// Stands for the shard of a state beyond the bounds.
const OUTSIDE_SHARD: u8 = u8::MAX;

/// How many states of a level the space is shown.
const SHOWN: usize = 8;

/// The first level of which the space is shown some. Most searches end before that.
const FIRST: usize = 8;

/// A search that goes on, or has ended.
pub(super) struct Search<const W: usize, S: Shard<W>> {
    pub(super) form: S::Form,
    pub(super) shards: Vec<S>,
    pub(super) reached: Reached,
    pub(super) cut_short: Option<Reason>,
    /// If it was cut short, how many states were found and not expanded.
    pub(super) waiting: u64,
    /// The transitions of each shard's states, if they are kept.
    pub(super) rows: Option<Vec<ShardRows>>,
}

/// Where a search is saved, and what it is of.
pub(super) struct Saving {
    of: Value,
    folder: Folder,
    every: Duration,
    /// When it was saved last.
    saved: Instant,
}

/// The files of a search that has found every state, and from which it can go on.
pub struct Saved(Folder);

impl Saved {
    /// Removes the files: everything has been decided.
    pub fn clear(self) {
        self.0.clear();
    }
}

impl Saving {
    pub(super) fn new(of: Value, folder: Folder, every: Duration) -> Self {
        Saving { of, folder, every, saved: Instant::now() }
    }

    /// Removes the files: they are not needed any more.
    pub(super) fn clear(&self) {
        self.folder.clear();
    }

    pub(super) fn is_due(&self) -> bool {
        self.saved.elapsed() >= self.every
    }

    /// The files of the search, which has been saved at its end.
    pub(super) fn into_saved(self) -> Saved {
        Saved(self.folder)
    }

    pub(super) fn save<const W: usize, S: Shard<W>>(
        &mut self,
        space: &Logged<'_>,
        search: &Search<W, S>,
    ) -> Result<(), DiskError> {
        let folder = &self.folder;
        let parts = search.shards.chunks(SHARDS_PER_WORKER).enumerate();
        let states = parallel::map(parts, |(part, shards)| {
            folder.store("states", |out| {
                for (at, shard) in (part * SHARDS_PER_WORKER..).zip(shards) {
                    shard.write(out)?;
                    search.rows.as_ref().map_or(Ok(()), |rows| rows[at].write(out))?;
                }
                Ok(())
            })
        });
        let states = states.into_iter().collect::<Result<_, _>>()?;
        let progress = disk::Progress { reached: search.reached.clone(), states };
        folder.save(&self.of, space, progress)?;
        self.saved = Instant::now();
        Ok(())
    }
}

/// The summary of a search: what is left of it when its states are gone.
pub struct SearchSummary {
    /// The size of the search.
    pub counts: Counts,
    /// The reason why the search ended before everything was reached, if it did.
    pub cut_short: Option<Reason>,
    /// The progress of the search at that moment.
    pub unfinished: Option<Unfinished>,
    /// Whether some step leaves the boundary of the search.
    pub leaves_boundary: bool,
    /// The levels, of which the last may not have been searched to its end.
    pub levels: Vec<Level>,
    /// The fault of the disk, if it has one.
    pub trouble: Option<String>,
    /// The number of levels that had been searched when the search went on, if it had been
    /// interrupted.
    pub resumed_after: Option<usize>,
}

impl SearchSummary {
    pub(super) fn of<const W: usize, S: Shard<W>>(search: &Search<W, S>) -> Self {
        let Reached { ref levels, generated, leaves_boundary, .. } = search.reached;
        let depth = levels.len();
        let unfinished = Unfinished { levels: depth.saturating_sub(1), waiting: search.waiting };
        SearchSummary {
            counts: Counts { distinct: search.distinct(), generated, depth },
            cut_short: search.cut_short,
            unfinished: search.cut_short.map(|_| unfinished),
            leaves_boundary,
            levels: levels.clone(),
            trouble: None,
            resumed_after: None,
        }
    }
}

/// States that were found, and how each was reached.
#[derive(Clone)]
pub(super) struct FoundStates<T> {
    pub(super) states: Vec<T>,
    pub(super) lasts: Vec<Arrival>,
}

impl<T> FoundStates<T> {
    pub(super) fn nothing() -> Self {
        FoundStates { states: Vec::new(), lasts: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, state: T, last: Arrival) {
        self.states.push(state);
        self.lasts.push(last);
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.lasts.clear();
    }
}

/// What one thread does in a round, for its part of the shards.
struct Worker<const W: usize> {
    scratch: Scratch,
    next: Vec<u64>,
    lasts: Vec<Arrival>,
    /// What follows, by the shard it belongs to.
    found: Vec<FoundStates<[u64; W]>>,
    /// What each state leads to, if transitions are kept: the shards, in order.
    targets: Vec<u8>,
    /// How many each state leads to, and the answers about it.
    expanded: Vec<(u16, Answers)>,
    /// How many of them are of each shard.
    per_shard: Vec<usize>,
    /// States of which the space did not know what follows.
    unlearned: Vec<[u64; W]>,
    generated: u64,
    outside: u64,
}

/// What is shared by all threads during a search.
pub(super) struct SearchContext<'a> {
    pub(super) limits: Limits,
    /// How many levels are found at most.
    pub(super) levels: Option<usize>,
    pub(super) started: Instant,
    /// What would violate each property, as far as that has not been told.
    pub(super) violations: Vec<(&'static str, Goal)>,
    /// Whether the search stops once a violation is told.
    pub(super) first: bool,
    pub(super) told: bool,
    /// The last level of which the space was shown states.
    pub(super) observed: Option<usize>,
    /// Where it is saved, if it is.
    pub(super) saving: Option<Saving>,
    /// What is wrong with the disk, if the search has ended for that.
    pub(super) trouble: Option<String>,
    pub(super) on_event: &'a mut (dyn FnMut(Event) + Send),
}

impl<const W: usize, S: Shard<W>> Search<W, S> {
    /// A search that has found nothing.
    pub(super) fn empty(space: &dyn Space) -> Self {
        let form = S::form(space);
        Search {
            shards: (0..SHARDS).map(|shard| S::new(&form, shard)).collect(),
            form,
            reached: Reached::default(),
            cut_short: None,
            waiting: 0,
            rows: None,
        }
    }

    /// A search that has found the initial states.
    pub(super) fn begin(space: &dyn Space, edges: bool) -> Self {
        let mut search: Self = Search::empty(space);
        search.rows = edges.then(|| (0..SHARDS).map(|_| ShardRows::default()).collect());
        search.reached.initial = space.initial(W);
        for state in search.reached.initial.as_chunks().0 {
            let (mixed, shard) = S::mix(&search.form, state);
            search.shards[shard].insert_all(&[mixed], None, None);
            search.reached.generated += 1;
        }
        search.begin_level();
        search
    }

    /// The search that was saved.
    pub(super) fn restore(
        space: &dyn Space,
        edges: bool,
        progress: disk::Progress,
        context: &SearchContext<'_>,
    ) -> Result<Self, DiskError> {
        let mut search = Self::empty(space);
        if let Some(Saving { folder, .. }) = &context.saving {
            let form = search.form;
            let read = parallel::map(progress.states.iter().enumerate(), |(part, stored)| {
                folder.load(stored, |file| {
                    let first = part * SHARDS_PER_WORKER;
                    let shards = (first..first + SHARDS_PER_WORKER).map(|at| {
                        let shard = S::read(&form, at, file)?;
                        Ok((shard, edges.then(|| ShardRows::read(file)).transpose()?))
                    });
                    shards.collect::<io::Result<Vec<_>>>()
                })
            });
            let read = read.into_iter().collect::<Result<Vec<_>, DiskError>>()?;
            let (shards, rows): (Vec<S>, Vec<_>) = read.into_iter().flatten().unzip();
            search.shards = shards;
            search.rows = rows.into_iter().collect();
        }
        search.reached = progress.reached;
        Ok(search)
    }

    /// Searches on, until everything is found, so many levels are, or a limit is reached. Now and
    /// then the search is saved, if it is to be.
    ///
    /// # Errors
    /// The search so far, if states must be [recoded](super::recode) before it goes on.
    pub(super) fn run(
        mut self,
        space: &mut Logged<'_>,
        context: &mut SearchContext<'_>,
    ) -> Result<Self, Self> {
        let mut workers: Vec<Worker<W>> = (0..WORKERS).map(|_| Worker::new(&**space)).collect();
        let mut found = vec![vec![Vec::new(); WORKERS]; SHARDS];
        loop {
            while self.begin_round() {
                if self.enough(space, context) {
                    return Ok(self);
                }
                if !self.expand(space, &mut workers) {
                    return Err(self);
                }
                if !context.limits.leaves_room_for(self.growth(&workers)) {
                    self.stop(Reason::Memory, context);
                    return Ok(self);
                }
                parallel::each(self.shards.chunks_mut(SHARDS_PER_WORKER), |shards| {
                    shards.iter_mut().for_each(S::end_round);
                });
                self.collect(&workers, &mut found);
                self.tally(&workers);
                self.keep(&mut workers, &found);
            }
            self.end_level(context);
            if context.levels.is_some_and(|most| self.reached.levels.len() >= most) {
                return Ok(self);
            }
            if !self.begin_level() {
                return Ok(self);
            }
            if context.first && context.told {
                self.stop(Reason::FirstViolation, context);
                return Ok(self);
            }
            if S::too_wide(&self.shards, &**space) {
                return Err(self);
            }
            if let Some(saving) = &mut context.saving
                && saving.is_due()
                && let Err(error) = saving.save(space, &self)
            {
                context.trouble = Some(error.to_string());
                self.stop(Reason::Disk, context);
                return Ok(self);
            }
        }
    }

    /// Everything that was found and not expanded is the next level; whether there is anything.
    fn begin_level(&mut self) -> bool {
        let found = self.shards.iter_mut().map(S::begin_level).sum::<u64>() > 0;
        if found {
            self.reached.levels.push(Level { states: 0, all: Answers::MAX, any: 0 });
        }
        found
    }

    /// Chooses the next states of every shard, if any are left in this level.
    fn begin_round(&mut self) -> bool {
        let chosen = parallel::map(self.shards.chunks_mut(SHARDS_PER_WORKER), |shards| {
            shards.iter_mut().map(S::begin_round).sum::<usize>()
        });
        chosen.into_iter().sum::<usize>() > 0
    }

    /// Ends the search before everything is found.
    fn stop(&mut self, reason: Reason, context: &mut SearchContext<'_>) {
        self.cut_short = Some(reason);
        self.waiting = self.frontier();
        self.end_level(context);
    }

    /// How many states were found and not expanded.
    fn frontier(&self) -> u64 {
        self.distinct() - self.reached.levels.iter().map(|level| level.states).sum::<u64>()
    }

    /// What was searched of the level is the level, and its violations are told.
    fn end_level(&self, context: &mut SearchContext<'_>) {
        let Some((level, before)) = self.reached.levels.split_last() else { return };
        context.violations.retain(|&(property, goal)| {
            let reached = goal.reached_in(level);
            if reached {
                context.told = true;
                (context.on_event)(Event::Violated { property, steps: Some(before.len()) });
            }
            !reached
        });
    }

    /// Whether a limit is reached.
    fn enough(&mut self, space: &mut Logged<'_>, context: &mut SearchContext<'_>) -> bool {
        let progress = Progress {
            phase: Phase::States,
            distinct: self.distinct(),
            generated: self.reached.generated,
            levels: Some(self.reached.levels.len() - 1),
            frontier: Some(self.frontier()),
            elapsed: context.started.elapsed(),
        };
        (context.on_event)(Event::Progress(progress));
        let reason = context.limits.exceeded(&progress);
        self.sample_level(space, context, reason.is_some());
        reason.inspect(|&reason| self.stop(reason, context)).is_some()
    }

    /// Shows the space a few states of this level, if that is due, or if the search ends here; and
    /// tells what it has to say, such as what grows from level to level and keeps the search from
    /// ending.
    fn sample_level(&self, space: &mut Logged<'_>, context: &mut SearchContext<'_>, ends: bool) {
        let level = self.reached.levels.len() - 1;
        let is_new = context.observed.is_none_or(|before| before < level);
        if !is_new || !(ends || is_due(level)) {
            return;
        }
        context.observed = Some(level);
        let mut states = Vec::new();
        for shard in &self.shards {
            if states.len() >= SHOWN * W {
                break;
            }
            shard.round(|state, _| {
                if states.len() < SHOWN * W {
                    states.extend_from_slice(state);
                }
            });
        }
        if let Some(what) = space.sample_level(level, &states, W) {
            (context.on_event)(Event::Grows { what });
        }
    }

    /// The number of states found.
    pub(super) fn distinct(&self) -> u64 {
        self.shards.iter().map(S::held).sum()
    }

    /// Expands the states of a round, as often as something new is learned; false if states have
    /// come to look different in words, so that the round must be expanded once more.
    fn expand(&self, space: &mut Logged<'_>, workers: &mut [Worker<W>]) -> bool {
        loop {
            let (shared, form, edges) = (&**space, &self.form, self.rows.is_some());
            let parts = self.shards.chunks(SHARDS_PER_WORKER);
            parallel::each(workers.iter_mut().zip(parts), |(worker, shards)| {
                worker.clear();
                for shard in shards {
                    let before = worker.expanded.len();
                    shard.round(|from, last| worker.expand::<S>(shared, form, from, last, edges));
                    worker.per_shard.push(worker.expanded.len() - before);
                }
            });
            let unlearned: Vec<_> =
                workers.iter_mut().flat_map(|l| l.unlearned.drain(..)).collect();
            if unlearned.is_empty() {
                return true;
            }
            let (mut scratch, mut next) = (space.scratch(), Vec::new());
            for state in unlearned {
                next.clear();
                // What was learned of another state may be enough for this one.
                let known = space.expand(&state, &mut scratch, &mut next).is_ok();
                if !known {
                    space.learn(&state);
                }
            }
            if space.needs_relayout() {
                return false;
            }
        }
    }

    /// How many bytes the tables grow by, at most, when the shards take in what the workers have.
    /// They are of one size, so they all grow in the same few rounds.
    fn growth(&self, workers: &[Worker<W>]) -> u64 {
        let found = |at: usize| workers.iter().map(|worker| worker.found[at].states.len()).sum();
        self.shards.iter().enumerate().map(|(at, shard)| shard.growth(found(at))).sum()
    }

    /// Each shard takes in what the workers have for it; the numbers stand in `found` if
    /// transitions are kept.
    fn collect(&mut self, workers: &[Worker<W>], found: &mut [Vec<Vec<u32>>]) {
        let edges = self.rows.is_some();
        let shards = self.shards.iter_mut().zip(found).enumerate();
        parallel::each(shards, |(at, (shard, numbers))| {
            for (worker, numbers) in workers.iter().zip(numbers) {
                numbers.clear();
                let numbers = edges.then_some(numbers);
                let FoundStates { states, lasts } = &worker.found[at];
                shard.insert_all(states, Some(lasts), numbers);
            }
        });
    }

    fn tally(&mut self, workers: &[Worker<W>]) {
        for worker in workers {
            self.reached.generated += worker.generated;
            self.reached.leaves_boundary |= worker.outside > 0;
            let last = self.reached.levels.len() - 1;
            let level = &mut self.reached.levels[last];
            level.states += worker.expanded.len() as u64;
            for &(_, answers) in &worker.expanded {
                level.all &= answers;
                level.any |= answers;
            }
        }
    }

    /// Writes down where each state of a round leads.
    fn keep(&mut self, workers: &mut [Worker<W>], found: &[Vec<Vec<u32>>]) {
        let Some(rows) = &mut self.rows else { return };
        let rows = rows.chunks_mut(SHARDS_PER_WORKER);
        parallel::each(workers.iter().enumerate().zip(rows), |((at, worker), rows)| {
            let mut read = [0usize; SHARDS];
            let mut targets = worker.targets.iter();
            let mut expanded = worker.expanded.iter();
            for (rows, &count) in rows.iter_mut().zip(&worker.per_shard) {
                for &(degree, answers) in expanded.by_ref().take(count) {
                    let targets = targets.by_ref().take(usize::from(degree));
                    let place = |&shard: &u8| {
                        (shard != OUTSIDE_SHARD).then(|| {
                            let shard = usize::from(shard);
                            read[shard] += 1;
                            (shard, found[shard][at][read[shard] - 1])
                        })
                    };
                    rows.push(answers, targets.map(place));
                }
            }
        });
    }
}

impl<const W: usize> Worker<W> {
    fn new(space: &dyn Space) -> Self {
        Worker {
            scratch: space.scratch(),
            next: Vec::new(),
            lasts: Vec::new(),
            found: vec![FoundStates::nothing(); SHARDS],
            targets: Vec::new(),
            expanded: Vec::new(),
            per_shard: Vec::new(),
            unlearned: Vec::new(),
            generated: 0,
            outside: 0,
        }
    }

    fn clear(&mut self) {
        self.found.iter_mut().for_each(FoundStates::clear);
        self.targets.clear();
        self.expanded.clear();
        self.per_shard.clear();
        self.unlearned.clear();
        self.generated = 0;
        self.outside = 0;
    }

    #[inline]
    fn expand<S: Shard<W>>(
        &mut self,
        space: &dyn Space,
        form: &S::Form,
        state: &[u64; W],
        last: Arrival,
        edges: bool,
    ) {
        self.next.clear();
        self.lasts.clear();
        let (scratch, next) = (&mut self.scratch, &mut self.next);
        let expanded = space.expand_after(state, last, scratch, next, &mut self.lasts);
        let Ok((answers, left_out)) = expanded else {
            self.unlearned.push(*state);
            return;
        };
        self.generated += left_out;
        let (next, _) = self.next.as_chunks();
        for (next, &last) in next.iter().zip(&self.lasts) {
            let shard = if next[0] == OUTSIDE_WORD && *next == [OUTSIDE_WORD; W] {
                self.outside += 1;
                OUTSIDE_SHARD
            } else {
                let (mixed, shard) = S::mix(form, next);
                self.found[shard].push(mixed, last);
                self.generated += 1;
                shard as u8
            };
            if edges {
                self.targets.push(shard);
            }
        }
        // A state has far fewer than 2^16 actions: processes, links and their messages.
        self.expanded.push((next.len() as u16, answers));
    }
}

/// Whether states of this level are shown: of eight levels between each and the one twice as deep.
fn is_due(level: usize) -> bool {
    level >= FIRST && level.is_multiple_of(1 << (level.ilog2() - FIRST.ilog2()))
}

#[cfg(test)]
mod tests {
    use super::is_due;

    #[test]
    fn about_half_as_deep_as_each_level_is_one_that_was_shown() {
        let due: Vec<usize> = (0..=64).filter(|&level| is_due(level)).collect();
        let first = [8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40];
        assert_eq!(due[..first.len()], first);
        assert_eq!((0..100_000).filter(|&level| is_due(level)).count(), 109);
        for level in 16..5_000_usize {
            let nearest = (0..level).filter(|&other| is_due(other)).map(|l| l.abs_diff(level / 2));
            assert!(nearest.min().is_some_and(|off| off <= level / 16), "{level}");
        }
    }
}
