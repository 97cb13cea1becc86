//! What a node of the invitation algorithm must be told before it can start.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::DurationError;
use crate::protocol::settings::{Durations, Relation, check};

/// The configuration of one node.
pub type Config = crate::protocol::Config<Timing>;

/// The state that must survive a crash: a group number that was used must not be used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The number of groups that the node has formed.
    pub groups: u64,
}

/// The durations of a node's waits. `Tm` is the largest delay of a message, `Tp` the largest time
/// that a node needs to answer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The interval at which a coordinator looks for others.
    pub check: Duration,
    /// The time to wait for the answer to a question: more than `2·Tm + Tp`.
    pub answer: Duration,
    /// The time to wait for acceptances: more than `3·Tm + 2·Tp`, for an invitation may be passed
    /// on once.
    pub accept: Duration,
    /// The time for which to leave a higher coordinator the initiative, for each rank between. More
    /// than `Tm`, or two may go on inviting each other. With less than `accept + check + answer +
    /// 3·Tm` a lower one may merge first, which costs a merge more.
    pub delay: Duration,
    /// The time for which a member hears nothing of its coordinator before it asks.
    pub silence: Duration,
}

impl Timing {
    /// The durations for machines on one network.
    pub const DEFAULT: Self = Self {
        check: Duration::from_secs(1),
        answer: Duration::from_millis(300),
        accept: Duration::from_millis(450),
        delay: Duration::from_millis(400),
        silence: Duration::from_millis(500),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        let durations = Durations("invitation");
        let others = [("check", self.check), ("delay", self.delay), ("silence", self.silence)];
        durations.in_range(&[("answer", self.answer), ("accept", self.accept)])?;
        durations.in_range(&others)?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let (answer, accept) = (("answer", self.answer), ("accept", self.accept));
        let why = "an invitation is passed on once before it is accepted";
        vec![Durations("invitation").longer(accept, answer, why, self.answer * 3 / 2)]
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}
