//! The rules in which the variants of the ring with lists differ, as data.

use crate::ring::{Accept, Order, Orphans, Restart, Watch};
use bellwether_engine::protocol::RuleDocs;
use serde::{Deserialize, Serialize};

/// The rules in which the variants of the ring with lists differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct ListRing {
    /// The order of the processes in the ring.
    pub order: Order,
    /// What goes round is acknowledged; if no ACK comes in time, the next in the ring gets it.
    pub skip: bool,
    /// What becomes of a message whose originator has failed.
    pub orphans: Orphans,
    /// A process whose list has not completed the ring within `T_lap` starts a new election.
    pub t_lap: bool,
    /// How it is known that a list has completed the ring.
    pub home: Home,
    /// Which process decides when a list has completed the ring.
    pub decides: Decides,
    /// Whose announcement is accepted.
    pub accept: Accept,
    /// What a process does when it recovers.
    pub restart: Restart,
    /// How a follower watches its leader.
    pub watch: Watch,
}

/// How it is known that a list has completed the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Home {
    /// It begins with one's own id.
    First,
    /// One's own id is in it.
    Listed,
}

/// Which process decides when a list has completed the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Decides {
    /// Any process that the list has reached again.
    Any,
    /// Only one that is still a candidate: it has heard of no leader since.
    Candidate,
}
