//! Breadth-first search, level by level, with any number of threads and one result.
//!
//! A level is searched in rounds. In each, the next states of every [shard] are expanded, the
//! shards being shared out among [lanes](Lane), and each lane sorts what follows by the shard it
//! belongs to; then each shard takes in what the lanes have for it, one lane after the other. No
//! two threads ever write to the same place, and what a round does depends on nothing but the
//! states before it: not on the number of threads, nor on which was first.
//!
//! Which number a state gets depends on how the space packs it, so nothing that is reported does
//! depend on numbers: counts, levels, and paths chosen by the order of actions.

use super::graph::ShardRows;
use super::paths::Goal;
use super::shard::{SHARDS, Shard, hash, shard_of};
use crate::check::{Event, Limits, Phase, Progress, Reason};
use crate::space::{Answers, OUTSIDE_WORD, Scratch, Space};
use rayon::prelude::*;
use std::ops::Range;
use std::time::Instant;

/// How many lanes there are: enough to keep every processor busy, whatever their number.
pub(super) const LANES: usize = 16;
pub(super) const SHARDS_PER_LANE: usize = SHARDS / LANES;

/// How many states of one shard are expanded in one round at most.
const ROUND: u32 = 2048;

/// Stands for the shard of a state beyond the bounds.
const OUTSIDE_SHARD: u8 = u8::MAX;

/// What is known of all states of one breadth-first level.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// The states of each shard that are in it.
    pub(super) states: Vec<Range<u32>>,
    /// The answers that all of its states that were expanded have.
    pub(super) all: Answers,
    /// The answers that one of them has.
    pub(super) any: Answers,
}

/// A search that goes on, or has ended.
pub(super) struct Search<const W: usize> {
    pub(super) shards: Vec<Shard<W>>,
    pub(super) initial: Vec<[u64; W]>,
    pub(super) levels: Vec<Level>,
    pub(super) generated: u64,
    pub(super) leaves_boundary: bool,
    pub(super) cut_short: Option<Reason>,
    /// If it was cut short, how many states were found and not expanded.
    pub(super) waiting: u64,
    /// The transitions of each shard's states, if they are kept.
    pub(super) rows: Option<Vec<ShardRows>>,
}

/// What one thread does in a round, for its part of the shards.
struct Lane<const W: usize> {
    scratch: Scratch,
    next: Vec<u64>,
    /// What follows, by the shard it belongs to.
    found: Vec<Vec<[u64; W]>>,
    /// What each state leads to: the shards, in order.
    targets: Vec<u8>,
    /// How many each state leads to, and the answers about it.
    expanded: Vec<(u16, Answers)>,
    /// States of which the space did not know what follows.
    unlearned: Vec<[u64; W]>,
    generated: u64,
    outside: u64,
}

/// What is shared by all threads during a search.
pub(super) struct Course<'a> {
    pub(super) limits: Limits,
    pub(super) edges: bool,
    pub(super) started: Instant,
    /// What would violate each property, as far as that has not been told.
    pub(super) violations: Vec<(&'static str, Goal)>,
    /// Whether the search stops once a violation is told.
    pub(super) first: bool,
    pub(super) told: bool,
    pub(super) look: &'a mut (dyn FnMut(Event) + Send),
}

impl<const W: usize> Search<W> {
    /// A search that has found the initial states.
    pub(super) fn begin(space: &dyn Space, edges: bool) -> Self {
        let mut search = Search {
            shards: (0..SHARDS).map(|_| Shard::new()).collect(),
            initial: Vec::new(),
            levels: Vec::new(),
            generated: 0,
            leaves_boundary: false,
            cut_short: None,
            waiting: 0,
            rows: edges.then(|| (0..SHARDS).map(|_| ShardRows::default()).collect()),
        };
        for &state in space.initial(W).as_chunks().0 {
            let hash = hash(&state);
            search.shards[shard_of(hash)].insert_all(&[state], |_| {});
            search.generated += 1;
            search.initial.push(state);
        }
        search.begin_level();
        search
    }

    /// Searches on, until everything is found or a limit is reached.
    ///
    /// # Errors
    /// The search so far, if states have come to look different in words: it goes on once they are
    /// [recoded](super::recode).
    pub(super) fn run(
        mut self,
        space: &mut dyn Space,
        course: &mut Course<'_>,
    ) -> Result<Self, Self> {
        let mut lanes: Vec<Lane<W>> = (0..LANES).map(|_| Lane::new(space)).collect();
        let mut found = vec![vec![Vec::new(); LANES]; SHARDS];
        loop {
            while let Some(round) = self.next_round() {
                if self.enough(course) {
                    return Ok(self);
                }
                if !self.expand(space, &mut lanes, &round) {
                    return Err(self);
                }
                if !course.limits.leaves_room_for(self.growth(&lanes)) {
                    self.stop(Reason::Memory, course);
                    return Ok(self);
                }
                self.collect(&lanes, &mut found);
                self.tally(&lanes);
                self.keep(&mut lanes, &found, &round);
                for (range, done) in self.level().states.iter_mut().zip(&round) {
                    range.start = done.end;
                }
            }
            self.end_level(course);
            if !self.begin_level() {
                return Ok(self);
            }
            if course.first && course.told {
                self.stop(Reason::FirstViolation, course);
                return Ok(self);
            }
        }
    }

    fn level(&mut self) -> &mut Level {
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    /// Everything that was found and not expanded is the next level; whether there is anything.
    /// While a level is searched, its ranges say what is left of it.
    fn begin_level(&mut self) -> bool {
        let begin = |shard: usize| self.levels.last().map_or(0, |level| level.states[shard].end);
        let ends = self.shards.iter().map(|shard| shard.states().len() as u32);
        let states: Vec<_> = ends.enumerate().map(|(at, end)| begin(at)..end).collect();
        let any = states.iter().any(|range| !range.is_empty());
        if any {
            self.levels.push(Level { states, all: Answers::MAX, any: 0 });
        }
        any
    }

    /// Ends the search before everything is found.
    fn stop(&mut self, reason: Reason, course: &mut Course<'_>) {
        self.cut_short = Some(reason);
        self.waiting = self.frontier();
        self.end_level(course);
    }

    /// How many states were found and not expanded.
    fn frontier(&mut self) -> u64 {
        let found = self.distinct();
        let level = &self.level().states;
        let left: u64 = level.iter().map(|left| u64::from(left.end - left.start)).sum();
        let beyond: u64 = level.iter().map(|left| u64::from(left.end)).sum();
        left + found - beyond
    }

    /// What was searched of the level is the level, and its violations are told.
    fn end_level(&mut self, course: &mut Course<'_>) {
        let before = self.levels.len().checked_sub(2).map(|at| self.levels[at].states.clone());
        for (at, range) in self.level().states.iter_mut().enumerate() {
            range.start = before.as_ref().map_or(0, |states| states[at].end);
        }
        let (steps, level) = (Some(self.levels.len() - 1), self.level());
        course.violations.retain(|&(property, goal)| {
            let reached = goal.reached_in(level);
            if reached {
                course.told = true;
                (course.look)(Event::Violated { property, steps });
            }
            !reached
        });
    }

    /// The next states of every shard, if any are left in this level.
    fn next_round(&mut self) -> Option<Vec<Range<u32>>> {
        let left = &self.level().states;
        let next = left.iter().map(|left| left.start..left.end.min(left.start + ROUND));
        let next: Vec<_> = next.collect();
        next.iter().any(|range| !range.is_empty()).then_some(next)
    }

    /// Whether a limit is reached.
    fn enough(&mut self, course: &mut Course<'_>) -> bool {
        let progress = Progress {
            phase: Phase::States,
            distinct: self.distinct(),
            generated: self.generated,
            levels: Some(self.levels.len() - 1),
            frontier: Some(self.frontier()),
            elapsed: course.started.elapsed(),
        };
        (course.look)(Event::Progress(progress));
        let reason = course.limits.exceeded(&progress);
        if let Some(reason) = reason {
            self.stop(reason, course);
        }
        reason.is_some()
    }

    /// The number of states found.
    pub(super) fn distinct(&self) -> u64 {
        self.shards.iter().map(|shard| shard.states().len() as u64).sum()
    }

    /// Expands the states of a round, as often as something new is learned; false if states have
    /// come to look different in words, so that the round must be expanded once more.
    fn expand(&self, space: &mut dyn Space, lanes: &mut [Lane<W>], round: &[Range<u32>]) -> bool {
        loop {
            let shared = &*space;
            let parts = self.shards.par_chunks(SHARDS_PER_LANE);
            let rounds = round.par_chunks(SHARDS_PER_LANE);
            lanes.par_iter_mut().zip(parts).zip(rounds).for_each(|((lane, shards), round)| {
                lane.clear();
                for (shard, range) in shards.iter().zip(round) {
                    for state in &shard.states()[range.start as usize..range.end as usize] {
                        lane.expand(shared, state);
                    }
                }
            });
            let unlearned: Vec<_> = lanes.iter_mut().flat_map(|l| l.unlearned.drain(..)).collect();
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
            if space.lay_out() {
                return false;
            }
        }
    }

    /// How many bytes the tables grow by, at most, when the shards take in what the lanes have.
    /// They are of one size, so they all double in the same few rounds.
    fn growth(&self, lanes: &[Lane<W>]) -> u64 {
        let found = |at: usize| lanes.iter().map(|lane| lane.found[at].len()).sum();
        self.shards.iter().enumerate().map(|(at, shard)| shard.growth(found(at))).sum()
    }

    /// Each shard takes in what the lanes have for it; the numbers stand in `found` if transitions
    /// are kept.
    fn collect(&mut self, lanes: &[Lane<W>], found: &mut [Vec<Vec<u32>>]) {
        let edges = self.rows.is_some();
        let shards = self.shards.par_iter_mut().zip(found.par_iter_mut()).enumerate();
        shards.for_each(|(at, (shard, numbers))| {
            for (lane, numbers) in lanes.iter().zip(numbers) {
                numbers.clear();
                shard.insert_all(&lane.found[at], |number| {
                    if edges {
                        numbers.push(number);
                    }
                });
            }
        });
    }

    fn tally(&mut self, lanes: &[Lane<W>]) {
        for lane in lanes {
            self.generated += lane.generated;
            self.leaves_boundary |= lane.outside > 0;
            let level = self.level();
            for &(_, answers) in &lane.expanded {
                level.all &= answers;
                level.any |= answers;
            }
        }
    }

    /// Writes down where each state of a round leads.
    fn keep(&mut self, lanes: &mut [Lane<W>], found: &[Vec<Vec<u32>>], round: &[Range<u32>]) {
        let Some(rows) = &mut self.rows else { return };
        let rows = rows.par_chunks_mut(SHARDS_PER_LANE);
        let rounds = round.par_chunks(SHARDS_PER_LANE);
        lanes.par_iter().enumerate().zip(rows).zip(rounds).for_each(
            |(((at, lane), rows), round)| {
                let mut read = [0usize; SHARDS];
                let mut targets = lane.targets.iter();
                let mut expanded = lane.expanded.iter();
                for (rows, range) in rows.iter_mut().zip(round) {
                    for &(degree, answers) in expanded.by_ref().take(range.len()) {
                        let targets = targets.by_ref().take(usize::from(degree));
                        rows.push(
                            answers,
                            targets.map(|&shard| {
                                (shard != OUTSIDE_SHARD).then(|| {
                                    let shard = usize::from(shard);
                                    read[shard] += 1;
                                    (shard, found[shard][at][read[shard] - 1])
                                })
                            }),
                        );
                    }
                }
            },
        );
    }
}

impl<const W: usize> Lane<W> {
    fn new(space: &dyn Space) -> Self {
        Lane {
            scratch: space.scratch(),
            next: Vec::new(),
            found: (0..SHARDS).map(|_| Vec::new()).collect(),
            targets: Vec::new(),
            expanded: Vec::new(),
            unlearned: Vec::new(),
            generated: 0,
            outside: 0,
        }
    }

    fn clear(&mut self) {
        self.found.iter_mut().for_each(Vec::clear);
        self.targets.clear();
        self.expanded.clear();
        self.unlearned.clear();
        self.generated = 0;
        self.outside = 0;
    }

    #[inline]
    fn expand(&mut self, space: &dyn Space, state: &[u64; W]) {
        self.next.clear();
        let Ok(answers) = space.expand(state, &mut self.scratch, &mut self.next) else {
            self.unlearned.push(*state);
            return;
        };
        let (next, _) = self.next.as_chunks();
        for next in next {
            let shard = if next[0] == OUTSIDE_WORD && *next == [OUTSIDE_WORD; W] {
                self.outside += 1;
                OUTSIDE_SHARD
            } else {
                let shard = shard_of(hash(next));
                self.found[shard].push(*next);
                self.generated += 1;
                shard as u8
            };
            self.targets.push(shard);
        }
        // A state has far fewer than 2^16 actions: processes, links and their messages.
        self.expanded.push((next.len() as u16, answers));
    }
}
