//! What a node of an atomic commit must be told before it can start, and what can be wrong with it.

use std::time::Duration;

use crate::protocol::bully;
use crate::protocol::settings::{Durations, check};
use crate::protocol::{DurationError, Membership, NodeId};

/// The configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Its id, the members, and how long the election waits for what.
    pub election: bully::Config,
    /// Whether it votes to commit.
    pub agrees: bool,
    /// How long the commit waits for what.
    pub timing: Timing,
}

/// How long a node waits for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// How long a coordinator with an empty log waits before it begins the transaction.
    pub begin: Duration,
    /// How long a coordinator waits for answers.
    pub answers: Duration,
    /// How long a participant waits for the word before it asks for it, again and again.
    pub word: Duration,
}

impl Timing {
    /// For machines on one network.
    pub const DEFAULT: Self = Self {
        begin: Duration::from_millis(200),
        answers: Duration::from_millis(400),
        word: Duration::from_millis(1_000),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self, protocol: &'static str) -> Result<(), DurationError> {
        let durations = Durations(protocol);
        let (begin, word) = (("begin", self.begin), ("word", self.word));
        let answers = ("answers", self.answers);
        durations.in_range(&[begin, answers, word])?;
        let why = "the coordinator decides only after it has waited that long";
        check(vec![durations.longer(word, answers, why, self.answers * 2)])
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Membership for Config {
    fn id(&self) -> NodeId {
        self.election.id()
    }

    fn hears(&self, node: NodeId) -> bool {
        self.election.hears(node)
    }
}
