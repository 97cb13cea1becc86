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

mod disk;
pub mod distributed;
mod edges;
mod error;
mod form;
mod graph;
mod level;
mod list;
mod numbered;
pub mod parallel;
mod recode;
mod run;
mod search;
mod shard;
mod table;
mod words;

pub use disk::Disk;
pub use error::{DiskError, SearchError};
pub use graph::Graph;
pub use level::Goal;
pub use search::{Saved, SearchSummary};

use crate::limits::{Limits, Reason};
use crate::progress::{Counts, Event, Phase, Progress, Unfinished};
use crate::space::{ActionId, Space};
use disk::Logged;
use level::level_of;
use numbered::Numbered;
use search::{Saving, SearchContext};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The result of a search: what has been searched, and what was found.
pub struct Exact {
    summary: SearchSummary,
    limits: Limits,
    threads: rayon::ThreadPool,
    /// The states with their numbers, if transitions were kept.
    listed: Option<Numbered>,
    /// The files of the search, if it has ended and they are needed still.
    saved: Option<Saved>,
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
            return self.threads.install(|| listed.paths(space, goals));
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
                Ok((_, listed)) => listed.paths(&*space, goals),
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
