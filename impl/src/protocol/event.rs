//! What a core tells people and programs: roles, and why they change.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::NodeId;

/// What a node is doing. The roles of all protocols; a protocol uses those that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Not booted: takes no part.
    NotStarted,
    /// Follows a leader; on a ring also one that has just started and listens for a leader.
    Follower,
    /// Holds an election and waits for anybody with a better claim to answer.
    Candidate,
    /// Has given way in an election and waits for the winner to announce itself.
    Waiting,
    /// Leads.
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

/// Why a role changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The node started.
    Booted,
    /// The node started with the highest id of all, so it leads at once.
    HighestId,
    /// The leader was silent for longer than the watch time-out.
    LeaderSilent,
    /// A lower node holds an election, so this one holds its own.
    Challenged,
    /// A higher node answered the election.
    Answered,
    /// A higher node answered, but no winner announced itself in time.
    NoWinner,
    /// No higher node answered in time.
    NobodyAnswered,
    /// A higher node claims to lead.
    Claimed,
    /// A higher node is about to lead, and has stopped this one.
    Halted,
    /// A leader found out that another node does not follow it.
    CheckFailed,
    /// Another coordinator was found, so the groups are merged.
    Found,
    /// A coordinator invited the node into its group.
    Invited,
    /// The group is formed, and works.
    GroupFormed,
    /// A member of the group that was being formed did not answer.
    MemberSilent,
    /// A higher node holds an election, and this one takes part.
    GaveWay,
    /// The node's own election has been all the way round, so nobody is higher.
    CameHome,
    /// A message could not be handed on because whoever began it is silent.
    OriginatorSilent,
    /// A lower node claims to lead, so this one holds an election.
    LowerClaims,
    /// An election has come home, and has chosen a leader.
    Chosen,
    /// The store granted the lease.
    Granted,
    /// The store refused the lease, or more of it.
    Refused,
    /// The lease has expired.
    LeaseExpired,
    /// The failure detector reports the leader, or the node that this one gave way to.
    Suspected,
    /// Every lower node has given way, or is reported as failed.
    Won,
    /// A lower node did not say in time that it gives way.
    Unanswered,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Booted => "the node started",
            Self::HighestId => "no configured id is higher",
            Self::LeaderSilent => "the leader was silent for too long",
            Self::Challenged => "a lower node holds an election",
            Self::Answered => "a higher node answered",
            Self::NoWinner => "no winner announced itself in time",
            Self::NobodyAnswered => "no higher node answered in time",
            Self::Claimed => "a higher node claims to lead",
            Self::Halted => "a higher node is about to lead",
            Self::CheckFailed => "another node does not follow this one",
            Self::Found => "another coordinator was found",
            Self::Invited => "a coordinator invited the node",
            Self::GroupFormed => "the group is formed",
            Self::MemberSilent => "a member did not answer",
            Self::GaveWay => "a higher node holds an election",
            Self::CameHome => "the node's own id came home",
            Self::OriginatorSilent => "who began what was to be handed on is silent",
            Self::LowerClaims => "a lower node claims to lead",
            Self::Chosen => "the election has come home",
            Self::Granted => "the store granted the lease",
            Self::Refused => "the store refused the lease",
            Self::LeaseExpired => "the lease has expired",
            Self::Suspected => "the failure detector reports the node that was to lead",
            Self::Won => "every lower node has given way or failed",
            Self::Unanswered => "a lower node did not answer in time",
        })
    }
}

/// Why a message was ignored although it was well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ignored {
    /// The sender is not one of the configured members.
    UnknownSender,
    /// The sender has this node's own id.
    OwnId,
    /// No correct node with the sender's id sends this message to this node.
    WrongDirection,
    /// A `COORDINATOR` from below the leader that the node follows.
    BelowLeader,
    /// The message is of a group that its sender cannot speak of.
    WrongGroup,
    /// The message names somebody who is not one of the configured members.
    UnknownId,
    /// It belongs to an election that is over, or to another node's.
    OtherElection,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::UnknownSender => "the sender is not a configured member",
            Self::OwnId => "the sender has this node's own id",
            Self::WrongDirection => "no correct node with that id sends this to this node",
            Self::BelowLeader => "the node follows a higher leader",
            Self::WrongGroup => "no correct node with that id says this of that group",
            Self::UnknownId => "it names somebody who is not a configured member",
            Self::OtherElection => "it belongs to another election",
        })
    }
}

/// Something worth knowing. Events inform; nothing in the protocol depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
        /// What caused it.
        reason: Reason,
    },
    /// A message was ignored.
    Ignored {
        /// Who sent it.
        from: NodeId,
        /// What was wrong with it.
        cause: Ignored,
    },
}
