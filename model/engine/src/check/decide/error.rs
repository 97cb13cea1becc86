//! Why a check gives no report.

use crate::check::exact::{DiskError, SearchError};
use crate::check::{Counts, Engine};
use crate::world::{NotReduced, WorldError};

/// Why a check gives no report.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A run that checks nothing is an error.
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
    /// A [distributed](super::decide_distributed) search would search all states and decide
    /// nothing.
    #[error(
        "a dataflow does not decide liveness, and nothing else is asked; use bellwether-model for \
         it, or ask for other properties too"
    )]
    OnlyLiveness,
    /// Some messages would be left out, and the engine cannot do without them.
    #[error("only --engine exact leaves messages out, and not with --disk; leave --reduce out")]
    OnlyExactReduces,
    /// The reduction says why.
    #[error("--reduce: {0}")]
    NotReduced(NotReduced),
    /// All states would be searched and nothing decided.
    #[error(
        "without dead messages neither liveness is decided nor what only this protocol is asked, \
         and nothing else is asked; leave --reduce out, or ask for other properties too"
    )]
    NothingReduced,
    /// The system gives no threads.
    #[error("cannot search with {threads} threads: {error}; try fewer with --threads")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system says.
        error: String,
    },
    /// What is on the disk is no such search, or the disk refuses.
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
        /// The other engine.
        engine: Engine,
        /// What the exact engine counts.
        exact: Counts,
        /// What the other counts.
        reference: Counts,
    },
}

/// What is said already is no further cause.
impl From<NotReduced> for CheckError {
    fn from(why: NotReduced) -> Self {
        CheckError::NotReduced(why)
    }
}

impl CheckError {
    pub(in crate::check) fn of(threads: usize, error: SearchError) -> Self {
        match error {
            SearchError::Threads(error) => CheckError::Threads { threads, error },
            SearchError::Disk(error) => CheckError::Disk(error),
            SearchError::Apart(error) => CheckError::Apart(error),
        }
    }
}
