//! The rules in which the variants of the ring of Chang and Roberts differ, as data.

use crate::ring::{Accept, Order, Orphans, Restart, Watch};
use bellwether_engine::protocol::RuleDocs;
use serde::{Deserialize, Serialize};

/// The rules in which the variants of the ring of Chang and Roberts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct ChangRoberts {
    /// The order of the processes in the ring.
    pub order: Order,
    /// What goes round is acknowledged; if no ACK comes in time, the next in the ring gets it.
    pub skip: bool,
    /// What becomes of a message whose originator has failed.
    pub orphans: Orphans,
    /// A process in an election that has not ended within `T_lap` starts a new one.
    pub t_lap: bool,
    /// Which process leads when its id has completed the ring.
    pub home: Home,
    /// Whose announcement is accepted.
    pub accept: Accept,
    /// What a process does when it recovers.
    pub restart: Restart,
    /// How a follower watches its leader.
    pub watch: Watch,
}

/// Which process leads when its id has completed the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Home {
    /// Any process that gets its own id.
    Any,
    /// Only one that is still a candidate: it has heard of no higher id and of no leader since.
    Candidate,
}
