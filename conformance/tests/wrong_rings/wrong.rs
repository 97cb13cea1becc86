//! A production core of a ring with one mistake around it, and its mapping.

use bellwether::protocol::chang_roberts::{self, ChangRoberts};
use bellwether::protocol::list_ring::{self, ListRing};
use bellwether::protocol::ring::{Lap, Timer};
use bellwether::protocol::{Input, Members, Node, NodeId, Nothing, Output, Role, Status, Time};
use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::list_ring::ListRingMapping;
use bellwether_conformance::mapping::{Happening, Mapping, Process, SpecMessage, SpecTimer, Step};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use std::collections::VecDeque;
use std::time::Duration;

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
    fn what(message: Message<Self>) -> What;
    fn ack() -> Message<Self>;
    /// The node that should acknowledge what was handed on.
    fn holder(node: &Self::Program) -> Option<NodeId>;
}

type Message<M> = <<M as Mapping>::Program as Program>::Message;
type Out<M> = Output<Nothing, Message<M>>;

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

/// A core with a mistake.
pub(crate) struct Wrong<M: Ring> {
    core: M::Program,
    mistake: Mistake,
    now: Time,
    outputs: VecDeque<Out<M>>,
}

impl<M: Ring> Clone for Wrong<M> {
    fn clone(&self) -> Self {
        let (core, outputs) = (self.core.clone(), self.outputs.clone());
        Wrong { core, mistake: self.mistake, now: self.now, outputs }
    }
}

impl<M: Ring> Wrong<M> {
    fn new(core: M::Program, mistake: Mistake) -> Self {
        Wrong { core, mistake, now: Time::ZERO, outputs: VecDeque::new() }
    }

    fn up(&self) -> bool {
        self.core.status().role != Role::NotStarted
    }

    /// Whether the input is kept from the core, which then only learns what time it is.
    fn swallows(&self, now: Time, input: Input<Message<M>>) -> bool {
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

    fn feed(&mut self, now: Time, input: Input<Message<M>>) {
        self.core.handle(now, input);
        self.outputs.extend(std::iter::from_fn(|| self.core.poll()));
    }

    fn is(output: &Out<M>, what: What) -> bool {
        matches!(output, Output::Send { message, .. } if M::what(*message) == what)
    }

    /// The mistakes in what is put out after `input`.
    fn falsify(&mut self, input: Input<Message<M>>, silent: Option<NodeId>) {
        let received = matches!(input, Input::Receive { .. });
        let sends = self.outputs.iter().filter(|o| matches!(o, Output::Send { .. })).count();
        let first = self.outputs.front().copied();
        let acks = first.is_some_and(|o| Self::is(&o, What::Ack));
        match self.mistake {
            Mistake::NeverAcks => self.outputs.retain(|o| !Self::is(o, What::Ack)),
            Mistake::AcksLast if acks => self.outputs.make_contiguous()[..sends].rotate_left(1),
            Mistake::AcksTwice => {
                if let Some(ack) = first.filter(|_| acks) {
                    self.outputs.push_front(ack);
                }
            }
            // Who was silent gets everything again, in the place of the one after it.
            Mistake::TriesAgain if !received => {
                for output in &mut self.outputs {
                    if let (Output::Send { to, .. }, Some(silent)) = (output, silent) {
                        *to = silent;
                    }
                }
            }
            Mistake::KeepsAnnouncements if received => {
                self.outputs.retain(|o| !Self::is(o, What::Coordinator));
            }
            Mistake::NoEvents => self.outputs.retain(|o| !matches!(o, Output::Event(_))),
            Mistake::WakesLate => {
                for output in &mut self.outputs {
                    if let Output::WakeAt(Some(at)) = output {
                        *at = *at + Duration::from_millis(1);
                    }
                }
            }
            _ => {}
        }
    }
}

impl<M: Ring> Program for Wrong<M> {
    const NAME: &'static str = <M::Program as Program>::NAME;
    type Durable = Nothing;
    type Message = Message<M>;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Message<M>>) {
        let earlier = std::mem::replace(&mut self.now, now);
        let was_up = self.up();
        let silent = M::holder(&self.core);
        let due = self.core.armed().any(|(_, deadline)| deadline <= now);
        match input {
            _ if self.swallows(now, input) => self.feed(now, Input::Wake),
            Input::Receive { .. } if self.mistake == Mistake::MessageBeforeDeadline && due => {
                self.core.handle(earlier, input);
                self.feed(now, Input::Wake);
            }
            _ => self.feed(now, input),
        }
        if let (Mistake::AcksBeforeBoot, false, Input::Receive { from, message }) =
            (self.mistake, was_up, input)
            && M::what(message) != What::Ack
        {
            self.outputs.push_front(Output::Send { to: from, message: M::ack() });
        }
        self.falsify(input, silent);
    }

    fn poll(&mut self) -> Option<Out<M>> {
        self.outputs.pop_front()
    }

    fn remembers(&self) -> impl Remembered {
        self.core.remembers()
    }

    fn status(&self) -> Status {
        self.core.status()
    }

    fn bring_forward(&mut self, timer: Timer, deadline: Time) {
        self.core.bring_forward(timer, deadline);
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.core.armed()
    }
}

/// The mapping of a ring, for a program with a mistake.
pub(crate) struct WrongMapping<M: Ring>(pub(crate) M, pub(crate) Mistake);

impl<M: Ring> Mapping for WrongMapping<M> {
    type Spec = M::Spec;
    type Program = Wrong<M>;
    type Memory = M::Memory;

    const RULES: M::Spec = M::RULES;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Nothing>,
    ) -> Result<Wrong<M>, Refusal> {
        Ok(Wrong::new(self.0.program(id, members, durable)?, self.1))
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<Message<M>>)> {
        self.0.settle(id, members)
    }

    fn to_program(&self, message: SpecMessage<M>) -> Option<Message<M>> {
        self.0.to_program(message)
    }

    fn to_model(&self, message: Message<M>) -> SpecMessage<M> {
        self.0.to_model(message)
    }

    fn period(&self, id: NodeId, members: &Members, timer: SpecTimer<M>) -> Option<Duration> {
        self.0.period(id, members, timer)
    }

    fn timer(&self, timer: Timer) -> SpecTimer<M> {
        self.0.timer(timer)
    }

    fn process(&self, program: &Wrong<M>) -> Process<M> {
        self.0.process(&program.core)
    }

    fn stable(&self, durable: &Nothing) -> bellwether_conformance::mapping::Stable<M> {
        match *durable {}
    }

    fn memory(&self, program: &Wrong<M>) -> M::Memory {
        self.0.memory(&program.core)
    }

    fn messages(&self) -> Vec<SpecMessage<M>> {
        self.0.messages()
    }

    fn messages_among(&self, nodes: usize) -> Vec<SpecMessage<M>> {
        self.0.messages_among(nodes)
    }

    fn reason(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.0.reason(step)
    }

    fn ignores(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.0.ignores(step)
    }

    fn rules(&self, happening: &Happening<M::Spec>) -> &'static [&'static str] {
        self.0.rules(happening)
    }
}
