//! A production core of a ring with one mistake around it.

use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::list_ring::ListRingMapping;
use bellwether_conformance::mapping::{Mapping, ProgramMessage};
use bellwether_conformance::program::Program;
use bellwether_core::protocol::chang_roberts::{self, ChangRoberts};
use bellwether_core::protocol::list_ring::{self, ListRing};
use bellwether_core::protocol::ring::{Lap, Timer};
use bellwether_core::protocol::{Input, Node, NodeId, Nothing, Output, Role, Time};

use crate::wrapper::{Hooks, Out, Wrapped};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    None,
    NeverAcks,
    AcksLast,
    AcksTwice,
    IgnoresAcks,
    KeepsAnnouncements,
    IgnoresAnnouncements,
    TriesAgain,
    NoRestart,
    AcksBeforeBoot,
    NoEvents,
    WakesLate,
    MessageBeforeDeadline,
}

/// What a message is, in any ring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Election,
    Coordinator,
    Ack,
}

/// The mapping of a ring, and what its messages are.
pub(crate) trait Ring: Mapping<Program: Program<Durable = Nothing, Timer = Timer>> {
    fn what(message: ProgramMessage<Self>) -> What;
    fn ack() -> ProgramMessage<Self>;
    /// The node that should acknowledge what was handed on.
    fn holder(node: &Self::Program) -> Option<NodeId>;
}

fn one() -> NodeId {
    NodeId::new(1).expect("not zero")
}

impl Ring for ChangRobertsMapping {
    fn what(message: chang_roberts::Message) -> What {
        match message {
            chang_roberts::Message::Election(_) => What::Election,
            chang_roberts::Message::Coordinator(_) => What::Coordinator,
            chang_roberts::Message::Ack(_) => What::Ack,
        }
    }

    fn ack() -> chang_roberts::Message {
        chang_roberts::Message::Ack(Lap::Election(one()))
    }

    fn holder(node: &Node<ChangRoberts>) -> Option<NodeId> {
        node.core()?.unacknowledged().last().map(|&(to, _)| to)
    }
}

impl Ring for ListRingMapping {
    fn what(message: list_ring::Message) -> What {
        match message {
            list_ring::Message::Election(_) => What::Election,
            list_ring::Message::Coordinator { .. } => What::Coordinator,
            list_ring::Message::Ack(_) => What::Ack,
        }
    }

    fn ack() -> list_ring::Message {
        list_ring::Message::Ack(Lap::Election(one()))
    }

    fn holder(node: &Node<ListRing>) -> Option<NodeId> {
        node.core()?.unacknowledged().last().map(|&(to, _)| to)
    }
}

/// A mistake, and when something last happened to a node.
#[derive(Clone)]
pub(crate) struct Wrong {
    mistake: Mistake,
    now: Time,
}

impl Wrong {
    pub(crate) fn new(mistake: Mistake) -> Self {
        Wrong { mistake, now: Time::ZERO }
    }

    /// Whether the input is kept from the core, which then only learns what time it is.
    fn swallows<M: Ring>(&self, now: Time, input: Input<ProgramMessage<M>>) -> bool {
        match (self.mistake, input) {
            (Mistake::IgnoresAcks, Input::Receive { message, .. }) => M::what(message) == What::Ack,
            (Mistake::IgnoresAnnouncements, Input::Receive { message, .. }) => {
                // It has to know its first leader.
                M::what(message) == What::Coordinator && now > Time::ZERO
            }
            (Mistake::NoRestart, Input::Boot) => now > Time::ZERO,
            _ => false,
        }
    }

    /// The mistakes in what is put out; `silent` did not acknowledge, if this follows from that.
    fn falsify<M: Ring>(
        &self,
        node: &mut Wrapped<M::Program>,
        received: bool,
        silent: Option<NodeId>,
    ) {
        let first = node.outputs.front().cloned();
        let acks = first.clone().is_some_and(|output| is::<M>(&output, What::Ack));
        match self.mistake {
            Mistake::NeverAcks => node.outputs.retain(|o| !is::<M>(o, What::Ack)),
            Mistake::AcksLast if acks => node.send_first_last(),
            Mistake::AcksTwice => {
                if let Some(ack) = first.filter(|_| acks) {
                    node.outputs.push_front(ack);
                }
            }
            // The silent one gets everything again, in the place of the one after it.
            Mistake::TriesAgain if !received => {
                for output in &mut node.outputs {
                    if let (Output::Send { to, .. }, Some(silent)) = (output, silent) {
                        *to = silent;
                    }
                }
            }
            Mistake::KeepsAnnouncements if received => {
                node.outputs.retain(|o| !is::<M>(o, What::Coordinator));
            }
            Mistake::NoEvents => node.outputs.retain(|o| !matches!(o, Output::Event(_))),
            Mistake::WakesLate => node.wake_late(),
            _ => {}
        }
    }
}

fn is<M: Ring>(output: &Out<M::Program>, what: What) -> bool {
    matches!(output, Output::Send { message, .. } if M::what(message.clone()) == what)
}

impl<M: Ring> Hooks<M> for Wrong {
    fn handle(
        &mut self,
        node: &mut Wrapped<M::Program>,
        now: Time,
        input: Input<ProgramMessage<M>>,
    ) {
        let earlier = std::mem::replace(&mut self.now, now);
        let was_up = node.role() != Role::NotStarted;
        let silent = M::holder(&node.core);
        match input {
            _ if self.swallows::<M>(now, input.clone()) => node.feed(now, Input::Wake),
            Input::Receive { .. }
                if self.mistake == Mistake::MessageBeforeDeadline && node.is_late(now) =>
            {
                node.core.handle(earlier, input.clone());
                node.feed(now, Input::Wake);
            }
            _ => node.feed(now, input.clone()),
        }
        if let (Mistake::AcksBeforeBoot, false, Input::Receive { from, message }) =
            (self.mistake, was_up, input.clone())
            && M::what(message) != What::Ack
        {
            node.outputs.push_front(Output::Send { to: from, message: M::ack() });
        }
        self.falsify::<M>(node, matches!(input, Input::Receive { .. }), silent);
    }
}
