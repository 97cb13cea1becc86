//! The search of the states of a world, by one process or by many, and the questions that
//! properties ask of each state.

use super::exact::{Exact, Goal, SearchError, SearchOptions};
use super::{CheckError, Disk, Event, Limits, Options};
use crate::property::{Kind, Property, Temporal};
use crate::space::Answers;
use crate::world::Condition;
use crate::world::packed::Packed;
use serde_json::Value;

/// How many questions there may be: a bit each, besides the world's own.
pub(super) const MOST_QUESTIONS: usize = Answers::BITS as usize - 1;

/// A search of whole states by workers that may be in several processes, built of
/// [parts](super::exact::distributed).
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

/// Searches a space, as the options say, and gives it back.
pub(super) fn search(
    mut space: Box<Packed>,
    edges: bool,
    violations: &[(&'static str, Goal)],
    options: &Options,
    by: Option<&dyn Distributed>,
    identity: impl Fn() -> Value,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<(Exact, Box<Packed>), CheckError> {
    let Options { limits, threads, first, .. } = *options;
    let found = if let Some(distributed) = by {
        let (disk, of, workers) = (options.disk.as_ref(), identity(), threads);
        distributed.search(space, Plan { limits, workers, of, disk, violations, first, on_event })
    } else {
        let disk = options.disk.as_ref().map(|disk| (disk, identity()));
        let search_options =
            SearchOptions { limits, edges, threads, violations, first, disk, on_event };
        Exact::search(&mut *space, search_options).map(|exact| (exact, space))
    };
    found.map_err(|error| CheckError::of(threads, error))
}

/// A property whose conditions are questions, known by their bits in the answers.
pub(super) struct PropertyQuery<'p> {
    pub(super) property: &'p Property,
    pub(super) temporal: Temporal<u32>,
    pub(super) premise: Option<u32>,
}

impl<'p> PropertyQuery<'p> {
    pub(super) fn new(property: &'p Property, questions: &mut Vec<Condition>) -> Self {
        let mut ask = |condition: Condition| {
            // Many properties have one premise.
            let known = questions.iter().position(|question| question.is(&condition));
            let at = known.unwrap_or_else(|| {
                questions.push(condition);
                questions.len() - 1
            });
            // Bit 0 is the world's own.
            at as u32 + 1
        };
        let premise = property.premise.clone().map(|(_, premise)| ask(premise));
        PropertyQuery { property, temporal: property.temporal.clone().map(ask), premise }
    }

    /// The state to look for: a violation, or for reachability an example.
    pub(super) fn goal(&self) -> Option<Goal> {
        match self.temporal {
            Temporal::Always(question) => Some(Goal { question, answer: false }),
            Temporal::Reachable(question) => Some(Goal { question, answer: true }),
            Temporal::Liveness(_) => None,
        }
    }

    /// The state that violates it, if one does.
    pub(super) fn violation(&self) -> Option<(&'static str, Goal)> {
        let safety = self.property.kind() == Kind::Safety;
        Some((self.property.name, self.goal()?)).filter(|_| safety)
    }
}
