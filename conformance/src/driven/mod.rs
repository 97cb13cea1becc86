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
use crate::mapping::quorum::{AnyQuorum, Preemptive, Recommended};
use crate::mapping::{Mapping, Mappings, Order, ProcessView, Runs};
use bellwether_bridge::program::Refusal;
use bellwether_bridge::wraps::Wraps;
use bellwether_core::protocol::{Core, Members, Node, NodeId};
use bellwether_model::protocol::Timers;

/// The mappings of the protocols that are compared through the driver.
pub static DRIVEN: Mappings<dyn Runs> = Mappings(&[
    &Driven(BullyMapping),
    &Driven(AnyQuorum::of::<Recommended>()),
    &Driven(AnyQuorum::of::<Preemptive>()),
]);

/// The mapping of a node, for the driver around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Driven<M>(pub M);

impl<M, C> Wraps for Driven<M>
where
    C: Core,
    M: Mapping<Program = Node<C>>,
{
    type Inner = M;
    type Program = DrivenNode<C>;
    type Memory = ();

    fn inner(&self) -> &M {
        &self.0
    }

    fn inside(program: &DrivenNode<C>) -> &Node<C> {
        program.node()
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

    fn memory(&self, _: &DrivenNode<C>) {}

    /// What a person asks for has a way of its own through the driver.
    fn orders(&self, _: &ProcessView<'_, M::Spec>, _: Timers) -> Vec<Order<M::Spec>> {
        Vec::new()
    }
}
