//! The lease's cores against their model: every transition of bounded worlds.

use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_model::world::{Faults, Network, Scenario, Start};

use crate::compared;

fn conforms(scenario: Scenario) -> Summary {
    compared::conforms(&LeaseMapping, scenario)
}

fn two(faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(2) }
}

/// Two clients and the store.
#[test]
fn a_crash_and_a_recovery() {
    let summary = conforms(Scenario::calm(2).with_crashes(1, 1));
    for kind in ["deliver", "expire", "crash", "recover"] {
        assert!(summary.kinds[kind] > 0, "{kind}: {summary:?}");
    }
    assert!(summary.outside > 0, "what leaves the boundary is compared as well");
}

#[test]
fn everybody_starts_at_once() {
    conforms(Scenario { start: Start::Cold, ..Scenario::calm(2).with_crashes(1, 0) });
}

#[test]
fn messages_are_lost_doubled_and_out_of_order() {
    conforms(two(Faults { losses: 1.into(), ..Faults::NONE }));
    conforms(two(Faults { crashes: 1, duplicates: 1, ..Faults::NONE }));
    conforms(Scenario {
        network: Network::Unordered,
        ..two(Faults { crashes: 1, ..Faults::NONE })
    });
}

#[test]
fn three_clients() {
    let summary = conforms(Scenario::calm(3).with_crashes(1, 1));
    assert!(summary.transitions > 10_000, "only {}", summary.transitions);
}
