//! What every worker knows of the whole search: the sum of all notes.
//!
//! All workers get the same notes, so all come to the same decisions, and no worker has to lead.

use super::parcel::Note;
use bellwether_engine::check::exact::distributed::Level;
use bellwether_engine::check::exact::{Goal, SearchSummary};
use bellwether_engine::check::{Counts, Event, Phase, Progress, Reason, Unfinished};
use bellwether_engine::space::Answers;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The whole search, as far as it is known at the end of a round.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    levels: Vec<Level>,
    generated: u64,
    held: u64,
    left_bounds: u32,
    leaves_boundary: bool,
    /// What would violate each property, as far as that has not been told.
    violations: Vec<(&'static str, Goal)>,
    /// Whether the search stops at the end of the level of the first violation.
    first: bool,
    told: bool,
    /// Why it ends, though not everything is found. Then one more round is for counting.
    ending: Option<Reason>,
}

/// How far the whole search has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reached {
    pub(super) levels: Vec<Level>,
    generated: u64,
    held: u64,
    leaves_boundary: bool,
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next states of the level are expanded.
    Expand,
    /// What was found is the level, and is expanded.
    Level,
    /// Nothing is expanded, and what was found is counted.
    Count {
        /// Whether what was found is the level.
        level: bool,
    },
    /// Nothing: the search has ended.
    End,
}

impl Whole {
    /// A search that has so many initial states.
    pub(super) fn new(initial: u64, violations: Vec<(&'static str, Goal)>, first: bool) -> Self {
        Whole {
            levels: vec![EMPTY],
            generated: initial,
            held: initial,
            left_bounds: 0,
            leaves_boundary: false,
            violations,
            first,
            told: false,
            ending: None,
        }
    }

    /// A search that goes on from there. The violations that were found by then are told.
    pub(super) fn go_on(
        from: Reached,
        violations: Vec<(&'static str, Goal)>,
        first: bool,
        on_event: &mut dyn FnMut(Event),
    ) -> Self {
        let Reached { levels, generated, held, leaves_boundary } = from;
        let mut whole = Whole::new(held, violations, first);
        (whole.generated, whole.leaves_boundary) = (generated, leaves_boundary);
        whole.levels.clear();
        for level in levels {
            whole.levels.push(level);
            whole.end_level(on_event);
        }
        whole
    }

    /// How many levels are searched to their end.
    pub(super) fn levels(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// From where it can go on.
    pub(super) fn reached(&self) -> Reached {
        let Whole { ref levels, generated, held, leaves_boundary, .. } = *self;
        Reached { levels: levels.clone(), generated, held, leaves_boundary }
    }

    /// Why it ends, or has ended, though not everything is found.
    pub(super) fn ending(&self) -> Option<Reason> {
        self.ending
    }

    /// Adds what all workers have done in a round; what is told and what is done next.
    pub(super) fn add(&mut self, notes: &[Note], on_event: &mut dyn FnMut(Event)) -> Next {
        self.held = notes.iter().map(|note| note.held).sum();
        for note in notes {
            self.generated += note.generated;
            self.left_bounds |= note.left_bounds;
            self.leaves_boundary |= note.outside;
            if let Some(level) = self.levels.last_mut() {
                level.states += note.expanded;
                level.all &= note.all;
                level.any |= note.any;
            }
        }
        let left: u64 = notes.iter().map(|note| note.left).sum();
        if left == 0 && self.levels.last().is_some_and(|level| level.states == 0) {
            // All that was found for it had been found before.
            self.levels.pop();
            self.ending = None;
            return Next::End;
        }
        if self.ending.is_some() {
            self.end_level(on_event);
            return Next::End;
        }
        self.ending = notes.iter().find_map(|note| note.stop);
        let level = left == 0;
        if level {
            self.end_level(on_event);
            self.levels.push(EMPTY);
            let first = self.first && self.told;
            self.ending = self.ending.or(first.then_some(Reason::FirstViolation));
        }
        match (self.ending, level) {
            (Some(_), level) => Next::Count { level },
            (None, true) => Next::Level,
            (None, false) => Next::Expand,
        }
    }

    /// What was searched of the level is the level, and its violations are told.
    fn end_level(&mut self, on_event: &mut dyn FnMut(Event)) {
        let Some((level, before)) = self.levels.split_last() else { return };
        let (steps, told) = (before.len(), &mut self.told);
        self.violations.retain(|&(property, goal)| {
            let reached = goal.reached_in(level);
            if reached {
                *told = true;
                on_event(Event::Violated { property, steps: Some(steps) });
            }
            !reached
        });
    }

    fn expanded(&self) -> u64 {
        self.levels.iter().map(|level| level.states).sum()
    }

    /// How far the search is.
    pub(super) fn progress(&self, elapsed: Duration) -> Progress {
        Progress {
            phase: Phase::States,
            distinct: self.held,
            generated: self.generated,
            levels: Some(self.levels()),
            frontier: Some(self.held.saturating_sub(self.expanded())),
            elapsed,
        }
    }

    /// The bounds that steps have exceeded, one bit each.
    pub(super) fn left_bounds(&self) -> u32 {
        self.left_bounds
    }

    /// What is left of the search when it has ended.
    pub(super) fn summary(&self) -> SearchSummary {
        let depth = self.levels.len();
        let waiting = self.held.saturating_sub(self.expanded());
        let unfinished = Unfinished { levels: depth.saturating_sub(1), waiting };
        SearchSummary {
            counts: Counts { distinct: self.held, generated: self.generated, depth },
            cut_short: self.ending,
            unfinished: self.ending.map(|_| unfinished),
            leaves_boundary: self.leaves_boundary,
            levels: self.levels.clone(),
            trouble: None,
            resumed_after: None,
        }
    }
}

const EMPTY: Level = Level { states: 0, all: Answers::MAX, any: 0 };
