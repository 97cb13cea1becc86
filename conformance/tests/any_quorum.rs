//! The mapping of any variant of the quorum bully takes what no walk asks for from the variant too.

use bellwether_conformance::mapping::quorum::{AnyQuorum, Preemptive, Recommended};
use bellwether_conformance::mapping::{Asked, Mapping};
use bellwether_core::protocol::{Members, NodeId, Request};
use bellwether_model::protocol::{Timers, quorum as spec};

/// What nodes are asked by logs, and what they have kept of a long run, the variant says.
#[test]
fn what_no_walk_asks_for_is_taken_by_the_variant_too() {
    let any = AnyQuorum::of::<Recommended>();
    let [lowest, highest] = [1, 2].map(|id| NodeId::new(id).expect("not zero"));
    let leader = spec::Process { role: spec::Role::Leader, ..spec::Process::default() };
    let asked = any.when_asked(Request::Transfer(lowest), &leader, Timers::NONE);
    let asks = |asked: Asked<spec::Quorum>| match asked {
        Asked::Expiry(rules, timer) => Some((rules, timer)),
        Asked::Unknown | Asked::Nothing => None,
    };
    assert_eq!(asks(asked), Some((any.log_rules(), spec::Timer::Request)));
    let preemptive = AnyQuorum::of::<Preemptive>();
    let own = preemptive.own_rules();
    let founded = spec::Quorum { founding: spec::Founding::AllMet, ..own };
    assert_eq!(preemptive.log_rules(), founded);
    assert_ne!(preemptive.log_rules(), any.log_rules());
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
