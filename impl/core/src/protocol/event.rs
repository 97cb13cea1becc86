//! What a node tells people and programs: roles, and why they change.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::NodeId;

/// The role of a node: what it is doing. The roles of all protocols; a protocol uses those that it
/// has.
///
/// There are no others: a comparison of a node with its specification names each of them, so one
/// more is a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The node has not booted, and takes no part.
    NotStarted,
    /// The node follows a leader; on a ring also one that has just started and listens for a
    /// leader.
    Follower,
    /// The node has started an election and waits for the answer of any node with a better claim.
    Candidate,
    /// The node has given way in an election and waits for the winner to announce itself.
    Waiting,
    /// The node leads.
    Leader,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotStarted => "not_started",
            Self::Follower => "follower",
            Self::Candidate => "candidate",
            Self::Waiting => "waiting",
            Self::Leader => "leader",
        })
    }
}

/// The reason why a role changed, or why a message was ignored: a name for programs, and a text for
/// people. Each core has its own; those that many cores share are here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reason {
    name: &'static str,
    text: &'static str,
}

impl Reason {
    /// The node started.
    pub const BOOTED: Self = Self::new("booted", "the node started");
    /// The leader was silent for longer than a time-out.
    pub const LEADER_SILENT: Self =
        Self::new("leader_silent", "the leader was silent for too long");
    /// An election came to no end within a time-out.
    pub const NO_WINNER: Self = Self::new("no_winner", "no winner announced itself in time");
    /// A higher node claims to lead.
    pub const CLAIMED: Self = Self::new("claimed", "a higher node claims to lead");
    /// The message is one that no correct node with the sender's id sends to this node.
    pub const WRONG_DIRECTION: Self =
        Self::new("wrong_direction", "no correct node with that id sends this to this node");
    /// The sender of the message is not one of the configured members.
    pub const UNKNOWN_SENDER: Self =
        Self::new("unknown_sender", "the sender is not a configured member");
    /// The sender of the message has this node's own id.
    pub const OWN_ID: Self = Self::new("own_id", "the sender has this node's own id");

    /// The process or its machine stood still while it led, for longer than the others wait.
    pub const PAUSED: Self =
        Self::new("paused", "the process stood still for longer than the others wait");
    /// The node has come to lead, and its program prepares itself for that.
    pub const PREPARING: Self = Self::new("preparing", "it leads once its program is prepared");
    /// A leader that was paused leads still.
    pub const RESUMED: Self = Self::new("resumed", "it leads still, after a pause");
    /// The machine of the node is not fit to lead, as its program says.
    pub const UNFIT: Self = Self::new("unfit", "its machine is not fit to lead");
    /// The node led, and its storage did not answer for as long as a leader may be silent, or
    /// failed.
    pub const STORAGE_STALLED: Self =
        Self::new("storage_stalled", "its storage does not answer, or fails");
    /// Another node led at the same time as this one.
    pub const RIVAL_HEARD: Self =
        Self::new("rival_heard", "another node led at the same time as this one");
    /// The leader is the same, and leads another epoch.
    pub const NEXT_EPOCH: Self = Self::new("next_epoch", "the leader leads another epoch");
    /// The node has stopped taking part.
    pub const LEFT: Self = Self::new("left", "the node takes part no longer");

    /// Returns a reason with this name, in snake case, and this text, a clause without a full stop.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text }
    }

    /// Returns the name of the reason.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// The text.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text)
    }
}

/// The name.
impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// The name.
impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// An event that is worth knowing. Events inform; nothing in the protocol depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The role or the leader changed: exactly one event for each change.
    RoleChanged {
        /// The role before.
        from: Role,
        /// The role now.
        to: Role,
        /// The leader now.
        leader: Option<NodeId>,
        /// The reason for the change.
        reason: Reason,
    },
    /// A message was ignored.
    Ignored {
        /// The node that sent it.
        from: NodeId,
        /// The reason why it was ignored.
        cause: Reason,
    },
    /// A message says that another node takes itself for the leader, and this one leads: one event
    /// for each such message.
    RivalHeard {
        /// The other node.
        rival: NodeId,
    },
}

/// The event as one line, for people.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoleChanged { from, to, leader: Some(leader), reason } => {
                write!(f, "{from} becomes {to} of {leader}: {reason}")
            }
            Self::RoleChanged { from, to, leader: None, reason } => {
                write!(f, "{from} becomes {to}: {reason}")
            }
            Self::Ignored { from, cause } => write!(f, "ignored {from}: {cause}"),
            Self::RivalHeard { rival } => write!(f, "{rival} leads as well"),
        }
    }
}
