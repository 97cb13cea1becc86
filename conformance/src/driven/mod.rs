//! The driver of the program, compared with the specification by the mapping of its protocol.
//!
//! What is compared elsewhere is a node: a pure state machine, whose outputs are taken as they come
//! out of it. Here the loop of the production driver is around that node, with the commit of its
//! states, its lease, and what it tells of the leadership ([`steered`](bellwether::driver::steered)
//! says what is its own there, and what is not). The outputs are what others can see of it:
//!
//! | output | what it is here |
//! |---|---|
//! | a write | a state that the disk has made durable |
//! | a message | what waits in the queue of a connection |
//! | an event | a change that a program reads of the leadership, or a line of the log |
//! | the role and the leader | what a program reads of the leadership |
//! | the state, the timers | those of the node in the loop |
//!
//! A timer expires because the loop wakes up by itself. Only where the model's order is another
//! than that of the durations, its deadline is brought forward, as for a node alone. After each
//! input the disk lets through what is written, one write after the other, and what can be seen
//! before counts as before it. What no output shows, such as when a guard is valid, is a promise
//! that is looked at by itself.

mod live;
mod node;
mod promises;

pub use node::DrivenNode;

use crate::mapping::bully::BullyMapping;
use crate::mapping::quorum::{Preemptive, QuorumMapping, Recommended};
use crate::mapping::{
    ExpectedFacts, Mapping, Mappings, OnInvalid, Process, ProcessView, Runs, SpecEvent,
    SpecMessage, SpecTimer, Stable, Step,
};
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_core::protocol::{Core, Input, Members, Node, NodeId, Request, Role};
use bellwether_model::protocol::Id;
use std::time::Duration;

/// The mappings of the protocols that are compared through the driver.
pub static DRIVEN: Mappings<dyn Runs> = Mappings(&[
    &Driven(BullyMapping),
    &Driven(QuorumMapping::<Recommended>::new()),
    &Driven(QuorumMapping::<Preemptive>::new()),
]);

/// The mapping of a node, for the driver around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Driven<M>(pub M);

impl<M, C> Mapping for Driven<M>
where
    C: Core,
    M: Mapping<Program = Node<C>>,
{
    type Spec = M::Spec;
    type Program = DrivenNode<C>;
    type Memory = M::Memory;

    const RULES: M::Spec = M::RULES;
    const LOG_RULES: M::Spec = M::LOG_RULES;
    const LARGEST_EPOCH: u64 = M::LARGEST_EPOCH;

    fn own_rules(&self) -> M::Spec {
        self.0.own_rules()
    }

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&C::Durable>,
    ) -> Result<DrivenNode<C>, Refusal> {
        let node = self.0.program(id, members, durable)?;
        let others = members.iter().filter(|&other| other != id).collect();
        Ok(DrivenNode::new(node, durable.cloned(), others))
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<C::Message>)> {
        self.0.settle(id, members)
    }

    fn to_program(&self, message: SpecMessage<M>) -> Option<C::Message> {
        self.0.to_program(message)
    }

    fn to_model(&self, message: C::Message) -> SpecMessage<M> {
        self.0.to_model(message)
    }

    fn message_sent(&self, program: &DrivenNode<C>, message: C::Message) -> SpecMessage<M> {
        self.0.message_sent(program.node(), message)
    }

    fn reaches(&self, program: &DrivenNode<C>, message: SpecMessage<M>) -> bool {
        self.0.reaches(program.node(), message)
    }

    fn timer(&self, timer: C::Timer) -> SpecTimer<M> {
        self.0.timer(timer)
    }

    fn period(&self, id: NodeId, members: &Members, timer: SpecTimer<M>) -> Option<Duration> {
        self.0.period(id, members, timer)
    }

    fn checked_first(&self) -> &'static [SpecTimer<M>] {
        self.0.checked_first()
    }

    fn detects(&self, timer: SpecTimer<M>) -> Option<NodeId> {
        self.0.detects(timer)
    }

    fn asks(&self, timer: SpecTimer<M>) -> Option<Request> {
        self.0.asks(timer)
    }

    fn process(&self, program: &DrivenNode<C>) -> Process<M> {
        self.0.process(program.node())
    }

    fn believes(&self, id: Id, process: &Process<M>) -> Option<(Role, Option<Id>)> {
        self.0.believes(id, process)
    }

    fn stable(&self, durable: &C::Durable) -> Stable<M> {
        self.0.stable(durable)
    }

    fn memory(&self, program: &DrivenNode<C>) -> M::Memory {
        self.0.memory(program.node())
    }

    fn ignored_fields(&self) -> &'static [(&'static str, &'static str)] {
        self.0.ignored_fields()
    }

    fn messages(&self) -> Vec<SpecMessage<M>> {
        self.0.messages()
    }

    fn messages_among(&self, nodes: usize) -> Vec<SpecMessage<M>> {
        self.0.messages_among(nodes)
    }

    fn uncovered(&self) -> &'static [(&'static str, &'static str)] {
        self.0.uncovered()
    }

    fn invalid_messages(&self, members: &Members) -> Vec<(C::Message, OnInvalid<M::Spec>)> {
        self.0.invalid_messages(members)
    }

    fn reason(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.0.reason(step)
    }

    fn ignores(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.0.ignores(step)
    }

    fn facts(&self, of: &ProcessView<'_, M::Spec>) -> Option<ExpectedFacts<M::Spec>> {
        self.0.facts(of)
    }

    fn limits(&self, id: NodeId, members: &Members) -> Option<Limits> {
        self.0.limits(id, members)
    }

    fn rules(&self, happening: &SpecEvent<M::Spec>) -> &'static [&'static str] {
        self.0.rules(happening)
    }
}
