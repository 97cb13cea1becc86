//! What a node of the bully must be told before it can start, and what can be wrong with it.

use std::time::Duration;

use crate::protocol::DurationError;
use crate::protocol::settings::Durations;

/// The configuration of one node.
pub type Config = crate::protocol::Config<Timing>;

/// How long a node waits for what.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs to answer one,
/// `election` must exceed `2·Tm + Tp`, or a node gives up on peers that are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// `T_elec`: how long a candidate waits for a higher node to answer.
    pub election: Duration,
    /// `T_coord`: how long a node that was answered waits for the winner to announce itself.
    pub coordinator: Duration,
    /// How long a follower hears nothing of its leader before it starts an election.
    pub watch: Duration,
    /// How often a leader repeats its claim.
    pub heartbeat: Duration,
}

impl Timing {
    /// For machines on one network: a dead leader is replaced within about a second.
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
        let durations = Durations("bully");
        let election = ("election", self.election);
        let coordinator = ("coordinator", self.coordinator);
        let (watch, heartbeat) = (("watch", self.watch), ("heartbeat", self.heartbeat));
        durations.in_range(&[election, coordinator, watch, heartbeat])?;
        let why = "the winner waits that long before it announces itself";
        durations.longer(coordinator, election, why, self.election * 3)?;
        durations.repeated(heartbeat, watch, "one lost heartbeat would start an election")
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}
