//! What a node of the bully must be told before it can start, and what can be wrong with it.

use std::time::Duration;

use crate::protocol::DurationError;
use crate::protocol::settings::{Durations, Relation, check};

/// The configuration of one node.
pub type Config = crate::protocol::Config<Timing>;

/// The durations of a node's waits.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs to answer one,
/// `election` must exceed `2·Tm + Tp`, or a node gives up on peers that are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The duration `T_elec`: how long a candidate waits for a higher node to answer.
    pub election: Duration,
    /// The duration `T_coord`: how long a node that was answered waits for the winner to announce
    /// itself.
    pub coordinator: Duration,
    /// The time for which a follower hears nothing of its leader before it starts an election.
    pub watch: Duration,
    /// The interval at which a leader repeats its claim.
    pub heartbeat: Duration,
}

impl Timing {
    /// The durations for machines on one network: a dead leader is replaced within about a second.
    pub const DEFAULT: Self = Self {
        election: Duration::from_millis(300),
        coordinator: Duration::from_millis(900),
        watch: Duration::from_millis(500),
        heartbeat: Duration::from_millis(100),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        Durations("bully").in_range(&self.named())?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let ([election, coordinator, watch, heartbeat], durations) =
            (self.named(), Durations("bully"));
        let why = "the winner waits that long before it announces itself";
        vec![
            durations.longer(coordinator, election, why, self.election * 3),
            durations.repeated(heartbeat, watch, "one lost heartbeat would start an election"),
        ]
    }

    fn named(&self) -> [(&'static str, Duration); 4] {
        let Self { election, coordinator, watch, heartbeat } = *self;
        [
            ("election", election),
            ("coordinator", coordinator),
            ("watch", watch),
            ("heartbeat", heartbeat),
        ]
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}
