//! The mapping of any variant of the quorum bully, whose type is forgotten: the bridge is compiled
//! for each type, which takes long, and these differ in their rules alone.

use bellwether_conformance::mapping::quorum::{QuorumMapping, Recommended, Variant};
use bellwether_conformance::mapping::{
    ExpectedFacts, Mapping, Order, ProcessView, SpecEvent, Step,
};
use bellwether_conformance::program::{Limits, Refusal};
use bellwether_core::protocol::quorum as program;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Request, Role};
use bellwether_model::protocol::{Id, Timers, quorum as spec};
use std::time::Duration;

/// The mapping of some variant.
pub(crate) struct AnyQuorum(Box<dyn AnyVariant>);

impl AnyQuorum {
    pub(crate) fn of<V: Variant + 'static>() -> Self {
        AnyQuorum(Box::new(QuorumMapping::<V>::new()))
    }
}

type Spec = spec::Quorum;
type Program = Node<program::Quorum>;
type Named = &'static [(&'static str, &'static str)];

/// Has these methods of a mapping taken by the variant.
macro_rules! taken_by_the_variant {
    ($(fn $name:ident($($argument:ident: $of:ty),*) -> $result:ty;)*) => {
        trait AnyVariant {
            $(fn $name(&self, $($argument: $of),*) -> $result;)*
        }

        impl<V: Variant> AnyVariant for QuorumMapping<V> {
            $(fn $name(&self, $($argument: $of),*) -> $result {
                Mapping::$name(self, $($argument),*)
            })*
        }

        impl Mapping for AnyQuorum {
            type Spec = Spec;
            type Program = Program;
            type Memory = ();

            const RULES: Spec = <QuorumMapping<Recommended> as Mapping>::RULES;
            const LARGEST_EPOCH: u64 = <QuorumMapping<Recommended> as Mapping>::LARGEST_EPOCH;

            $(fn $name(&self, $($argument: $of),*) -> $result {
                self.0.$name($($argument),*)
            })*

            fn memory(&self, _: &Program) {}
        }
    };
}

taken_by_the_variant! {
    fn own_rules() -> Spec;
    fn program(
        id: NodeId, members: &Members, durable: Option<&program::Durable>
    ) -> Result<Program, Refusal>;
    fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)>;
    fn to_program(letter: spec::Letter) -> Option<program::Message>;
    fn to_model(message: program::Message) -> spec::Letter;
    fn message_sent(node: &Program, message: program::Message) -> spec::Letter;
    fn reaches(node: &Program, letter: spec::Letter) -> bool;
    fn timer(timer: program::Timer) -> spec::Timer;
    fn period(id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration>;
    fn checked_first() -> &'static [spec::Timer];
    fn asks(timer: spec::Timer) -> Option<Request>;
    fn orders(of: &ProcessView<'_, Spec>, armed: Timers) -> Vec<Order<Spec>>;
    fn process(node: &Program) -> spec::Process;
    fn believes(id: Id, process: &spec::Process) -> Option<(Role, Option<Id>)>;
    fn facts(of: &ProcessView<'_, Spec>) -> Option<ExpectedFacts<Spec>>;
    fn limits(id: NodeId, members: &Members) -> Option<Limits>;
    fn stable(durable: &program::Durable) -> spec::Stable;
    fn ignored_fields() -> Named;
    fn messages() -> Vec<spec::Letter>;
    fn uncovered() -> Named;
    fn reason(step: &Step<'_, Spec>) -> Option<&'static str>;
    fn ignores(step: &Step<'_, Spec>) -> Option<&'static str>;
    fn rules(happening: &SpecEvent<Spec>) -> &'static [&'static str];
}
