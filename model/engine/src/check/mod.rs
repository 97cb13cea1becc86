//! How a verdict is reached.
//!
//! Safety is decided by exhausting the reachable states ([`exact`]), liveness on the graph of their
//! transitions under [weak or strong fairness](liveness), and so is what executions cost at most,
//! their [bounds]. Stateright's own searches serve as the reference: they must count the
//! same states. They are there with the feature `stateright`, which is on unless it is left out.

pub mod bounds;
pub mod liveness;

mod caveat;
mod certificate;
mod decide;
mod error;
#[cfg(feature = "stateright")]
pub mod model;
#[cfg_attr(not(feature = "stateright"), path = "no_reference.rs")]
mod reference;
mod report;
mod search;
mod several;
mod simulation;

pub use crate::world::packed::{Growing, Growth};
pub use bellwether_search::cover;
pub use bellwether_search::exact::{self, Disk, DiskError};
pub use bellwether_search::rows;
pub use bellwether_search::{
    Cancel, Counts, Event, Limits, Phase, Progress, Reason, Unfinished, Watch, peak_rss_bytes,
    usable_bytes,
};
pub use caveat::{AppliedCaveat, Caveat};
pub use certificate::{CertificateError, Certified, certify};
pub use decide::{check, decide_distributed};
pub use error::CheckError;
pub use report::{
    Counterexample, Counterexamples, Decision, DistinctCounterexample, Report, Simulation, Verdict,
    holds_within,
};
pub use search::{Distributed, Plan};

use serde::{Deserialize, Serialize};
use std::fmt;

/// The engine that searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The exact engine: our own breadth-first search over whole states; what holds is proved for
    /// the world.
    #[default]
    Exact,
    /// The engine dataflow: the same search, with the states parted among the workers of any number
    /// of processes, by the package `bellwether-dataflow`. Liveness is not decided there.
    Dataflow,
    /// Stateright's breadth-first search over 64-bit fingerprints.
    Bfs,
    /// Stateright's depth-first search over 64-bit fingerprints.
    Dfs,
    /// A swarm of [random walks](crate::world::swarm): they find violations and prove nothing.
    Simulation,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Exact => "exact",
            Engine::Dataflow => "dataflow",
            Engine::Bfs => "bfs",
            Engine::Dfs => "dfs",
            Engine::Simulation => "simulation",
        })
    }
}

/// The options of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The engine that searches.
    pub engine: Engine,
    /// The number of threads; the engines exact and dataflow find the same with any number.
    pub threads: usize,
    /// The limits at which the search gives up.
    pub limits: Limits,
    /// Whether to stop at the first violation: at the end of the level in which it is found, so
    /// that it is a shortest one, and the same as without.
    pub first: bool,
    /// The seed of the random walks.
    pub seed: u64,
    /// The largest number of steps that a random walk takes.
    pub depth: usize,
    /// The disk on which the exact engine and the engine dataflow save a search.
    pub disk: Option<Disk>,
    /// How many [different counterexamples](Counterexamples) to each property are looked for at
    /// most, by the exact engine in memory; if not said, any shortest one is enough.
    pub all: Option<usize>,
}

/// The largest number of steps that a random walk takes if none is given.
pub const DEPTH: usize = 1_000;

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: Engine::Exact,
            threads: 1,
            limits: Limits::NONE,
            first: false,
            seed: 1,
            depth: DEPTH,
            disk: None,
            all: None,
        }
    }
}
