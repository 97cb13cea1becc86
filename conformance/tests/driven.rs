//! Suites through the driver: each transition is taken, and a driver that is copied does the same
//! as the original. Wrong drivers are among the mutants.

use bellwether_conformance::driven::{Driven, DrivenNode};
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::quorum::{AnyQuorum, Recommended};
use bellwether_conformance::program::Program;
use bellwether_conformance::replay::replay;
use bellwether_conformance::suite::{find, run};
use bellwether_core::protocol::{Input, Members, NodeId, Output, Time, bully};
use bellwether_model::check::Limits;
use bellwether_model::world::{Scenario, Start, World};
use std::time::Duration;

use crate::cli::{json_of, says};

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);

#[track_caller]
fn takes_all<M: Mapping + Sync>(mapping: &M, scenario: Scenario) {
    let world = World::new(M::RULES, scenario).expect("possible");
    let suite = find(mapping, &world, 2, &Limits::NONE, &mut |_| {}).expect("comparable");
    let ran = run(mapping, &suite, 2, &Limits::NONE, &|_| {}).expect("comparable");
    assert_eq!(ran.divergence, None, "{scenario}");
    assert_eq!(ran.transitions, suite.summary().transitions, "{scenario}");
}

#[test]
fn every_transition_of_three_nodes_with_a_crash_and_a_recovery() {
    takes_all(&Driven(BullyMapping), CRASH_AND_RECOVERY);
    takes_all(&Driven(AnyQuorum::of::<Recommended>()), CRASH_AND_RECOVERY);
}

#[test]
fn a_group_that_has_just_started() {
    takes_all(&Driven(BullyMapping), Scenario { start: Start::Cold, ..CRASH_AND_RECOVERY });
}

#[test]
fn a_trace_is_replayed_through_the_driver() {
    let mapping = AnyQuorum::of::<Recommended>();
    let world = World::new(AnyQuorum::RULES, Scenario::calm(3).with_crashes(1, 0));
    let world = world.expect("possible");
    let suite = find(&mapping, &world, 1, &Limits::NONE, &mut |_| {}).expect("comparable");
    let trace = suite.trace(suite.len() - 1);
    let replayed = replay(&Driven(mapping), &trace).expect("comparable");
    assert_eq!(replayed.divergence, None);
    assert!(replayed.steps > 0);
}

type Outputs = Vec<Output<bellwether_core::protocol::Nothing, bully::Message>>;

/// All that follows from an input.
fn after(node: &mut DrivenNode<bully::Bully>, now: Time, input: Input<bully::Message>) -> Outputs {
    node.handle(now, input);
    assert_eq!(node.broken_promise(), None);
    std::iter::from_fn(|| node.poll()).collect()
}

#[test]
fn a_copy_does_the_same_as_the_original() {
    let ids = [1, 2, 3].map(|id| NodeId::new(id).expect("not zero"));
    let members = Members::new(ids).expect("valid");
    let mapping = Driven(BullyMapping);
    let mut node = mapping.program(ids[1], &members, None).expect("valid");
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    assert!(!after(&mut node, at(5), Input::Boot).is_empty());
    let copy = node.clone();
    let answer = Input::Receive { from: ids[2], message: bully::Message::Ok };
    let first = after(&mut node, at(6), answer.clone());
    assert!(first.iter().any(|output| matches!(output, Output::Event(_))), "{first:?}");
    for _ in 0..2 {
        let mut copy = copy.clone();
        assert_eq!(after(&mut copy, at(6), answer.clone()), first);
        assert_eq!(copy.node(), node.node());
    }
    assert!(copy.node() != node.node(), "nothing has happened to it");
}

#[test]
fn the_report_says_how_much_was_taken() {
    let line = "suite bully --recoveries 1 --through driver";
    let taken = "transitions taken through the driver: 1,841 of 1,841";
    says(line, 0, &[taken, "The program conforms to each execution"]);
    let object = json_of(line, "bellwether-conformance-suite");
    assert_eq!(object["through"], "driver");
    assert_eq!(object["ran"]["transitions"], object["suite"]["transitions"]);
}
