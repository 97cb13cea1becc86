//! What is told of a wrong program, in words: of a difference before the beginning, of one in what
//! a node tells the outside, and of one that a request shows. Most wrong programs are rows of
//! `conformance/mutants`, where it counts only that each is caught.

use bellwether_conformance::divergence::Kind;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::quorum::{AnyQuorum, Recommended};
use bellwether_conformance::mapping::{Mapping, ProgramTimer};
use bellwether_conformance::program::{Facts, Program as _};
use bellwether_core::protocol::chang_roberts::{self, ChangRoberts};
use bellwether_core::protocol::quorum::{self, Quorum, Timer};
use bellwether_core::protocol::{Input, Node, Request, Role, Time};
use bellwether_model::world::Scenario;

use crate::compared;
use crate::wrapper::{Hooks, Wrapped, WrongMapping};

const WORLD: Scenario = Scenario::calm(2).with_crashes(1, 1);

/// A node of the ring of ids that takes no notice of acknowledgements.
#[derive(Clone, Copy, Debug)]
struct Deaf;

impl Hooks<ChangRobertsMapping> for Deaf {
    fn handle(
        &mut self,
        node: &mut Wrapped<Node<ChangRoberts>>,
        now: Time,
        input: Input<chang_roberts::Message>,
    ) {
        match input {
            Input::Receive { message: chang_roberts::Message::Ack(_), .. } => {
                node.feed(now, Input::Wake);
            }
            input => node.feed(now, input),
        }
    }
}

/// What differs before the beginning is compared input by input, and told in words.
#[test]
fn a_difference_before_the_beginning_names_the_input() {
    let world = Scenario::calm(3).with_crashes(1, 1);
    let wrong = WrongMapping::new(ChangRobertsMapping, Deaf);
    let found = compared::caught(&wrong, world, Kind::Different, "outbox");
    assert_eq!(found.step, 0, "{found}");
    assert!(found.happened.contains("gets ACK(coordinator 3)"), "{found}");
    assert!(found.to_string().contains("nothing in the model, (COORDINATOR(3), 2)"), "{found}");
    let report = found.report(true);
    assert!(!report.contains(['{', '[']), "raw data:\n{report}");
    assert!(report.contains("\n 1. 1 starts.\n 2. 1 gets COORDINATOR(3) from 2."), "{report}");
}

/// What a node does not tell the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    /// It tells all.
    Nothing,
    /// The epoch of the leader that it follows.
    ItsEpoch,
    /// The nodes that it waits for.
    WhomItWaitsFor,
}

impl<M: Mapping> Hooks<M> for Keeps {
    fn compares_facts(&self) -> bool {
        true
    }

    fn facts(&self, node: &Wrapped<M::Program>) -> Facts<ProgramTimer<M>> {
        let mut right = node.core.facts();
        match self {
            Keeps::Nothing => {}
            Keeps::ItsEpoch => right.epoch = right.epoch.filter(|_| node.role() == Role::Leader),
            Keeps::WhomItWaitsFor => right.waits_for = None,
        }
        right
    }
}

#[test]
fn what_a_node_tells_the_outside_is_compared() {
    let quorum = AnyQuorum::of::<Recommended>();
    assert_eq!(compared::first_difference(&WrongMapping::new(quorum, Keeps::Nothing), WORLD), None);
    let quorum = WrongMapping::new(AnyQuorum::of::<Recommended>(), Keeps::ItsEpoch);
    let about = "different epoch of 1: 1 in the model, none in the program";
    compared::caught(&quorum, WORLD, Kind::Different, about);
    let bully = WrongMapping::new(BullyMapping, Keeps::WhomItWaitsFor);
    let about = "nodes that it waits for of 1: 2 (election) in the model, none in the program";
    compared::caught(&bully, WORLD, Kind::Different, about);
}

/// A node that is asked to stay away, and does so for the first time that it was given.
#[derive(Clone, Copy, Debug)]
struct TheFirstCounts;

impl Hooks<AnyQuorum> for TheFirstCounts {
    fn probes_requests(&self) -> bool {
        true
    }

    fn handle(
        &mut self,
        node: &mut Wrapped<Node<Quorum>>,
        now: Time,
        input: Input<quorum::Message>,
    ) {
        match input {
            Input::Request(Request::StepDown(..)) if node.due(Timer::Away).is_some() => {
                node.feed(now, Input::Wake);
            }
            input => node.feed(now, input),
        }
    }
}

#[test]
fn a_request_that_comes_twice_is_told_as_the_second() {
    let wrong = WrongMapping::new(AnyQuorum::of::<Recommended>(), TheFirstCounts);
    compared::caught(&wrong, WORLD, Kind::Missing, "and then the same again");
}
