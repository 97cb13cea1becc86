//! The mapping of any variant of the quorum bully, whose type is forgotten: the bridge is compiled
//! for each type, which takes long, and these differ in their rules alone.
//!
//! A constant is that of a type, and so of the recommended rules. What differs by variant is asked
//! of the mapping as a value.

use super::{QuorumMapping, Recommended, Variant, program, spec};
use crate::mapping::{
    Asked, Counters, EnvironmentEvent, ExpectedFacts, Further, Harmless, Mapping, OnInvalid, Order,
    ProcessView, Restart, SpecEvent, Start, Step,
};
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_core::protocol::{Input, Members, Node, NodeId, Request, Role};
use bellwether_model::protocol::{Id, Timers};
use std::time::Duration;

/// The mapping of some variant.
#[derive(Clone, Copy)]
pub struct AnyQuorum(&'static (dyn AnyVariant + Sync));

impl AnyQuorum {
    /// The mapping of this variant, for a registry.
    #[must_use]
    pub const fn of<V: Variant>() -> Self {
        AnyQuorum(QuorumMapping::<V>::ANY)
    }
}

impl<V: Variant> QuorumMapping<V> {
    const ANY: &'static (dyn AnyVariant + Sync) = &Self::new();
}

type Spec = spec::Quorum;
type Program = Node<program::Quorum>;
type Named = &'static [(&'static str, &'static str)];
type First = QuorumMapping<Recommended>;

/// Has these methods of a mapping taken by the variant.
macro_rules! taken_by_the_variant {
    ($(fn $name:ident($($argument:ident: $of:ty),*) -> $result:ty;)*) => {
        trait AnyVariant {
            $(fn $name(&self, $($argument: $of),*) -> $result;)*

            fn further(&self) -> Vec<Further<AnyQuorum>>;
        }

        impl<V: Variant> AnyVariant for QuorumMapping<V> {
            $(fn $name(&self, $($argument: $of),*) -> $result {
                Mapping::$name(self, $($argument),*)
            })*

            fn further(&self) -> Vec<Further<AnyQuorum>> {
                V::further()
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Mapping for AnyQuorum {
            type Spec = Spec;
            type Program = Program;
            type Memory = ();

            const RULES: Spec = First::RULES;
            const COUNTERS: Counters<Self> = First::COUNTERS.of();
            const LOG_RULES: Spec = First::LOG_RULES;
            const FROM: &'static [u64] = First::FROM;
            const RESTARTS: usize = First::RESTARTS;
            const LARGEST_EPOCH: u64 = First::LARGEST_EPOCH;

            $(fn $name(&self, $($argument: $of),*) -> $result {
                self.0.$name($($argument),*)
            })*

            fn further(&self) -> Vec<Further<Self>> {
                self.0.further()
            }

            fn memory(&self, _: &Program) {}
        }
    };
}

taken_by_the_variant! {
    fn own_rules() -> Spec;
    fn log_rules() -> Spec;
    fn nearest_rules(rules: &Spec) -> Spec;
    fn unplayed_services() -> Option<&'static str>;
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
    fn restart(
        with: usize, id: NodeId, members: &Members, durable: &program::Durable
    ) -> Result<Restart<Program>, Refusal>;
    fn period_again(
        with: usize, id: NodeId, members: &Members, timer: spec::Timer
    ) -> Option<Duration>;
    fn starts(
        id: NodeId, members: &Members, durable: &program::Durable
    ) -> Vec<Start<Program, Spec>>;
    fn own_period(
        node: &Program, id: NodeId, members: &Members, timer: spec::Timer
    ) -> Option<Duration>;
    fn checked_first() -> &'static [spec::Timer];
    fn detects(timer: spec::Timer) -> Option<NodeId>;
    fn asks(timer: spec::Timer) -> Option<Request>;
    fn when_asked(request: Request, process: &spec::Process, armed: Timers) -> Asked<Spec>;
    fn environment_event(timer: spec::Timer) -> Option<EnvironmentEvent<Program>>;
    fn orders(of: &ProcessView<'_, Spec>, armed: Timers) -> Vec<Order<Spec>>;
    fn harmless() -> Vec<Harmless<Program>>;
    fn settling_timers(id: NodeId, members: &Members) -> &'static [spec::Timer];
    fn process(node: &Program) -> spec::Process;
    fn believes(id: Id, process: &spec::Process) -> Option<(Role, Option<Id>)>;
    fn facts(of: &ProcessView<'_, Spec>) -> Option<ExpectedFacts<Spec>>;
    fn limits(id: NodeId, members: &Members) -> Option<Limits>;
    fn stable(durable: &program::Durable) -> spec::Stable;
    fn began(id: NodeId, members: &Members) -> Option<program::Durable>;
    fn rebase(node: &Program, process: spec::Process) -> spec::Process;
    fn ignored_fields() -> Named;
    fn messages() -> Vec<spec::Letter>;
    fn messages_among(nodes: usize) -> Vec<spec::Letter>;
    fn uncovered() -> Named;
    fn invalid_messages(members: &Members) -> Vec<(program::Message, OnInvalid<Spec>)>;
    fn reason(step: &Step<'_, Spec>) -> Option<&'static str>;
    fn ignores(step: &Step<'_, Spec>) -> Option<&'static str>;
    fn rules(happening: &SpecEvent<Spec>) -> &'static [&'static str];
}
