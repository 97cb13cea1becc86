//! The core of the 1982 bully against its model: every transition of bounded worlds, and programs
//! with one mistake each, all of which are caught.

mod wrong;

use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::garcia_molina::GarciaMolinaMapping;
use bellwether_model::world::{Faults, Network, Scenario, Start, Timing};
use wrong::{Mistake, Wrong};

use crate::compared;
use crate::wrapper::WrongMapping;

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

/// The core with this mistake.
fn wrong(mistake: Mistake) -> WrongMapping<GarciaMolinaMapping> {
    WrongMapping::new(GarciaMolinaMapping, Wrong::new(mistake))
}

fn first_difference(mistake: Mistake) -> Option<Box<Divergence>> {
    compared::first_difference(&wrong(mistake), CRASH_AND_RECOVERY)
}

/// The mistake is caught; what is told is of this kind and about this.
#[track_caller]
fn caught(mistake: Mistake, kind: Kind, about: &str) -> Box<Divergence> {
    compared::caught(&wrong(mistake), CRASH_AND_RECOVERY, kind, about)
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    assert_eq!(first_difference(Mistake::None), None);
}

#[test]
fn halt_is_answered_but_the_election_goes_on() {
    let found = caught(Mistake::GoesOnAfterHalt, Kind::Different, "status");
    assert!(found.happened.contains("gets HALT"), "{found}");
    assert!(found.rules.contains(&("halt".into(), "aborts".into())), "{found}");
}

#[test]
fn a_node_that_holds_an_election_does_not_answer() {
    let found = caught(Mistake::DeafInElections, Kind::Missing, "missing message of 3: HERE to 1");
    assert!(found.happened.contains("gets ARE_YOU_THERE"), "{found}");
}

#[test]
fn whoever_says_that_it_coordinates_is_believed() {
    let found = caught(Mistake::ObeysAnybody, Kind::Different, "status");
    assert!(found.happened.contains("gets NEW_COORDINATOR"), "{found}");
    assert!(found.rules.contains(&("guard".into(), "true".into())), "{found}");
}

#[test]
fn the_number_of_the_task_is_not_kept() {
    caught(Mistake::KeepsNothing, Kind::Missing, "missing write of 2");
}

#[test]
fn the_task_is_told_before_its_number_is_kept() {
    caught(Mistake::KeepsLast, Kind::Different, "different order of effects");
}

#[test]
fn the_number_of_the_task_is_forgotten_in_a_crash() {
    let found = caught(Mistake::ForgetsTasks, Kind::Missing, "missing message of 3: READY(2) to 2");
    let number = "different state of 3: 2 in the model, 1 in the program";
    assert!(found.to_string().contains(number), "{found}");
}

#[test]
fn the_check_asks_only_whether_a_node_works() {
    let found = caught(Mistake::ChecksNoTask, Kind::Missing, "missing message");
    assert!(found.rules.contains(&("check".into(), "same task".into())), "{found}");
}

#[test]
fn a_node_that_does_not_work_is_taken_to_work() {
    let found = caught(Mistake::ContentWithAll, Kind::Missing, "missing message");
    assert!(found.happened.contains("gets NOT_NORMAL"), "{found}");
}

#[test]
fn a_restarted_node_calls_at_once() {
    let found = caught(Mistake::RestartsAtOnce, Kind::Unexpected, "unexpected message");
    assert!(found.happened.contains("recovers"), "{found}");
}

#[test]
fn any_answer_to_the_right_question_will_do() {
    let found = caught(Mistake::TakesAnyAnswer, Kind::Unexpected, "unexpected message");
    assert!(found.probe, "with perfect time-outs only a node that was asked answers:\n{found}");
}

#[test]
fn all_lower_nodes_are_halted_at_once() {
    caught(Mistake::HaltsAllAtOnce, Kind::Unexpected, "unexpected message of 3: HALT to 1");
}

#[test]
fn a_coordinator_is_not_asked_before_it_is_given_up() {
    let found = caught(Mistake::DoesNotProbe, Kind::Missing, "missing message of 1: ARE_YOU_THERE");
    assert!(found.happened.contains("silence"), "{found}");
}
