//! Suites through the driver: each transition is taken, a driver that is copied does the same as
//! the original, and what surrounds the node is compared as well. Wrong drivers are among the
//! mutants.

use crate::wrapper::{Hooks, Wrapped, WrongMapping};
use assert_cmd::Command;
use bellwether_conformance::driven::{Driven, DrivenNode};
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::quorum::{AnyQuorum, Recommended};
use bellwether_conformance::mapping::{Mapping, ProgramInput, ProgramOutput};
use bellwether_conformance::program::Program;
use bellwether_conformance::replay::replay;
use bellwether_conformance::suite::{Ran, find, run};
use bellwether_core::protocol::{Event, Input, Members, NodeId, Output, Time, bully};
use bellwether_model::check::Limits;
use bellwether_model::world::{Scenario, Start, World};
use predicates::prelude::*;
use std::time::Duration;

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);

/// What comes of a suite, and how many transitions it has.
fn ran<M: Mapping + Sync>(mapping: &M, scenario: Scenario) -> (Ran, u64) {
    let world = World::new(M::RULES, scenario).expect("possible");
    let suite = find(mapping, &world, 2, &Limits::NONE, &mut |_| {}).expect("comparable");
    let ran = run(mapping, &suite, 2, &Limits::NONE, &|_| {}).expect("comparable");
    (ran, suite.summary().transitions)
}

#[track_caller]
fn takes_all<M: Mapping + Sync>(mapping: &M, scenario: Scenario) {
    let (ran, transitions) = ran(mapping, scenario);
    assert_eq!(ran.divergence, None, "{scenario}");
    assert_eq!(ran.transitions, transitions, "{scenario}");
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

/// A driver that surrounds a right node, and of which others see something else.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    /// What is sent is sent before a state is durable.
    SendsFirst,
    /// That the node leads is told before all is sent.
    TellsFirst,
    /// That the node does not lead is not told.
    ForgetsTheEnd,
    /// A message that was ignored is not told.
    IgnoresInSilence,
    /// A wake-up comes a millisecond late.
    WakesLate,
    /// A state that is durable is written a second time.
    WritesTwice,
}

impl<M: Mapping> Hooks<M> for Mistake {
    fn handle(&mut self, node: &mut Wrapped<M::Program>, now: Time, input: ProgramInput<M>) {
        node.feed(now, input);
        let rank = |output: &ProgramOutput<M>| match (*self, output) {
            (Mistake::SendsFirst, Output::Send { .. })
            | (Mistake::TellsFirst, Output::Event(Event::RoleChanged { .. })) => 0,
            _ => 1,
        };
        node.outputs.make_contiguous().sort_by_key(rank);
        match *self {
            Mistake::WakesLate => node.wake_late(),
            Mistake::ForgetsTheEnd => node.change(|_, output| match output {
                Output::Event(Event::RoleChanged { leader: None, .. }) => None,
                output => Some(output),
            }),
            Mistake::IgnoresInSilence => node.change(|_, output| match output {
                Output::Event(Event::Ignored { .. }) => None,
                output => Some(output),
            }),
            Mistake::WritesTwice => {
                let first = node.outputs.front().cloned();
                let writes = first.filter(|output| matches!(output, Output::Persist(_)));
                writes.into_iter().for_each(|output| node.outputs.push_front(output));
            }
            Mistake::SendsFirst | Mistake::TellsFirst => {}
        }
    }
}

#[test]
fn what_others_see_of_a_driver_is_compared() {
    let quorum = || Driven(AnyQuorum::of::<Recommended>());
    for mistake in [
        Mistake::SendsFirst,
        Mistake::TellsFirst,
        Mistake::ForgetsTheEnd,
        Mistake::IgnoresInSilence,
        Mistake::WakesLate,
        Mistake::WritesTwice,
    ] {
        let (ran, _) = ran(&WrongMapping::new(quorum(), mistake), CRASH_AND_RECOVERY);
        let found = ran.divergence.unwrap_or_else(|| panic!("{mistake:?} shows nowhere"));
        println!("{mistake:?}: {}", found.differences[0]);
    }
}

#[test]
fn the_report_says_how_much_was_taken() {
    let line = ["suite", "bully", "--recoveries", "1", "--through", "driver"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
    command.args(line).assert().code(0).stdout(
        predicate::str::contains("transitions taken through the driver: 1,841 of 1,841")
            .and(predicate::str::contains("The program conforms to each execution")),
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
    let output = command.args(line).arg("--json").output().expect("ran");
    let object = bellwether_docs_runner::object_of("bellwether-conformance-suite", &output.stdout);
    assert_eq!(object["through"], "driver");
    assert_eq!(object["ran"]["transitions"], object["suite"]["transitions"]);
}
