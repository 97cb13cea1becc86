//! What a program asks of its member, and why it may not be done.

use std::time::Duration;

use thiserror::Error;

use super::Member;
use super::event::Action;
use super::steps::Task;
use crate::protocol::{Core, Input, Membership as _, NodeId, Request, Role, Status, Time};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// To hand over to this node, or to one that follows.
    HandOver(Option<NodeId>),
    /// To hand over if it leads, and not to run for so long.
    StepDown(Duration),
    /// Not to run for so long, but to go on leading if it does.
    Freeze(Duration),
    /// To be told whether the machine is fit to lead.
    Healthy(bool),
    /// Only to answer.
    Answer,
    /// To be told that the program is prepared, since the node came to lead for the so manieth
    /// time.
    Prepared(u64),
    /// To be told that it cannot prepare itself, and not to run for so long.
    Unprepared(u64, Duration),
}

/// Why a node does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The protocol has no such thing.
    #[error("nodes of protocol {protocol} do not hand over: choose the protocol quorum for that")]
    Unsupported {
        /// Which protocol.
        protocol: &'static str,
    },
    /// Only a leader can hand over.
    #[error("node {node} does not lead: ask the leader")]
    NotLeading {
        /// Which node.
        node: NodeId,
    },
    /// The node that is to lead instead is this one, or no member.
    #[error("node {to} cannot take over from node {node}: name another member")]
    NoSuccessor {
        /// Which node was asked.
        node: NodeId,
        /// Which was to lead instead.
        to: NodeId,
    },
    /// The node that is to lead instead only observes.
    #[error("node {to} only observes, and never leads: name a member that votes")]
    Observer {
        /// Which was to lead instead.
        to: NodeId,
    },
    /// The node takes part no longer.
    #[error("the node takes part no longer")]
    Stopped,
}

impl What {
    /// What the core is asked, if anything, and which node is next, if `follower` is the one that
    /// would be.
    fn request(self, follower: Option<NodeId>) -> (Option<Request>, Option<NodeId>) {
        match self {
            Self::HandOver(to) => {
                let next = to.or(follower);
                (Some(Request::Yield(next)), next)
            }
            Self::StepDown(time) => (Some(Request::StepDown(follower, time)), follower),
            Self::Freeze(time) => (Some(Request::StepDown(None, time)), None),
            Self::Unprepared(_, time) => (Some(Request::StepDown(follower, time)), follower),
            Self::Answer | Self::Prepared(_) | Self::Healthy(_) => (None, None),
        }
    }
}

/// Who waits for an answer.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Those who have asked that it leads no longer, and the node that is next.
    handovers: Vec<(u64, Option<NodeId>)>,
    /// Those who have said that the program is prepared.
    prepared: Vec<u64>,
}

impl<C: Core> Member<C> {
    /// Does what it is asked, and answers. Its deadlines have come first.
    pub(super) fn obey(&mut self, now: Time, ticket: u64, what: What) {
        if let Some(refusal) = self.refusal(what) {
            return self.actions.push(Action::Answer(ticket, Err(refusal)));
        }
        match what {
            What::Freeze(time) if self.leads() => {
                self.frozen = Some(now + time);
                self.actions.push(Action::Answer(ticket, Ok(None)));
            }
            What::Healthy(healthy) => {
                self.healthy = healthy;
                let fitness = self.fitness();
                self.todo.push_front(Task::Answer(ticket, None));
                self.todo.push_front(Task::Step(fitness));
            }
            What::Prepared(number) => match self.open(number) {
                Some(reason) => {
                    self.lead(now, reason);
                    self.waiting.prepared.push(ticket);
                }
                None => self.actions.push(Action::Answer(ticket, Ok(None))),
            },
            What::Unprepared(number, _) if !self.gives_up(number) => {
                self.actions.push(Action::Answer(ticket, Ok(None)));
            }
            _ => self.ask(ticket, what),
        }
    }

    /// Asks the core, and then answers.
    fn ask(&mut self, ticket: u64, what: What) {
        // What was asked last counts.
        self.frozen = self.frozen.filter(|_| !matches!(what, What::StepDown(_)));
        let (request, next) = what.request(self.node.successor());
        self.todo.push_front(match what {
            What::HandOver(_) | What::StepDown(_) => Task::HandOver(ticket, next),
            _ => Task::Answer(ticket, next),
        });
        if let Some(request) = request {
            self.todo.push_front(Task::Step(Input::Request(request)));
        }
    }

    /// Returns why the node cannot do what it is asked.
    fn refusal(&self, what: What) -> Option<RequestError> {
        let Status { id: node, role, .. } = self.node.status();
        let other = |to: NodeId| to != node && self.node.config().hears(to);
        match what {
            What::Answer | What::Prepared(_) | What::Unprepared(..) => None,
            _ if !C::REQUESTS => Some(RequestError::Unsupported { protocol: C::NAME }),
            What::HandOver(_) if role != Role::Leader => Some(RequestError::NotLeading { node }),
            What::HandOver(Some(to)) if !other(to) => Some(RequestError::NoSuccessor { node, to }),
            What::HandOver(Some(to)) if !C::may_lead(self.node.config(), to) => {
                Some(RequestError::Observer { to })
            }
            What::HandOver(_) | What::StepDown(_) | What::Freeze(_) | What::Healthy(_) => None,
        }
    }

    /// The answer to this question is due once the node leads no longer.
    pub(super) fn answers_once_over(&mut self, ticket: u64, next: Option<NodeId>) {
        self.waiting.handovers.push((ticket, next));
    }

    /// Answers those that have asked it to lead no longer, once it does not; and those that have
    /// said that the program is prepared, once that knows that it leads, or does not lead.
    pub(super) fn answer(&mut self) {
        let leads = self.leads();
        if !leads {
            let handovers = self.waiting.handovers.drain(..);
            let answers = handovers.map(|(ticket, next)| Action::Answer(ticket, Ok(next)));
            self.actions.extend(answers);
        }
        if !leads || self.told.leads() {
            let prepared = self.waiting.prepared.drain(..);
            self.actions.extend(prepared.map(|ticket| Action::Answer(ticket, Ok(None))));
        }
    }
}
