//! The core of the 1982 bully against its model: every transition of bounded worlds.

use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::garcia_molina::GarciaMolinaMapping;
use bellwether_model::world::{Faults, Network, Scenario, Start, Timing};

use crate::compared;

fn conforms(scenario: Scenario) -> Summary {
    compared::conforms(&GarciaMolinaMapping, scenario)
}

fn with(change: impl FnOnce(&mut Faults)) -> Scenario {
    let mut scenario = Scenario::calm(3);
    change(&mut scenario.faults);
    scenario
}

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);

#[test]
fn a_crash_and_a_recovery() {
    assert!(conforms(CRASH_AND_RECOVERY).transitions > 3_000);
    conforms(Scenario { network: Network::Unordered, ..CRASH_AND_RECOVERY });
    conforms(Scenario { network: Network::Set, ..CRASH_AND_RECOVERY });
}

#[test]
fn two_crashes_two_recoveries_and_a_task_number_that_must_not_be_forgotten() {
    let kinds = conforms(Scenario::calm(2).with_crashes(2, 2)).kinds;
    let kinds: Vec<&str> = kinds.keys().copied().collect();
    assert_eq!(kinds, ["crash", "deliver", "expire", "recover"]);
}

#[test]
fn a_cold_start() {
    conforms(Scenario { start: Start::Cold, ..with(|f| f.crashes = 1) });
}

#[test]
fn time_outs_that_are_wrong() {
    conforms(with(|f| (f.crashes, f.suspicions) = (1, 1)));
    let asynchronous = Scenario { timing: Timing::Asynchronous, ..Scenario::calm(2) };
    let summary = conforms(Scenario { capacity: Some(1), ..asynchronous });
    assert!(summary.outside > 0, "what leaves the boundary is compared as well");
}

#[test]
fn losses_duplicates_and_cuts() {
    conforms(with(|f| (f.crashes, f.losses) = (1, 1.into())));
    conforms(with(|f| (f.crashes, f.duplicates) = (1, 1)));
    conforms(Scenario { capacity: Some(2), ..with(|f| f.cuts = 1) });
}

#[test]
fn four_nodes_and_a_crash() {
    conforms(Scenario::calm(4).with_crashes(1, 0));
}
