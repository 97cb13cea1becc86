//! How far a search is while it goes on, and how large it was.

use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The events of a search that its caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The search has come this far.
    Progress(Progress),
    /// A property is violated. Each is told once. The exact engine tells safety in the order of
    /// the levels in which the violations were found, so shorter ones come first.
    Violated {
        /// The name of the property.
        property: &'static str,
        /// The number of steps of the property's shortest counterexample, those of a cycle left
        /// out; `None` if no execution shows it, or the engine does not know them yet.
        steps: Option<usize>,
    },
    /// Something grows from level to level, so that the search may have no end.
    Grows {
        /// What grows, and what to do about it, in words.
        what: &'static str,
    },
}

/// The progress of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The phase: what is done at present.
    pub phase: Phase,
    /// The number of distinct states reached.
    pub distinct: u64,
    /// The number of states generated, repeats included.
    pub generated: u64,
    /// The number of breadth-first levels that are searched to their end, where the engine tells.
    pub levels: Option<usize>,
    /// The number of states reached and not yet expanded, where the engine tells.
    pub frontier: Option<u64>,
    /// The time since the search began.
    pub elapsed: Duration,
}

/// The phases of a search, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The other processes of the search are waited for.
    Meeting,
    /// The reachable states are searched.
    States,
    /// The reachable states are searched from the beginning once more, for this reason.
    Again(&'static str),
    /// Shortest ways to the violations are looked for.
    Counterexamples,
    /// An execution that violates the liveness property of this name is looked for.
    Liveness(&'static str),
    /// What executions cost at most is computed.
    Bounds,
    /// Executions that take every transition are looked for.
    Executions,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Meeting => f.write_str("waiting for the other processes"),
            Phase::States => f.write_str("states"),
            Phase::Again(why) => write!(f, "states once more, {why}"),
            Phase::Counterexamples => f.write_str("counterexamples"),
            Phase::Liveness(property) => write!(f, "liveness of {property}"),
            Phase::Bounds => f.write_str("bounds"),
            Phase::Executions => f.write_str("executions"),
        }
    }
}

/// The size of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The number of distinct reachable states; for random walks, about how many they met.
    pub distinct: u64,
    /// The number of initial states and enabled action instances.
    pub generated: u64,
    /// The number of breadth-first levels; for the other searches, the longest path taken.
    pub depth: usize,
}

/// The progress of a search of the states when it ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// The number of breadth-first levels that were searched to their end. No violation is shorter,
    /// besides those that were found.
    pub levels: usize,
    /// The number of states that were found and not expanded.
    pub waiting: u64,
}
