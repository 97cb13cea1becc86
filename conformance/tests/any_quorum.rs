//! The mapping of any variant of the quorum bully, whose type is forgotten: the bridge is compiled
//! for each type, which takes long, and these differ in their rules alone.
//!
//! A constant is that of a type, and so of the recommended rules. What differs by variant is asked
//! of the mapping as a value.

use bellwether_conformance::mapping::quorum::{QuorumMapping, Recommended, Variant};
use bellwether_conformance::mapping::{
    Asked, Counters, EnvironmentEvent, ExpectedFacts, Harmless, Mapping, OnInvalid, Order,
    ProcessView, Restart, SpecEvent, Step,
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
type First = QuorumMapping<Recommended>;

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

            fn memory(&self, _: &Program) {}
        }
    };
}

taken_by_the_variant! {
    fn own_rules() -> Spec;
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

/// What nodes are asked by logs, and what they have kept of a long run, the variant says.
#[test]
fn what_no_walk_asks_for_is_taken_by_the_variant_too() {
    let any = AnyQuorum::of::<Recommended>();
    let [lowest, highest] = [1, 2].map(|id| NodeId::new(id).expect("not zero"));
    let leader = spec::Process { role: spec::Role::Leader, ..spec::Process::default() };
    let asked = any.when_asked(Request::Transfer(lowest), &leader, Timers::NONE);
    let asks = |asked: Asked<Spec>| match asked {
        Asked::Expiry(rules, timer) => Some((rules, timer)),
        Asked::Unknown | Asked::Nothing => None,
    };
    assert_eq!(asks(asked), Some((AnyQuorum::LOG_RULES, spec::Timer::Request)));
    let follower = spec::Process::default();
    let asked = any.when_asked(Request::Transfer(lowest), &follower, Timers::NONE);
    assert!(matches!(asked, Asked::Nothing), "{asked:?}");

    let members = Members::new([lowest, highest]).expect("valid");
    let began = any.began(highest, &members).expect("something");
    assert_eq!(Some(began.epoch.number()), AnyQuorum::FROM.first().copied());
    let mut lowers = |_: usize, number: u64| number - AnyQuorum::FROM[0];
    let lowered = (AnyQuorum::COUNTERS.in_durable)(&began, &mut lowers);
    assert_eq!(any.stable(&lowered), spec::Stable::default());
    let again = any.restart(AnyQuorum::RESTARTS - 1, highest, &members, &began).expect("valid");
    assert!(again.written.is_some_and(|written| written.promise > began.promise));
}
