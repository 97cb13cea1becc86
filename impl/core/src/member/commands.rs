//! What a program asks of its member, and why it may not be done.

use std::time::Duration;

use thiserror::Error;

use super::event::{Action, LogLine};
use super::{Member, Task};
use crate::protocol::{Core, Input, Membership as _, NodeId, Request, Role, Status, Time};

/// A command that the program, or who operates it, gives to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub enum Command {
    /// Hands the leadership over to this node, or to one that follows.
    HandOver(Option<NodeId>),
    /// Hands the leadership over if the member leads, and keeps the member from standing for
    /// election for this long.
    StepDown(Duration),
    /// Keeps the member from standing for election for this long, but lets it go on leading if it
    /// does.
    Freeze(Duration),
    /// Tells the member whether its machine is fit to lead.
    SetHealthy(bool),
    /// Asks for nothing but an answer.
    Ping,
    /// Tells the member that the program is prepared, as the request with this number asked.
    Prepared(u64),
    /// Tells the member that the program cannot prepare itself, as the request with this number
    /// asked, and keeps the member from standing for election for this long.
    Unprepared(u64, Duration),
}

/// The reason why a node does not do what it was asked.
#[derive(Clone, PartialEq, Eq, Error)]
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

/// What has to happen before a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The node leads no longer, and this one is next.
    StepDown(Option<NodeId>),
    /// The node leads no longer, and this one instead; or that does not come.
    Transfer(NodeId),
    /// The program, which is prepared, knows that its node leads; or the node does not lead.
    Announcement,
}

impl<C: Core> Member<C> {
    /// Does what it is asked, and answers; or asks the core, and then answers. Its deadlines have
    /// come first.
    pub(super) fn handle_command(&mut self, now: Time, ticket: u64, command: Command) {
        if let Some(refusal) = self.refusal(command) {
            return self.actions.push(Action::Reply(ticket, Err(refusal)));
        }
        let follower = self.node.successor();
        let (request, answer) = match command {
            Command::Ping => return self.reply(ticket, None),
            Command::Freeze(time) if self.leads() => {
                self.frozen_until = Some(now + time);
                return self.reply(ticket, None);
            }
            Command::Prepared(number) => {
                let Some(reason) = self.take_preparation(number) else {
                    return self.reply(ticket, None);
                };
                self.announce_unless_silent(now, reason);
                return self.pending.push((ticket, Awaited::Announcement));
            }
            Command::Unprepared(number, _) if self.take_preparation(number).is_none() => {
                return self.reply(ticket, None);
            }
            Command::Unprepared(..) if !C::REQUESTS => {
                self.actions.push(Action::Log(LogLine::Unprepared));
                return self.reply(ticket, None);
            }
            Command::Unprepared(_, time) => {
                (Request::StepDown(follower, time), Task::Reply(ticket, follower))
            }
            Command::SetHealthy(healthy) => {
                self.healthy = healthy;
                (self.fitness(), Task::Reply(ticket, None))
            }
            Command::HandOver(Some(to)) => {
                (Request::Transfer(to), Task::Await(ticket, Awaited::Transfer(to)))
            }
            Command::HandOver(None) => {
                (Request::Yield(follower), Task::Await(ticket, Awaited::StepDown(follower)))
            }
            Command::StepDown(time) => {
                // What was asked last counts.
                self.frozen_until = None;
                let request = Request::StepDown(follower, time);
                (request, Task::Await(ticket, Awaited::StepDown(follower)))
            }
            Command::Freeze(time) => (Request::StepDown(None, time), Task::Reply(ticket, None)),
        };
        self.tasks.push_front(answer);
        self.tasks.push_front(Task::Step(Input::Request(request)));
    }

    pub(super) fn reply(&mut self, ticket: u64, next: Option<NodeId>) {
        self.actions.push(Action::Reply(ticket, Ok(next)));
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

    /// Answers whatever has waited for what is so now.
    pub(super) fn send_due_replies(&mut self) {
        let (leads, told) = (self.leads(), self.view.leads());
        let leader = Some(self.node.status().id);
        for (ticket, awaited) in std::mem::take(&mut self.pending) {
            let answer = match awaited {
                Awaited::StepDown(next) if !leads => Ok(next),
                Awaited::Transfer(to) if !leads => Ok(Some(to)),
                Awaited::Transfer(to) if !self.node.awaits_successor(to) => {
                    Err(RequestError::NotTaken { to, leader })
                }
                Awaited::Announcement if told || !leads => Ok(None),
                waits => {
                    self.pending.push((ticket, waits));
                    continue;
                }
            };
            self.actions.push(Action::Reply(ticket, answer));
        }
    }
}
