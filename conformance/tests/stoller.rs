//! The production core of Stoller's election against its model: every transition of bounded worlds.

use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::stoller::StollerMapping;
use bellwether_model::world::{Faults, Scenario, Start};

use crate::compared::conforms_by;

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);

#[track_caller]
fn conforms(scenario: Scenario, kinds: &[&str]) -> Summary {
    let summary = conforms_by(&StollerMapping, scenario, kinds);
    assert!(summary.probes > 1_000, "{scenario}: only {} probes", summary.probes);
    summary
}

#[test]
fn a_crash_and_a_recovery() {
    let summary = conforms(CRASH_AND_RECOVERY, &["crash", "deliver", "expire", "recover"]);
    assert!(summary.transitions > 1_000, "only {}", summary.transitions);
}

#[test]
fn two_crashes_and_a_recovery() {
    let scenario = CRASH_AND_RECOVERY.with_crashes(2, 1);
    conforms(scenario, &["crash", "deliver", "expire", "recover"]);
}

#[test]
fn a_cold_start_with_a_crash() {
    let scenario = Scenario { start: Start::Cold, ..CRASH_AND_RECOVERY.with_crashes(1, 0) };
    conforms(scenario, &["crash", "deliver", "expire"]);
}

#[test]
fn false_suspicions() {
    let faults = Faults { suspicions: 2, ..Faults::NONE };
    conforms(Scenario { faults, ..CRASH_AND_RECOVERY }, &["deliver", "expire"]);
}

#[test]
fn four_nodes_and_a_crash() {
    let scenario = Scenario { nodes: 4, ..CRASH_AND_RECOVERY.with_crashes(1, 0) };
    conforms(scenario, &["crash", "deliver", "expire"]);
}
