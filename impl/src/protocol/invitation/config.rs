//! What a node of the invitation algorithm must be told before it can start.

use std::time::Duration;

use crate::protocol::{ConfigError, Members, NodeId};

/// The configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The node itself; one of the members.
    pub id: NodeId,
    /// Everybody who takes part, the node itself included. The same on every node.
    pub members: Members,
    /// How long the node waits for what. Best the same on every node.
    pub timing: Timing,
    /// What it made durable last; nothing at the first start.
    pub durable: Durable,
}

/// What must survive a crash: a group number that was used must not be used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Durable {
    /// How many groups the node has formed.
    pub groups: u64,
}

/// How long a node waits for what. `Tm` is the largest delay of a message, `Tp` the largest time
/// that a node needs to answer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// How often a coordinator looks for others.
    pub check: Duration,
    /// How long to wait for the answer to a question: more than `2·Tm + Tp`.
    pub answer: Duration,
    /// How long to wait for acceptances: more than `3·Tm + 2·Tp`, for an invitation may be passed
    /// on once.
    pub accept: Duration,
    /// How long to leave a higher coordinator the initiative, for each rank between. More than
    /// `Tm`, or two may go on inviting each other. With less than `accept + check + answer + 3·Tm` a
    /// lower one may merge first, which costs a merge more.
    pub delay: Duration,
    /// How long a member bears its coordinator's silence before it asks.
    pub silence: Duration,
}

impl Timing {
    /// For machines on one network.
    pub const DEFAULT: Self = Self {
        check: Duration::from_secs(1),
        answer: Duration::from_millis(300),
        accept: Duration::from_millis(450),
        delay: Duration::from_millis(400),
        silence: Duration::from_millis(500),
    };

    /// The longest that any of the five may be: a day. A longer one is a slip of the keyboard.
    pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { check, answer, accept, delay, silence } = *self;
        let named = [
            ("check", check),
            ("answer", answer),
            ("accept", accept),
            ("delay", delay),
            ("silence", silence),
        ];
        for (name, value) in named {
            if value.is_zero() || value > Self::MAX {
                return Err(ConfigError::OutOfRange { name, value });
            }
        }
        if accept <= answer {
            return Err(ConfigError::AcceptTooShort { accept, answer });
        }
        Ok(())
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}
