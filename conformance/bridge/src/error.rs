//! Why a comparison cannot be made. (A difference is no error: it is the result.)

use crate::program::Refusal;
use bellwether_core::protocol::NodeId;
use bellwether_engine::check::CertificateError;
use bellwether_engine::check::exact::SearchError;
use bellwether_engine::protocol::MAX_SEARCHED;
use bellwether_engine::trace::TraceError;
use serde::Serialize;
use std::fmt;

/// The reason why a comparison cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line has no mapping for this protocol.
    #[error("there is no mapping for protocol '{name}'; {known}")]
    Protocol {
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant, and those that there are, in words.
        known: String,
    },
    /// The command line has no mapping to the rules of this variant.
    #[error("the program of protocol '{protocol}' does not implement '{name}', but: {known}{why}")]
    NoVariant {
        /// The name of the protocol.
        protocol: String,
        /// The name that was asked for.
        name: String,
        /// The names that there are, in words.
        known: String,
        /// The rules that are others than those of the program, in words with a semicolon in front;
        /// empty if the specification has no such variant.
        why: String,
    },
    /// The program implements another protocol than that of the world.
    #[error("the program implements protocol '{implemented}', not '{asked}'")]
    OtherProtocol {
        /// The protocol of the program.
        implemented: &'static str,
        /// The protocol of the world.
        asked: &'static str,
    },
    /// The program implements other rules than those of the world.
    #[error(
        "the program implements '{implemented}' of protocol '{protocol}', not '{asked}'{why}; \
         record the trace with the rules that the program has, or compare without it"
    )]
    Rules {
        /// The name of the protocol.
        protocol: &'static str,
        /// The rules that the program has.
        implemented: String,
        /// The rules of the world.
        asked: String,
        /// Those that are others than the program's, in words with a semicolon in front.
        why: String,
    },
    /// The mapping does not say how long a timer takes.
    #[error("the mapping gives the timer '{timer}' no period, so no arming of it can be compared")]
    NoPeriod {
        /// The timer of the specification.
        timer: String,
    },
    /// A timer that takes the period of another would not show.
    #[error(
        "the mapping gives '{timer}' the period of '{other}', which has another duration in the \
         specification; configure the program with different ones"
    )]
    SamePeriod {
        /// A timer of the specification.
        timer: String,
        /// The other timer, whose period it has.
        other: String,
    },
    /// The world has more processes than nodes are compared with.
    #[error("{nodes} nodes: programs are compared with worlds of 2 to {MAX_SEARCHED}")]
    TooLarge {
        /// The number of processes in the world.
        nodes: usize,
    },
    /// The world is timed, and its ticks are no times of the program.
    #[error(
        "the world is timed, and the program has clocks of its own, which the comparison sets; \
         compare with --timing perfect or asynchronous, which let timers expire in every order"
    )]
    Timed,
    /// The system gives no thread to search the world, or to run the program, with.
    #[error("cannot search the world: {0}; run fewer programs beside it")]
    Threads(String),
    /// The program refuses to be configured like this.
    #[error("the program refuses the configuration of node {node}: {source}")]
    Configuration {
        /// The node that was to be configured.
        node: NodeId,
        /// The reason that the program gives.
        source: Refusal,
    },
    /// Nothing can happen in the world, so nothing was compared.
    #[error(
        "nothing was compared: no action is possible in this world; \
         allow a fault, such as --crashes 1, or begin with --start cold"
    )]
    NothingCompared,
    /// A log cannot be judged.
    #[error("{0}")]
    Log(Malformed),
    /// There is no log.
    #[error("no log; give one of each node that has written one")]
    NoLogs,
    /// The logs have no step that can be judged.
    #[error("nothing was judged: no log has a step from a start of its node on")]
    NothingJudged,
    /// The trace has no step.
    #[error("nothing was compared: the trace has no steps; record one with at least one")]
    EmptyTrace,
    /// The trace cannot be replayed in the model.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace does not show what it says.
    #[error("{0}; the trace was edited: record it again")]
    Claim(CertificateError),
    /// The trace gives its rules another name than they have.
    #[error(
        "the trace says that it is of variant '{said}', but its rules are those of '{rules}'; \
         it was edited, or the variant was renamed: record it again"
    )]
    Variant {
        /// The name in the trace.
        said: String,
        /// The name of its rules.
        rules: String,
    },
    /// The trace was written by another model.
    #[error(
        "the trace has the fingerprint '{found}', but today's model writes '{today}' for these \
         rules and this world; another version wrote it, or it was edited: record it again"
    )]
    Fingerprint {
        /// The fingerprint in the trace.
        found: String,
        /// The fingerprint that the trace would have if it were written now.
        today: String,
    },
    /// The model alone counts differently: the walk left something out.
    #[error(
        "the walk compared {walked} transitions in {met} states, but the model alone has \
         {transitions} in {states}; this is a mistake in the walk: please report it"
    )]
    Recount {
        /// The number of transitions that the walk compared.
        walked: u64,
        /// The number of the model's states that the walk met.
        met: u64,
        /// The number of transitions that the model alone has.
        transitions: u64,
        /// The number of states that the model alone has.
        states: u64,
    },
}

impl Error {
    /// What is told of rules that the program does not follow; nothing if it follows all of them.
    pub(crate) fn why(name: &str, unlike: Option<&str>) -> String {
        unlike.map(|unlike| format!("; '{name}' has {unlike}")).unwrap_or_default()
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        Error::Threads(error.to_string())
    }
}

impl From<CertificateError> for Error {
    fn from(error: CertificateError) -> Self {
        match error {
            CertificateError::Trace(error) => Error::Trace(error),
            claim @ CertificateError::Claim { .. } => Error::Claim(claim),
        }
    }
}

/// The place in a log that cannot be read, and why: what comes before it is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Malformed {
    /// The name of the log.
    pub log: String,
    /// The number of the line, from 1.
    pub line: u64,
    /// The number of bytes before what is wrong.
    pub byte: u64,
    /// The reason.
    pub why: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Malformed { log, line, byte, why } = self;
        write!(f, "{log}, line {line} (byte {byte}): {why}")
    }
}
