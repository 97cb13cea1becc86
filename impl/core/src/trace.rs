//! The trace of a node: one line for each thing that happened to it, and what followed.
//!
//! A trace is what a node writes about itself, so that others can decide afterwards whether a
//! cluster did only what its protocol allows. The lines of a node have an order of their own, by
//! their [numbers](Line::n). What orders the lines of different nodes is which message was received
//! where: a message has a [number](Sent::id), which travels with it. The [times](Line::at) are
//! those of the node's own clock, and order nothing between nodes.
//!
//! A trace is text: each line is one JSON object. The types here are its schema. A program in any
//! language can write it. What it does not know it leaves out: every field that is an [`Option`]
//! may be missing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::{Core, Event, Lease, Node, NodeId, Request, Role};

/// The version of the format. A reader refuses another one.
pub const FORMAT: u32 = 1;

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line<D, M> {
    /// The number of the line: 0 in the first line of an incarnation, one more in each.
    pub n: u64,
    /// The time of the node's own clock, in nanoseconds since an origin that its incarnations may
    /// or may not share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// What the line tells.
    #[serde(flatten)]
    pub entry: Entry<D, M>,
}

/// What a line tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry<D, M> {
    /// An incarnation of a node begins: the first line of each.
    Start(Start),
    /// The node took a step.
    Step(Step<D, M>),
    /// What surrounds the node has done something that the node wanted done.
    Did(Deed),
    /// This many lines are missing here: they could not be written as fast as they came.
    Dropped(u64),
}

/// The beginning of an incarnation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The version of the [format](FORMAT).
    pub format: u32,
    /// The [name](crate::protocol::Core::NAME) of the protocol.
    pub protocol: String,
    /// The version of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The name of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The node.
    pub node: NodeId,
    /// The incarnation of the node: another number in each.
    pub incarnation: u64,
    /// All members of the cluster, in ascending order.
    pub members: Vec<NodeId>,
    /// What answers the node in place of another node, and is none: the ids of services, in
    /// ascending order, each higher than that of any member. They write no trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<NodeId>,
    /// The number of this list of members, one higher with each change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_epoch: Option<u64>,
    /// What all members must have the same, as a digest in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// The time that each timer of the node takes from when it is armed, in nanoseconds, by its
    /// name: see [`durations`]. A timer that takes as long as the node is asked for is missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub durations: BTreeMap<String, u64>,
    /// How messages, timers and durable data are written: as the program does, or, if this is
    /// `model`, as the traces of the specification do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<String>,
}

/// Returns the times that the timers of a node take which has not booted, as its trace has them.
#[must_use]
pub fn durations<C: Core>(node: &Node<C>) -> BTreeMap<String, u64> {
    let nanoseconds = |(timer, takes): (C::Timer, Duration)| {
        (format!("{timer:?}"), u64::try_from(takes.as_nanos()).unwrap_or(u64::MAX))
    };
    node.durations().map(nanoseconds).collect()
}

/// A step of a node: what happened to it, what it put out, and what it believes then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step<D, M> {
    /// What happened to the node.
    #[serde(flatten)]
    pub happened: Happened<D, M>,
    /// What the node put out, in its order: what is to be durable, what is to be sent, and events.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub out: Vec<Out<D, M>>,
    /// What the node is after the step.
    pub after: After,
}

/// What happened to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happened<D, M> {
    /// It started, with what it had made durable before; `null` if nothing.
    Boot(Option<D>),
    /// A message arrived.
    Receive(Received<M>),
    /// A timer expired, by its name: that of the program's own type.
    Expire(String),
    /// A failure detector suspects a node that this one watches.
    Suspect(NodeId),
    /// A person or a program asked for something.
    Request(Request),
}

/// A message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received<M> {
    /// The node that sent the message.
    pub from: NodeId,
    /// The incarnation of the sender; missing if the connection did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<u64>,
    /// The [number](Sent::id) of the message; missing if the sender gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The message.
    pub message: M,
}

impl<M> Received<M> {
    /// Returns a message of which nothing is known but which node has sent it.
    #[must_use]
    pub fn unnumbered(from: NodeId, message: M) -> Self {
        Self { from, incarnation: None, id: None, message }
    }
}

/// A message that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent<M> {
    /// The node that is to get the message.
    pub to: NodeId,
    /// The number of the message: no two messages of an incarnation have the same.
    pub id: u64,
    /// The message.
    pub message: M,
}

/// What a node put out in a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Out<D, M> {
    /// This must be durable before anything is sent that follows.
    Persist(D),
    /// A message is to be sent.
    Send(Sent<M>),
    /// Its role or its leader has changed.
    Role {
        /// The role before.
        from: Role,
        /// The role now.
        to: Role,
        /// The leader now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leader: Option<NodeId>,
        /// The name of the reason.
        reason: String,
    },
    /// It ignored the message.
    Ignored {
        /// The node that sent it.
        from: NodeId,
        /// The name of the reason.
        cause: String,
    },
    /// The message says that another node takes itself for the leader, and this one leads.
    Rival(NodeId),
}

impl<D, M> From<Event> for Out<D, M> {
    fn from(event: Event) -> Self {
        match event {
            Event::RoleChanged { from, to, leader, reason } => {
                Self::Role { from, to, leader, reason: reason.name().to_owned() }
            }
            Event::Ignored { from, cause } => {
                Self::Ignored { from, cause: cause.name().to_owned() }
            }
            Event::RivalHeard { rival } => Self::Rival(rival),
        }
    }
}

/// What a node is after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    /// The role of the node.
    pub role: Role,
    /// The node that it takes for the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<NodeId>,
    /// The epoch of the leader that it follows or is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Its lease, if it leads for a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseUntil>,
    /// The names of the timers that are armed, each with its deadline, in nanoseconds of the same
    /// clock as the line's time; missing if it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub armed: Option<Vec<(String, u64)>>,
    /// The nodes that it watches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<NodeId>,
}

/// A lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseUntil {
    /// The epoch in which the node leads.
    pub epoch: u64,
    /// Until when, in nanoseconds of the clock of the line's time.
    pub until: u64,
}

impl From<Lease> for LeaseUntil {
    fn from(Lease { epoch, until }: Lease) -> Self {
        Self { epoch: epoch.number(), until: until.as_nanos() }
    }
}

/// Something that was done for a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// What it put out to be durable last is being saved from here on. What it puts out later waits
    /// for the next time.
    Saving,
    /// What was being saved is durable. If no [`Deed::Saving`] came before, that is what it put out
    /// to be durable last.
    Saved,
    /// The message with this number was given to the network.
    Sent(u64),
    /// The program was told whether its node leads, and in which epoch.
    Told {
        /// Whether its own node leads.
        leads: bool,
        /// The epoch of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<u64>,
        /// The name of the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The node takes part no longer: nothing more comes from this incarnation.
    Ended,
}
