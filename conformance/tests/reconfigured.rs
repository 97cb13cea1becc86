//! Nodes that start again with other durations, and what they promised by the earlier ones.

use bellwether_conformance::divergence::Kind;
use bellwether_conformance::further::Reconfigured;
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::quorum::{AnyQuorum, Recommended};
use bellwether_core::protocol::quorum::Durable;
use bellwether_model::check::Limits;
use bellwether_model::world::Scenario;
use std::time::Duration;

use crate::compared;
use crate::wrapper::{Hooks, WrongMapping};

const WORLD: Scenario = Scenario::calm(2).with_crashes(1, 1);

const QUORUM: AnyQuorum = AnyQuorum::of::<Recommended>();

/// The numbers of the shorter durations, and of the longer ones.
const SHORTER: usize = 0;
const LONGER: usize = 1;

#[test]
fn a_node_that_starts_again_counts_the_longest_promise() {
    assert_eq!(AnyQuorum::RESTARTS, 2);
    let once = compared::walk(&QUORUM, WORLD, &Limits::NONE);
    for with in [SHORTER, LONGER] {
        let again = compared::walk(&Reconfigured(&QUORUM, with), WORLD, &Limits::NONE);
        assert!(again.transitions >= once.transitions, "{again:?}");
    }
}

/// A node that takes its promises before for as long as this.
#[derive(Clone, Copy, Debug)]
struct Remembers(Duration);

impl Hooks<Reconfigured<'_, AnyQuorum>> for Remembers {
    fn kept(&self, right: Option<Durable>) -> Option<Durable> {
        right.map(|kept| Durable { promise: Some(self.0), ..kept })
    }
}

#[test]
fn a_promise_as_short_as_those_of_today_forgets_a_longer_one() {
    let wrong = Remembers(Duration::from_millis(1_100));
    let wrong = WrongMapping::new(Reconfigured(&QUORUM, SHORTER), wrong);
    compared::caught(&wrong, WORLD, Kind::Different, "quiet due in 1.2s in the model");
}

#[test]
fn a_longer_promise_that_is_not_durable_is_given() {
    let wrong = Remembers(Duration::from_millis(1_500));
    let wrong = WrongMapping::new(Reconfigured(&QUORUM, LONGER), wrong);
    compared::caught(&wrong, WORLD, Kind::Different, "what is durable first");
}
