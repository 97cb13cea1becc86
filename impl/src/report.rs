//! How a node is, as data: what it answers to a question on its port, and what others show of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::Address;
use crate::protocol::{ClusterId, Epoch, NodeId, Role};

/// How a node is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StatusReport {
    /// The cluster it belongs to.
    pub cluster: ClusterId,
    /// The protocol it runs.
    pub protocol: String,
    /// Its id.
    pub node: NodeId,
    /// Which run of the node this is: the time of its start, in nanoseconds since 1970. `None` if
    /// the node does not tell, as it cannot know who asks.
    pub incarnation: Option<u64>,
    /// The number of its list of members.
    pub config_epoch: u64,
    /// Whether it only observes: it follows the leader, and neither votes nor leads.
    pub observes: bool,
    /// What it is doing.
    pub role: Role,
    /// Which node it takes for the leader.
    pub leader: Option<NodeId>,
    /// The epoch of that leader, if the protocol has epochs.
    pub epoch: Option<Epoch>,
    /// Milliseconds until its own lease is over if it is not renewed, if it leads with a lease.
    pub lease_ms: Option<u64>,
    /// Why its role or leader changed last.
    pub reason: Option<String>,
    /// How many times its role or leader has changed.
    pub seq: u64,
    /// Milliseconds since it started.
    pub uptime_ms: u64,
    /// Milliseconds since its role or leader changed last.
    pub in_role_ms: u64,
    /// What is wrong with it as a whole: it leads, and no other member listens to it.
    pub problem: Option<String>,
    /// The other members.
    pub members: Vec<MemberReport>,
    /// What has gone wrong so far.
    pub counters: Counters,
}

/// Another member, as a node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemberReport {
    /// Its id.
    pub node: NodeId,
    /// Where it should be.
    pub address: Address,
    /// Whether it only observes.
    pub observes: bool,
    /// How the connection to it is.
    pub link: Link,
    /// Why there is no connection.
    pub problem: Option<String>,
    /// Messages handed to the network for it.
    pub sent: u64,
    /// Messages received from it.
    pub received: u64,
    /// Messages for it that were dropped, because they were too many or too old.
    pub dropped: u64,
}

/// How the connection to another member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Link {
    /// There is one.
    Connected,
    /// There is none; the member is called again and again.
    Connecting,
    /// The member answers, but the two must not talk: the configuration must be corrected.
    Refused,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Refused => "refused",
        })
    }
}

/// What has gone wrong since the node started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counters {
    /// Handshakes that this node refused.
    pub refused_handshakes: u64,
    /// Frames that made no sense.
    pub bad_frames: u64,
    /// Well-formed messages that the protocol ignored: late, or sent by a node that is wrong.
    pub ignored_messages: u64,
    /// Lines of the log that were dropped, because they were too many or could not be written; 0
    /// for a program that does not [count](crate::log::Lines::count_in_status) them.
    pub dropped_log_lines: u64,
}
