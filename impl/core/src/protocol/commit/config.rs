//! What a node of an atomic commit must be told before it can start, and what can be wrong with it.

use std::time::Duration;

use crate::protocol::bully;
use crate::protocol::settings::{Durations, check};
use crate::protocol::{DurationError, Membership, NodeId};

/// The configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The node's id, the members, and how long the election waits for what.
    pub election: bully::Config,
    /// Whether the node votes to commit.
    pub agrees: bool,
    /// The durations of the commit's waits.
    pub timing: Timing,
}

/// The durations of a node's waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The time that a coordinator with an empty log waits before it begins the transaction.
    pub begin: Duration,
    /// The time that a coordinator waits for answers.
    pub answers: Duration,
    /// The time that a participant waits for the word before it asks for it, again and again.
    pub word: Duration,
}

impl Timing {
    /// The durations for machines on one network.
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
