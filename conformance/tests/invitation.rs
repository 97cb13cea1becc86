//! The core of the invitation algorithm against its model: every transition of bounded worlds.

use bellwether_conformance::mapping::invitation::InvitationMapping;
use bellwether_model::world::{Faults, Scenario, Start};

use crate::compared::conforms_by;

fn cold(nodes: usize) -> Scenario {
    Scenario { start: Start::Cold, ..Scenario::calm(nodes) }
}

fn crash() -> Scenario {
    Scenario::calm(3).with_crashes(1, 0)
}

fn recovery() -> Scenario {
    Scenario::calm(3).with_crashes(1, 1)
}

#[track_caller]
fn conforms(scenario: Scenario, kinds: &[&str]) {
    conforms_by(&InvitationMapping, scenario, kinds);
}

#[test]
fn cold_start_of_three() {
    conforms(cold(3), &["deliver", "expire"]);
}

#[test]
fn crash_and_recovery_of_two() {
    let scenario = Scenario::calm(2).with_crashes(1, 1);
    conforms(scenario, &["crash", "deliver", "expire", "recover"]);
}

#[test]
fn crash_among_three() {
    conforms(crash(), &["crash", "deliver", "expire"]);
}

#[test]
fn crash_and_recovery_among_three() {
    conforms(recovery(), &["crash", "deliver", "expire", "recover"]);
}

#[test]
fn lost_doubled_and_suspected() {
    let faults = Faults { losses: 1.into(), duplicates: 1, suspicions: 1, ..Faults::NONE };
    let scenario = Scenario { faults, ..Scenario::calm(2) };
    conforms(scenario, &["deliver", "duplicate", "expire", "lose"]);
}
