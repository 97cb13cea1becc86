//! Why a check gives no report.

use super::exact::{DiskError, SearchError};
use super::{Counts, Engine};
use crate::world::WorldError;

/// The reason why a check gives no report.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// Nothing is asked: a run that checks nothing is an error.
    #[error("no property was asked for, so nothing would be checked")]
    NothingAsked,
    /// The world is too large to be searched.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The engine dataflow is not among those of the engine.
    #[error(
        "the engine dataflow is a program of its own; use 'cargo run --release -p \
         bellwether-dataflow -- check', with the same flags but for --engine"
    )]
    NoDataflow,
    /// The program has no engine of stateright: the feature `stateright` of this package was left
    /// out.
    #[error(
        "this program was built without the engine {engine}; use --engine exact, or build it with \
         the feature 'stateright' of bellwether-tool"
    )]
    NoStateright {
        /// The engine that was asked for.
        engine: Engine,
    },
    /// Only liveness is asked: a [distributed](super::decide_distributed) search would search all
    /// states and decide nothing.
    #[error(
        "a dataflow does not decide liveness, and nothing else is asked; use bellwether-model for \
         it, or ask for other properties too"
    )]
    OnlyLiveness,
    /// Several counterexamples are asked for, and the engine looks for one.
    #[error(
        "only --engine exact looks for several counterexamples, and in memory; leave --all out"
    )]
    OnlyExactFindsSeveral,
    /// So much is asked that the answers have no place beside each state.
    #[error(
        "the properties ask {asked} questions of each state, and there is room for {most}; ask for \
         some of them, and then for the others"
    )]
    TooMuchAsked {
        /// The number of questions.
        asked: usize,
        /// The largest number that there can be.
        most: usize,
    },
    /// The system gives no threads.
    #[error("cannot search with {threads} threads: {error}; try fewer with --threads")]
    Threads {
        /// The number of threads that was asked for.
        threads: usize,
        /// The message of the system.
        error: String,
    },
    /// The files on the disk are not of this search, or the disk refuses.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The processes of a [distributed](super::decide_distributed) search do not search together.
    #[error(transparent)]
    Apart(Box<dyn std::error::Error + Send + Sync>),
    /// Two searches of one world must reach the same states.
    #[error(
        "the engines disagree: exact counts {}/{} states (distinct/generated), {engine} {}/{}; \
         this is a bug in one of them, please report it with this command line",
        .exact.distinct, .exact.generated, .reference.distinct, .reference.generated
    )]
    Disagreement {
        /// The engine that disagrees with the exact one.
        engine: Engine,
        /// The counts of the exact engine.
        exact: Counts,
        /// The counts of the other engine.
        reference: Counts,
    },
}

impl CheckError {
    pub(super) fn of(threads: usize, error: SearchError) -> Self {
        match error {
            SearchError::Threads(error) => CheckError::Threads { threads, error },
            SearchError::Disk(error) => CheckError::Disk(error),
            SearchError::Apart(error) => CheckError::Apart(error),
        }
    }
}
