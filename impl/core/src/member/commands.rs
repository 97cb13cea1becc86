//! What a program asks of its member, and why it may not be done.

use std::time::Duration;

use thiserror::Error;

use super::Member;
use super::event::Action;
use super::steps::Task;
use crate::protocol::{Core, Input, Membership as _, NodeId, Request, Role, Status, Time};

/// A command that the program, or who operates it, gives to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub enum Command {
    /// Hands the leadership over to this node, or to one that follows.
    HandOver(Option<NodeId>),
    /// Hands the leadership over if the member leads, and keeps it from running for this long.
    StepDown(Duration),
    /// Keeps the member from running for this long, but lets it go on leading if it does.
    Freeze(Duration),
    /// Tells the member whether its machine is fit to lead.
    SetHealthy(bool),
    /// Asks for nothing but an answer.
    Ping,
    /// Tells the member that the program is prepared, as the request with this number asked.
    Prepared(u64),
    /// Tells the member that the program cannot prepare itself, as the request with this number
    /// asked, and keeps the member from running for this long.
    Unprepared(u64, Duration),
}

/// The reason why a node does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The protocol does not have this request.
    #[error("nodes of protocol {protocol} do not hand over: choose the protocol quorum for that")]
    Unsupported {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The node does not lead, and only a leader can hand over.
    #[error("node {node} does not lead: ask the leader")]
    NotLeading {
        /// The node that was asked.
        node: NodeId,
    },
    /// The node that is to lead instead is this one, or no member.
    #[error("node {to} cannot take over from node {node}: name another member")]
    NoSuccessor {
        /// The node that was asked.
        node: NodeId,
        /// The node that was to lead instead.
        to: NodeId,
    },
    /// The node that is to lead instead only observes.
    #[error("node {to} only observes, and never leads: name a member that votes")]
    Observer {
        /// The node that was to lead instead.
        to: NodeId,
    },
    /// The node that is to lead instead is a witness.
    #[error("node {to} is a witness, which votes and never leads: name a member that may lead")]
    Witness {
        /// The node that was to lead instead.
        to: NodeId,
    },
    /// The node that is to lead instead is not connected, or says that it is not fit to lead.
    #[error("node {to} cannot be asked to lead: {problem}; node {node} leads still")]
    Unreachable {
        /// The node that was asked, which leads.
        node: NodeId,
        /// The node that was to lead instead.
        to: NodeId,
        /// The problem with the connection or the node.
        problem: String,
    },
    /// The node that is to lead instead has not come to lead.
    #[error("{}", not_taken(*to, *leader))]
    NotTaken {
        /// The node that was to lead instead.
        to: NodeId,
        /// The node that leads, if one is known.
        leader: Option<NodeId>,
    },
    /// The node has stopped taking part.
    #[error("the node takes part no longer")]
    Stopped,
}

fn not_taken(to: NodeId, leader: Option<NodeId>) -> String {
    match leader {
        Some(leader) => format!(
            "node {to} has not taken over: it is frozen, unfit, paused or too slow, and its own \
             status says which; node {leader} leads"
        ),
        None => format!("no leader is heard yet, and node {to} may come to lead: ask again"),
    }
}

impl Command {
    /// What the core is asked, if anything, and which node is next, if `follower` is the one that
    /// would be.
    fn request(self, follower: Option<NodeId>) -> (Option<Request>, Option<NodeId>) {
        match self {
            Self::HandOver(Some(to)) => (Some(Request::Transfer(to)), Some(to)),
            Self::HandOver(None) => (Some(Request::Yield(follower)), follower),
            Self::StepDown(time) => (Some(Request::StepDown(follower, time)), follower),
            Self::Freeze(time) => (Some(Request::StepDown(None, time)), None),
            Self::Unprepared(_, time) => (Some(Request::StepDown(follower, time)), follower),
            Self::Ping | Self::Prepared(_) | Self::SetHealthy(_) => (None, None),
        }
    }
}

/// Who waits for an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PendingReplies {
    /// Those who have asked that it leads no longer, and the node that is next.
    pub(super) handovers: Vec<(u64, Option<NodeId>)>,
    /// Those who have asked that this node leads instead.
    pub(super) transfers: Vec<(u64, NodeId)>,
    /// Those who have said that the program is prepared.
    prepared: Vec<u64>,
}

impl<C: Core> Member<C> {
    /// Does what it is asked, and answers. Its deadlines have come first.
    pub(super) fn handle_command(&mut self, now: Time, ticket: u64, command: Command) {
        if let Some(refusal) = self.refusal(command) {
            return self.actions.push(Action::Reply(ticket, Err(refusal)));
        }
        match command {
            Command::Freeze(time) if self.leads() => {
                self.frozen_until = Some(now + time);
                self.actions.push(Action::Reply(ticket, Ok(None)));
            }
            Command::SetHealthy(healthy) => {
                self.healthy = healthy;
                let fitness = self.fitness();
                self.tasks.push_front(Task::Reply(ticket, None));
                self.tasks.push_front(Task::Step(fitness));
            }
            Command::Prepared(number) => match self.accept_preparation(number) {
                Some(reason) => {
                    self.announce_leadership(now, reason);
                    self.pending.prepared.push(ticket);
                }
                None => self.actions.push(Action::Reply(ticket, Ok(None))),
            },
            Command::Unprepared(number, _) if !self.refuse_preparation(number) => {
                self.actions.push(Action::Reply(ticket, Ok(None)));
            }
            _ => self.ask_node(ticket, command),
        }
    }

    /// Asks the core, and then answers.
    fn ask_node(&mut self, ticket: u64, command: Command) {
        // What was asked last counts.
        self.frozen_until = self.frozen_until.filter(|_| !matches!(command, Command::StepDown(_)));
        let (request, next) = command.request(self.node.successor());
        self.tasks.push_front(match command {
            Command::HandOver(Some(to)) => Task::ReplyAfterTransfer(ticket, to),
            Command::HandOver(None) | Command::StepDown(_) => {
                Task::ReplyAfterStepDown(ticket, next)
            }
            _ => Task::Reply(ticket, next),
        });
        if let Some(request) = request {
            self.tasks.push_front(Task::Step(Input::Request(request)));
        }
    }

    /// Returns why the node cannot do what it is asked.
    fn refusal(&self, command: Command) -> Option<RequestError> {
        let Status { id: node, role, .. } = self.node.status();
        let other = |to: NodeId| to != node && self.node.config().hears(to);
        match command {
            Command::Ping | Command::Prepared(_) | Command::Unprepared(..) => None,
            _ if !C::REQUESTS => Some(RequestError::Unsupported { protocol: C::NAME }),
            Command::HandOver(Some(_)) if !C::TRANSFERS => {
                Some(RequestError::Unsupported { protocol: C::NAME })
            }
            Command::HandOver(_) if role != Role::Leader => Some(RequestError::NotLeading { node }),
            Command::HandOver(Some(to)) if !other(to) => {
                Some(RequestError::NoSuccessor { node, to })
            }
            Command::HandOver(Some(to)) if C::is_witness(self.node.config(), to) => {
                Some(RequestError::Witness { to })
            }
            Command::HandOver(Some(to)) if !C::may_lead(self.node.config(), to) => {
                Some(RequestError::Observer { to })
            }
            Command::HandOver(_)
            | Command::StepDown(_)
            | Command::Freeze(_)
            | Command::SetHealthy(_) => None,
        }
    }

    /// Answers those that have asked it to lead no longer, once it does not; and those that have
    /// said that the program is prepared, once that knows that it leads, or does not lead.
    pub(super) fn send_due_replies(&mut self) {
        let leads = self.leads();
        if !leads {
            let handovers = self.pending.handovers.drain(..);
            let answers = handovers.map(|(ticket, next)| Action::Reply(ticket, Ok(next)));
            self.actions.extend(answers);
        }
        let node = self.node.status().id;
        for (ticket, to) in std::mem::take(&mut self.pending.transfers) {
            if !leads {
                self.actions.push(Action::Reply(ticket, Ok(Some(to))));
            } else if self.node.awaits_successor(to) {
                self.pending.transfers.push((ticket, to));
            } else {
                let error = RequestError::NotTaken { to, leader: Some(node) };
                self.actions.push(Action::Reply(ticket, Err(error)));
            }
        }
        if !leads || self.view.leads() {
            let prepared = self.pending.prepared.drain(..);
            self.actions.extend(prepared.map(|ticket| Action::Reply(ticket, Ok(None))));
        }
    }
}
