//! The members of a group, whatever their ids, under those that a specification has: 1, 2, 3 and so
//! on, in the same order. Protocols ask only which id is higher.

use super::words::{StepOf, Vocabulary};
use crate::mapping::{Sides, node_id};
use bellwether_core::protocol::{NodeId, Request};
use bellwether_core::trace::{After, Happened, Out, Received, Sent, Step};
use bellwether_engine::protocol::{Id, MAX_NODES};
use std::borrow::Cow;

/// The number that is added to the id of a node that is no member: no process has the sum.
const STRANGE: u16 = 128;

const _: () = assert!(STRANGE as usize >= MAX_NODES);

/// The members, ascending.
#[derive(Clone, Debug)]
pub(super) struct Names {
    members: Vec<NodeId>,
    /// True if they have these ids themselves.
    plain: bool,
}

impl Names {
    pub(super) fn new(members: &[NodeId]) -> Self {
        Names { members: members.to_vec(), plain: are_plain(members) }
    }

    /// The process of a member.
    pub(super) fn id(&self, node: NodeId) -> Option<Id> {
        self.members.binary_search(&node).ok().map(Id::at)
    }

    /// The member with this name.
    pub(super) fn original(&self, name: NodeId) -> Option<NodeId> {
        self.members.get(usize::from(name.get()) - 1).copied()
    }

    /// The name of a node.
    pub(super) fn name(&self, node: NodeId) -> NodeId {
        match self.id(node) {
            _ if self.plain => node,
            Some(id) => node_id(id),
            None => NodeId::new(node.get().saturating_add(STRANGE)).unwrap_or(node),
        }
    }

    /// Which names stand for other ids, in words.
    pub(super) fn words(&self) -> String {
        if self.plain {
            return String::new();
        }
        let words = |node: &NodeId| format!("; node {} stands for {node}", self.name(*node));
        self.members.iter().map(words).collect()
    }

    /// A step with these names around its messages and its durable data, which keep their ids.
    pub(super) fn step<'s, T: Sides, V: Vocabulary<T>>(
        &self,
        step: &'s StepOf<T, V>,
    ) -> Cow<'s, StepOf<T, V>> {
        if self.plain {
            return Cow::Borrowed(step);
        }
        let name = |node: NodeId| self.name(node);
        let happened = match &step.happened {
            Happened::Boot(_) | Happened::Expire(_) => step.happened.clone(),
            Happened::Receive(received) => {
                Happened::Receive(Received { from: name(received.from), ..received.clone() })
            }
            Happened::Suspect(node) => Happened::Suspect(name(*node)),
            Happened::Request(request) => Happened::Request(match request {
                Request::Yield(next) => Request::Yield(next.map(name)),
                Request::Change(list) => Request::Change(list.clone()),
                Request::Tell(to) => Request::Tell(name(*to)),
                Request::Transfer(next) => Request::Transfer(name(*next)),
                Request::StepDown(next, time) => Request::StepDown(next.map(name), *time),
                Request::Healthy(is) => Request::Healthy(*is),
            }),
        };
        let out = step.out.iter().map(|out| match out {
            Out::Persist(_) => out.clone(),
            Out::Send(sent) => Out::Send(Sent { to: name(sent.to), ..sent.clone() }),
            Out::Role { from, to, leader, reason } => {
                Out::Role { from: *from, to: *to, leader: leader.map(name), reason: reason.clone() }
            }
            Out::Ignored { from, cause } => {
                Out::Ignored { from: name(*from), cause: cause.clone() }
            }
            Out::Rival(node) => Out::Rival(name(*node)),
        });
        let after = After {
            leader: step.after.leader.map(name),
            watched: step.after.watched.iter().map(|&node| name(node)).collect(),
            ..step.after.clone()
        };
        Cow::Owned(Step { happened, out: out.collect(), after })
    }
}

/// Returns whether these ids are 1, 2, 3 and so on.
pub(super) fn are_plain(members: &[NodeId]) -> bool {
    members.iter().map(|node| node.get()).eq((1..).take(members.len()))
}
