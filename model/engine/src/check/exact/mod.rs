//! The exact engine: every reachable state, whole, found by all processors together.
//!
//! A state is a few words, and is kept as it is, not as a fingerprint: what holds in every state
//! that was found holds in every reachable state, if the search was not cut short. The result is
//! the same in every run and with any number of threads.

mod graph;
mod paths;
mod recode;
mod search;
mod shard;

pub use graph::Graph;
pub use paths::Goal;

use super::{Counts, Event, Limits, Phase, Progress, Reason, Unfinished};
use crate::space::{ActionId, Space};
use graph::ShardRows;
use recode::Outgrown;
use search::{Course, Search};
use std::ops::Range;
use std::time::{Duration, Instant};

/// What has been searched, and what was found.
pub struct Exact {
    found: Box<dyn Found>,
}

/// What was found, whatever the number of words of a state.
trait Found: Send + Sync {
    fn counts(&self) -> Counts;
    fn cut_short(&self) -> Option<Reason>;
    fn unfinished(&self) -> Option<Unfinished>;
    fn leaves_boundary(&self) -> bool;
    fn level_of(&self, goal: Goal) -> Option<usize>;
    fn paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<usize>>>;
    fn sizes(&self) -> Vec<u32>;
    fn levels(&self) -> Vec<Vec<Range<u32>>>;
    fn initial(&self) -> Vec<(usize, u32)>;
    fn words(&self, shard: usize, number: u32) -> Vec<u64>;
    fn step(&self, space: &dyn Space, state: &[u64], position: usize) -> Option<Vec<u64>>;
    fn take_rows(&mut self) -> Vec<ShardRows>;
}

/// How to search.
pub struct How<'a> {
    /// When to give up.
    pub limits: Limits,
    /// Whether transitions are kept, as the [graph](Exact::graph) needs.
    pub edges: bool,
    /// With how many threads.
    pub threads: usize,
    /// Properties, each with the state that violates it. At the end of the level in which such a
    /// state is first reached, it is told.
    pub violations: &'a [(&'static str, Goal)],
    /// Whether the search stops there.
    pub first: bool,
    /// Told of violations, and now and then how far the search is.
    pub look: &'a mut (dyn FnMut(Event) + Send),
}

impl Exact {
    /// Searches `space`.
    ///
    /// # Errors
    /// If the system gives no threads.
    ///
    /// # Panics
    /// If a state needs more than 16 words, or there are more than 4 billion states.
    pub fn search(space: &mut dyn Space, how: How<'_>) -> Result<Self, std::io::Error> {
        let How { limits, edges, threads, violations, first, look } = how;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(std::io::Error::other)?;
        let (started, violations) = (Instant::now(), violations.to_vec());
        let mut course = Course { limits, edges, started, violations, first, told: false, look };
        pool.install(|| {
            let mut former = None;
            loop {
                let found = match space.words() {
                    1 => run::<1>(space, former, &mut course),
                    2 => run::<2>(space, former, &mut course),
                    3 => run::<3>(space, former, &mut course),
                    4 => run::<4>(space, former, &mut course),
                    5..=8 => run::<8>(space, former, &mut course),
                    _ => run::<16>(space, former, &mut course),
                };
                match found {
                    Ok(found) => return Ok(Exact { found }),
                    Err(outgrown) => former = Some(outgrown),
                }
            }
        })
    }

    /// How much there was to search.
    pub fn counts(&self) -> Counts {
        self.found.counts()
    }

    /// How far it has come in all, for what is done after it.
    pub fn progress(&self, phase: Phase, elapsed: Duration) -> Progress {
        let Counts { distinct, generated, depth } = self.counts();
        let unfinished = self.unfinished();
        let levels = Some(unfinished.map_or(depth, |unfinished| unfinished.levels));
        let frontier = Some(unfinished.map_or(0, |unfinished| unfinished.waiting));
        Progress { phase, distinct, generated, levels, frontier, elapsed }
    }

    /// Why the search ended before everything was reached, if it did.
    pub fn cut_short(&self) -> Option<Reason> {
        self.found.cut_short()
    }

    /// How far the search was when it [ended early](Exact::cut_short).
    pub fn unfinished(&self) -> Option<Unfinished> {
        self.found.unfinished()
    }

    /// Whether some step leaves the boundary of the search.
    pub fn leaves_boundary(&self) -> bool {
        self.found.leaves_boundary()
    }

    /// Whether a state is reached for which the question has this answer.
    pub fn reaches(&self, goal: Goal) -> bool {
        self.found.level_of(goal).is_some()
    }

    /// For each goal that is reached, the actions of the first shortest path to it. `space` is what
    /// was searched.
    pub fn paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<ActionId>>> {
        let paths = self.found.paths(space, goals).into_iter();
        paths.map(|path| path.map(|positions| self.follow(space, &positions))).collect()
    }

    fn follow(&self, space: &dyn Space, positions: &[usize]) -> Vec<ActionId> {
        let mut path = Vec::new();
        let initial = self.found.initial().first().copied();
        let mut at = initial.map(|(shard, number)| self.found.words(shard, number));
        for &position in positions {
            let Some(state) = at else { break };
            path.extend(space.actions(&state).into_iter().nth(position));
            at = self.found.step(space, &state, position);
        }
        path
    }

    /// How much memory the [graph](Exact::graph) takes besides what the search has taken, with what
    /// is needed to look for components in it.
    pub fn graph_bytes(&self) -> u64 {
        let Counts { distinct, generated, .. } = self.counts();
        // An offset, answers, and a number and a place for the search; a target for each edge.
        distinct * (8 + 4 + 8) + generated * 4
    }

    /// The states with their transitions, which must have been kept. `space` is what was searched.
    pub fn graph(self, space: &dyn Space) -> Graph<'_> {
        Graph::new(self, space)
    }
}

/// Searches on with states of `W` words, or from the beginning, until states outgrow their words.
fn run<const W: usize>(
    space: &mut dyn Space,
    former: Option<Outgrown>,
    course: &mut Course<'_>,
) -> Result<Box<dyn Found>, Outgrown> {
    let search = match former {
        None => Search::<W>::begin(space, course.edges),
        Some(outgrown) => outgrown.recode(space),
    };
    match search.run(space, course) {
        Ok(search) => Ok(Box::new(search)),
        Err(search) => Err(Outgrown::from(search)),
    }
}

impl<const W: usize> Found for Search<W> {
    fn counts(&self) -> Counts {
        let (distinct, generated) = (self.distinct(), self.generated);
        Counts { distinct, generated, depth: self.levels.len() }
    }

    fn cut_short(&self) -> Option<Reason> {
        self.cut_short
    }

    fn unfinished(&self) -> Option<Unfinished> {
        let levels = self.levels.len().saturating_sub(1);
        self.cut_short.map(|_| Unfinished { levels, waiting: self.waiting })
    }

    fn leaves_boundary(&self) -> bool {
        self.leaves_boundary
    }

    fn level_of(&self, goal: Goal) -> Option<usize> {
        Search::level_of(self, goal)
    }

    fn paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<usize>>> {
        Search::paths(self, space, goals)
    }

    fn sizes(&self) -> Vec<u32> {
        self.shards.iter().map(|shard| shard.states().len() as u32).collect()
    }

    fn levels(&self) -> Vec<Vec<Range<u32>>> {
        self.levels.iter().map(|level| level.states.clone()).collect()
    }

    fn initial(&self) -> Vec<(usize, u32)> {
        let place = |state| {
            let hash = shard::hash(state);
            let shard = shard::shard_of(hash);
            self.shards[shard].find(state, hash).map(|number| (shard, number))
        };
        self.initial.iter().filter_map(place).collect()
    }

    fn words(&self, shard: usize, number: u32) -> Vec<u64> {
        self.shards[shard].states()[number as usize].to_vec()
    }

    fn step(&self, space: &dyn Space, state: &[u64], position: usize) -> Option<Vec<u64>> {
        let mut next = Vec::new();
        space.expand(state, &mut space.scratch(), &mut next).ok()?;
        next.chunks(W).nth(position).map(<[u64]>::to_vec)
    }

    fn take_rows(&mut self) -> Vec<ShardRows> {
        self.rows.take().unwrap_or_default()
    }
}
