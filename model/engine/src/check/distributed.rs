//! The place of a search whose workers are in several processes: what it is told, and what it
//! gives back.

use super::exact::{Exact, Goal, SearchError};
use super::{Disk, Event, Limits};
use crate::world::packed::Packed;
use serde_json::Value;

/// A search of whole states by workers that may be in several processes, built of
/// [parts](super::exact::parts).
pub trait Distributed: Send + Sync {
    /// Returns the number of processes that search together.
    fn processes(&self) -> usize;

    /// Searches `space` as planned, and gives it back with what was found. All processes find the
    /// same, and the same as [`Exact::search`].
    ///
    /// # Errors
    /// If there are no threads, if the processes do not search together, or if what is on the disk
    /// is no such search.
    fn search(
        &self,
        space: Box<Packed>,
        plan: Plan<'_>,
    ) -> Result<(Exact, Box<Packed>), SearchError>;
}

/// The plan of a search in several processes.
pub struct Plan<'a> {
    /// The limits at which the search gives up.
    pub limits: Limits,
    /// The number of workers in each process.
    pub workers: usize,
    /// The description of what is searched, so that all search the same, and go on with the same.
    pub of: Value,
    /// The disk on which the search is saved. Each process has a folder in this one.
    pub disk: Option<&'a Disk>,
    /// The properties, each with the state that violates it.
    pub violations: &'a [(&'static str, Goal)],
    /// Whether the search stops at the end of the level of the first violation.
    pub first: bool,
    /// The function that is told of violations, and now and then how far the search is.
    pub on_event: &'a mut (dyn FnMut(Event) + Send),
}
