//! Why a command could not do what it was asked.

use bellwether_engine::expression::ExpressionError;
use bellwether_engine::machine::UnknownProtocol;
use bellwether_engine::property::PropertyError;
use bellwether_engine::protocol::RuleError;
use bellwether_engine::world::WorldError;

/// The error that what was asked for cannot be.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The rules cannot be had.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The scenario is not possible.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A rule is given two values.
    #[error("--rule {rule}=... is given twice, and only one value can hold; leave one of them out")]
    RuleTwice {
        /// The name of the rule.
        rule: String,
    },
    /// A flag changes nothing: who gives it expects otherwise.
    #[error("{flag} has no effect: {why}")]
    NoEffect {
        /// The flag that was given.
        flag: String,
        /// The reason why it changes nothing, and what to do.
        why: String,
    },
    /// A flag of timed worlds is given where there are none.
    #[error("--{flag}: {why}")]
    NoClock {
        /// The flag that was given.
        flag: String,
        /// The reason why there are none, and what to do.
        why: String,
    },
    /// The properties cannot be asked.
    #[error(transparent)]
    Property(#[from] PropertyError),
    /// The expression that is to be shown has no meaning.
    #[error("--show: {0}")]
    Show(ExpressionError),
    /// The protocol is not known.
    #[error(transparent)]
    Protocol(#[from] UnknownProtocol),
}

impl UsageError {
    /// Returns the error of a flag that changes nothing: why, and what to do.
    pub fn no_effect(flag: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NoEffect { flag: flag.into(), why: why.into() }
    }
}
