//! What is wrong with what was asked for.

use crate::machine::UnknownProtocol;
use crate::property::PropertyError;
use crate::protocol::RuleError;
use crate::world::WorldError;

/// What was asked for cannot be.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The rules.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The scenario.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A rule with two values.
    #[error("--rule {rule}=... is given twice, and only one value can hold; leave one of them out")]
    RuleTwice {
        /// The rule.
        rule: String,
    },
    /// A flag that changes nothing: who gives it expects otherwise.
    #[error("{flag} has no effect: {why}")]
    NoEffect {
        /// The flag.
        flag: String,
        /// Why, and what to do.
        why: String,
    },
    /// A flag of timed worlds where there are none.
    #[error("--{flag}: {why}")]
    NoClock {
        /// The flag.
        flag: String,
        /// Why, and what to do.
        why: String,
    },
    /// The properties.
    #[error(transparent)]
    Property(#[from] PropertyError),
    /// The protocol.
    #[error(transparent)]
    Protocol(#[from] UnknownProtocol),
}

impl UsageError {
    /// A flag that changes nothing: why, and what to do.
    pub fn no_effect(flag: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NoEffect { flag: flag.into(), why: why.into() }
    }
}
