//! The search as a dataflow: the states are parted among workers, each of which owns those that a
//! hash gives to it, whatever process it belongs to.
//!
//! All processes come to know the same parts of states in the same order, because what one does not
//! know is learned by all at the end of a round. So a state has the same words everywhere, and
//! nothing is translated.

mod flow;
mod note;
mod parcel;
mod part;
mod whole;

use super::pager::Paged;
use super::{Exact, Goal, SearchError};
use crate::check::{Event, Limits};
use crate::erased::AnySpace;
use flow::{Said, Shared};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use timely::{CommunicationConfig, WorkerConfig};
use whole::Whole;

/// How to search as a dataflow.
pub struct Plan<'a> {
    /// When to give up.
    pub limits: Limits,
    /// With how many workers.
    pub workers: usize,
    /// Properties, each with the state that violates it.
    pub violations: &'a [(&'static str, Goal)],
    /// Whether the search stops at the end of the level of the first violation.
    pub first: bool,
    /// Told of violations, and now and then how far the search is.
    pub look: &'a mut (dyn FnMut(Event) + Send),
}

impl Exact {
    /// Searches `space` as a dataflow, and gives it back.
    ///
    /// # Errors
    /// If the system gives no threads.
    ///
    /// # Panics
    /// As [`Exact::search`].
    pub fn dataflow(
        mut space: Box<dyn AnySpace>,
        plan: Plan<'_>,
    ) -> Result<(Self, Box<dyn AnySpace>), SearchError> {
        let Plan { limits, workers, violations, first, look } = plan;
        let threads = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
        let threads = threads.map_err(|error| SearchError::Threads(error.to_string()))?;
        space.lay_out(Paged::<1>::room_for(0, space.least_bits()));
        let initial = space.initial(space.words()).len() / space.words();
        let whole = Whole::new(initial as u64, violations.to_vec(), first);
        let (says, said) = mpsc::channel();
        let shared = Arc::new(Shared::new(space, (limits, Instant::now()), whole, 0, says));
        let config = match workers {
            1 => CommunicationConfig::Thread,
            workers => CommunicationConfig::Process(workers),
        };
        let (builders, others) = config.try_build().map_err(SearchError::Threads)?;
        let of_workers = Arc::clone(&shared);
        let guards = timely::execute::execute_from(
            builders,
            others,
            WorkerConfig::default(),
            move |worker| flow::build(worker, &of_workers),
        );
        let guards = guards.map_err(SearchError::Threads)?;
        let sum = loop {
            match said.recv_timeout(LOOK) {
                Ok(Said::Event(event)) => look(event),
                Ok(Said::End(sum)) => break *sum,
                Err(_) if guards.guards().iter().any(JoinHandle::is_finished) => {
                    // The others wait for it for ever.
                    std::mem::forget(guards);
                    panic!("a worker of the search has panicked");
                }
                Err(_) => {}
            }
        };
        guards.join();
        let shared = Arc::into_inner(shared).expect("no worker is left");
        Ok((Exact { sum, limits, threads, listed: None }, shared.into_space()))
    }
}

/// How often it is seen whether all workers are there, if they say nothing.
const LOOK: Duration = Duration::from_millis(500);
