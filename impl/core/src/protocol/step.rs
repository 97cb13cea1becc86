//! The steps that a node has taken, one by one, if it is asked to record them.
//!
//! One input can be several steps: each timer that expires is one, and then the input. What a node
//! puts out after an input is that of all its steps, and does not say of which.

use std::hash::{Hash, Hasher};

use super::{Core, Epoch, Event, Lease, NodeId, Request, Status, Time};

/// A step that a node has taken: what happened to it, what it put out, and what it is then.
///
/// A wake-up in which no timer expires is no step, and neither is a report about a node that is not
/// watched, a second boot, or anything before the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStep<C: Core> {
    /// What happened to the node.
    pub trigger: Trigger<C>,
    /// The states that it made durable in this step, in their order.
    pub persists: Vec<C::Durable>,
    /// The messages that it sent, in their order.
    pub sends: Vec<(NodeId, C::Message)>,
    /// The events that it told, in their order.
    pub events: Vec<Event>,
    /// What it believes then.
    pub status: Status,
    /// The epoch of the leader that it follows or is.
    pub epoch: Option<Epoch>,
    /// Its lease.
    pub lease: Option<Lease>,
    /// The timers that are armed then, with their deadlines.
    pub armed: Vec<(C::Timer, Time)>,
    /// The nodes that it watches then.
    pub watched: Vec<NodeId>,
}

/// What happened to a node in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger<C: Core> {
    /// It started, with what it had made durable before.
    Boot(Option<C::Durable>),
    /// A message was delivered.
    Receive {
        /// The node that sent it.
        from: NodeId,
        /// The message.
        message: C::Message,
    },
    /// A timer expired.
    Expire(C::Timer),
    /// A node that it watches was suspected.
    Suspect(NodeId),
    /// It was asked for something.
    Request(Request),
}

/// The steps since they were read last; `None` if they are not recorded. They are no part of what a
/// node is: two nodes that differ in nothing else are equal.
#[derive(Clone, Debug)]
pub(super) struct Journal<C: Core>(Option<Vec<NodeStep<C>>>);

impl<C: Core> Journal<C> {
    /// Nothing is recorded.
    pub(super) const CLOSED: Self = Self(None);

    /// Steps are recorded from here on.
    pub(super) fn open() -> Self {
        Self(Some(Vec::new()))
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn add(&mut self, step: NodeStep<C>) {
        if let Self(Some(steps)) = self {
            steps.push(step);
        }
    }

    /// The steps since this was called last.
    pub(super) fn take(&mut self) -> Vec<NodeStep<C>> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl<C: Core> PartialEq for Journal<C> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<C: Core> Eq for Journal<C> {}

impl<C: Core> Hash for Journal<C> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
