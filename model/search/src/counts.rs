//! How large a search was, and how far it came.

use serde::Serialize;

/// The size of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
