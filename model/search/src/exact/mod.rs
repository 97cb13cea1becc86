//! The exact engine: every reachable state, whole, found by all processors together.
//!
//! A state is a few words, and is kept as it is, not as a fingerprint: what holds in every state
//! that was found holds in every reachable state, if the search was not cut short. The result is
//! the same in every run and with any number of threads.

/// Calls the function for states of so many words: `with_words!(words, function(arguments))`. There
/// is one for a few numbers of words, the next of which is taken.
#[macro_export]
macro_rules! with_words {
    ($words:expr, $function:ident($($argument:expr),*)) => {
        match $words {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3..=4 => $function::<4>($($argument),*),
            _ => $function::<16>($($argument),*),
        }
    };
}

/// As many words as states of so many words take, in what [`with_words`] calls.
fn padded(words: usize) -> usize {
    const fn same<const W: usize>() -> usize {
        W
    }
    with_words!(words, same())
}

mod disk;
mod form;
mod graph;
mod list;
pub mod parallel;
pub mod parts;
mod paths;
mod recode;
mod run;
mod search;
mod table;

pub use disk::{Disk, DiskError};
pub use graph::Graph;
pub use paths::Goal;
pub use run::Saved;

use crate::limits::{Limits, Reason};
use crate::progress::{Counts, Event, Phase, Progress, Unfinished};
use crate::space::{ActionId, Space};
use disk::Logged;
use graph::ShardRows;
use list::List;
use paths::level_of;
use run::Saving;
use search::{Level, Search, SearchContext, Shard};
use serde_json::Value;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The result of a search: what has been searched, and what was found.
pub struct Exact {
    summary: SearchSummary,
    limits: Limits,
    threads: rayon::ThreadPool,
    /// The states with their numbers, if transitions were kept.
    listed: Option<Box<dyn ListSearch>>,
    /// The files of the search, if it has ended and they are needed still.
    saved: Option<Saved>,
}

/// A search in which states have numbers, whatever the number of their words.
trait ListSearch: Send + Sync {
    fn paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<usize>>>;
    fn sizes(&self) -> Vec<u32>;
    fn levels(&self) -> Vec<Vec<Range<u32>>>;
    fn initial(&self) -> Vec<(usize, u32)>;
    fn words(&self, shard: usize, number: u32) -> Vec<u64>;
    fn step(&self, space: &dyn Space, state: &[u64], position: usize) -> Option<Vec<u64>>;
    fn take_rows(&mut self) -> Vec<ShardRows>;
}

/// The options of a search.
pub struct SearchOptions<'a> {
    /// The limits at which the search gives up.
    pub limits: Limits,
    /// Whether the [graph](Exact::graph) is asked for: transitions are kept for it.
    pub edges: bool,
    /// The number of threads that search.
    pub threads: usize,
    /// The properties, each with the state that violates it. At the end of the level in which such
    /// a state is first reached, it is told.
    pub violations: &'a [(&'static str, Goal)],
    /// Whether the search stops at the end of that level.
    pub first: bool,
    /// The disk on which the search is saved, and what is searched, so that it is not taken for
    /// another search.
    pub disk: Option<(&'a Disk, Value)>,
    /// The function that is told of violations, and now and then how far the search is.
    pub on_event: &'a mut (dyn FnMut(Event) + Send),
}

impl Exact {
    /// Searches `space`.
    ///
    /// # Errors
    /// If the system gives no threads, or what is on the disk is no such search.
    ///
    /// # Panics
    /// If a state needs more than 16 words, or there are more than 4 billion states of which
    /// transitions are kept.
    pub fn search(space: &mut dyn Space, options: SearchOptions<'_>) -> Result<Self, SearchError> {
        let SearchOptions { limits, edges, threads, violations, first, disk, on_event } = options;
        let pool = parallel::pool(threads)?;
        let mut context = SearchContext {
            limits,
            levels: None,
            started: Instant::now(),
            violations: violations.to_vec(),
            first,
            told: false,
            observed: None,
            saving: None,
            trouble: None,
            on_event,
        };
        let found = pool.install(|| run::search(space, edges, disk, &mut context));
        let (summary, listed) = found?;
        let saving = context.saving.filter(|_| edges && summary.cut_short.is_none());
        let saved = saving.map(Saving::into_saved);
        Ok(Exact { summary, limits, threads: pool, listed, saved })
    }

    /// Returns a distributed search that has come to its end, of which no
    /// transitions are kept. The threads look for counterexamples.
    pub fn ended(summary: SearchSummary, limits: Limits, threads: rayon::ThreadPool) -> Self {
        Exact { summary, limits, threads, listed: None, saved: None }
    }

    /// Returns the size of the search.
    pub fn counts(&self) -> Counts {
        self.summary.counts
    }

    /// Returns how far the search has come in all, for what is done after it.
    pub fn progress(&self, phase: Phase, elapsed: Duration) -> Progress {
        let Counts { distinct, generated, depth } = self.counts();
        let unfinished = self.unfinished();
        let levels = Some(unfinished.map_or(depth, |unfinished| unfinished.levels));
        let frontier = Some(unfinished.map_or(0, |unfinished| unfinished.waiting));
        Progress { phase, distinct, generated, levels, frontier, elapsed }
    }

    /// Returns why the search ended before everything was reached, if it did.
    pub fn cut_short(&self) -> Option<Reason> {
        self.summary.cut_short
    }

    /// Returns what is wrong with the disk, if the search [ended early](Exact::cut_short) for that.
    pub fn trouble(&self) -> Option<&str> {
        self.summary.trouble.as_deref()
    }

    /// Returns how many levels had been searched to their end when the search went on, if it was
    /// saved before.
    pub fn resumed_after(&self) -> Option<usize> {
        self.summary.resumed_after
    }

    /// Returns how far the search was when it [ended early](Exact::cut_short).
    pub fn unfinished(&self) -> Option<Unfinished> {
        self.summary.unfinished
    }

    /// Returns whether some step leaves the boundary of the search.
    pub fn leaves_boundary(&self) -> bool {
        self.summary.leaves_boundary
    }

    /// Returns whether a state is reached for which the question has this answer.
    pub fn reaches(&self, goal: Goal) -> bool {
        level_of(&self.summary.levels, goal).is_some()
    }

    /// Returns for each goal that is reached the actions of the first shortest path to it. `space`
    /// is what was searched.
    ///
    /// If no transitions were kept, the first levels are searched once more: up to the last in
    /// which a goal is first reached. There is no path if that takes more memory than there may be.
    pub fn paths(&self, space: &mut dyn Space, goals: &[Goal]) -> Vec<Option<Vec<ActionId>>> {
        if let Some(listed) = &self.listed {
            return self.threads.install(|| follow_all(&**listed, space, goals));
        }
        let last = goals.iter().filter_map(|&goal| level_of(&self.summary.levels, goal)).max();
        let levels = last.map_or(0, |last| last + 1);
        let states: u64 = self.summary.levels[..levels].iter().map(|level| level.states).sum();
        if levels == 0 || !self.limits.leaves_room_for(list::bytes(states, space.words())) {
            return vec![None; goals.len()];
        }
        let mut context = SearchContext {
            limits: Limits::NONE,
            levels: Some(levels),
            started: Instant::now(),
            violations: Vec::new(),
            first: false,
            told: false,
            // These levels have been shown.
            observed: Some(usize::MAX),
            saving: None,
            trouble: None,
            on_event: &mut |_| {},
        };
        self.threads.install(|| {
            let mut space = Logged::without_log(space);
            match run::search_lists(&mut space, false, None, &mut context) {
                Ok((_, listed)) => follow_all(&*listed, &space, goals),
                Err(_) => vec![None; goals.len()],
            }
        })
    }

    /// Returns how much memory the [graph](Exact::graph) takes besides what the search has taken,
    /// with what is needed to look for components in it.
    pub fn graph_bytes(&self) -> u64 {
        let Counts { distinct, generated, .. } = self.counts();
        // An offset, answers, and a number and a place for the search; a target for each edge.
        distinct * (8 + 4 + 8) + generated * 4
    }

    /// Returns the states with their transitions, if they were kept. `space` is what was searched.
    pub fn graph(self, space: &dyn Space) -> Option<Graph<'_>> {
        Some(Graph::new(self.listed?, space))
    }

    /// Takes the files of the search, which are there until they are [cleared](Saved::clear), if the
    /// graph was asked for and all states are found.
    pub fn take_saved(&mut self) -> Option<Saved> {
        self.saved.take()
    }
}

/// The reason why there is no search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The system gives no threads; this is its message.
    #[error("{0}")]
    Threads(String),
    /// The files on the disk are not of this search, or the disk refuses.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The processes of a distributed search do not search together.
    #[error(transparent)]
    Apart(Box<dyn std::error::Error + Send + Sync>),
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
    fn of<const W: usize, S: Shard<W>>(search: &Search<W, S>) -> Self {
        let depth = search.levels.len();
        let (levels, waiting) = (depth.saturating_sub(1), search.waiting);
        SearchSummary {
            counts: Counts { distinct: search.distinct(), generated: search.generated, depth },
            cut_short: search.cut_short,
            unfinished: search.cut_short.map(|_| Unfinished { levels, waiting }),
            leaves_boundary: search.leaves_boundary,
            levels: search.levels.clone(),
            trouble: None,
            resumed_after: None,
        }
    }
}

/// The actions of the first shortest path to each goal that is reached.
fn follow_all(
    listed: &dyn ListSearch,
    space: &dyn Space,
    goals: &[Goal],
) -> Vec<Option<Vec<ActionId>>> {
    let paths = listed.paths(space, goals).into_iter();
    paths.map(|path| path.map(|positions| follow(listed, space, &positions))).collect()
}

fn follow(listed: &dyn ListSearch, space: &dyn Space, positions: &[usize]) -> Vec<ActionId> {
    let mut path = Vec::new();
    let initial = listed.initial().first().copied();
    let mut at = initial.map(|(shard, number)| listed.words(shard, number));
    for &position in positions {
        let Some(state) = at else { break };
        path.extend(space.actions(&state).into_iter().nth(position));
        at = listed.step(space, &state, position);
    }
    path
}

impl<const W: usize> ListSearch for Search<W, List<W>> {
    fn paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<usize>>> {
        Search::paths(self, space, goals)
    }

    fn sizes(&self) -> Vec<u32> {
        self.shards.iter().map(|shard| shard.states().len() as u32).collect()
    }

    fn levels(&self) -> Vec<Vec<Range<u32>>> {
        let of = |level| self.shards.iter().map(|shard| shard.level(level)).collect();
        (0..self.levels.len()).map(of).collect()
    }

    fn initial(&self) -> Vec<(usize, u32)> {
        let place = |state| {
            let hash = list::hash(state);
            let shard = list::shard_of(hash);
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
