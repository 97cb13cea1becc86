//! The production cores of two- and three-phase commit against their models: every transition of
//! bounded worlds.

use bellwether_conformance::mapping::commit::{CommitMapping, Pair};
use bellwether_core::protocol::commit::{Three, Two};
use bellwether_model::check::Limits;
use bellwether_model::world::{Faults, Scenario, Start};

use crate::compared::{conforms, conforms_by, walk};

fn with(nodes: usize, change: impl FnOnce(&mut Faults)) -> Scenario {
    let mut scenario = Scenario::calm(nodes);
    change(&mut scenario.faults);
    scenario
}

fn both(scenario: Scenario, kinds: &[&str]) {
    conforms_by(&CommitMapping::<Two>::new(), scenario, kinds);
    conforms_by(&CommitMapping::<Three>::new(), scenario, kinds);
}

#[test]
fn two_nodes_crash_and_recover() {
    both(Scenario::calm(2).with_crashes(2, 1), &["deliver", "expire", "crash", "recover"]);
}

#[test]
fn three_nodes_and_a_crash() {
    both(Scenario::calm(3).with_crashes(1, 0), &["deliver", "expire", "crash"]);
}

#[test]
fn a_cold_start() {
    let cold = |nodes| Scenario { start: Start::Cold, ..Scenario::calm(nodes) };
    conforms(&CommitMapping::<Two>::new(), cold(3));
    conforms(&CommitMapping::<Three>::new(), cold(3));
}

#[test]
fn a_cut_and_a_false_suspicion() {
    both(with(2, |f| f.cuts = 1), &["deliver", "expire", "cut", "heal"]);
    both(with(2, |f| f.suspicions = 3), &["deliver", "expire"]);
}

/// A partition of three in every phase, as far as so many states go.
#[test]
fn a_partition_of_three() {
    fn some<K: Pair>() {
        let limits = Limits { states: Some(20_000), ..Limits::NONE };
        let summary = walk(&CommitMapping::<K>::new(), with(3, |f| f.cuts = 2), &limits);
        assert!(summary.transitions > 20_000);
    }
    some::<Two>();
    some::<Three>();
}
