//! The program of the invitation algorithm against its model, and programs with one realistic
//! mistake each, of which every one is caught.

mod wrong;

use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::mapping::invitation::InvitationMapping;
use bellwether_model::world::{Faults, Scenario, Start};
use wrong::Mistake;

use crate::compared::{self, conforms_by};
use crate::wrapper::WrongMapping;

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

fn first_difference(mistake: Mistake, scenario: Scenario) -> Option<Box<Divergence>> {
    compared::first_difference(&WrongMapping::new(InvitationMapping, mistake), scenario)
}

/// The mistake is caught; what is told is of this kind and about this.
#[track_caller]
fn caught(mistake: Mistake, scenario: Scenario, kind: Kind, about: &str) -> Box<Divergence> {
    compared::caught(&WrongMapping::new(InvitationMapping, mistake), scenario, kind, about)
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    assert_eq!(first_difference(Mistake::None, cold(3)), None);
}

#[test]
fn acceptances_ignored() {
    caught(Mistake::IgnoresAcceptances, cold(3), Kind::Different, "members");
}

#[test]
fn invitations_not_passed_on() {
    let found = caught(Mistake::KeepsInvitationsToItself, crash(), Kind::Missing, "INVITATION(");
    assert!(found.happened.contains("gets INVITATION("), "{found}");
}

#[test]
fn old_members_not_invited() {
    caught(Mistake::LeavesItsOldMembersOut, recovery(), Kind::Missing, "INVITATION(");
}

#[test]
fn says_that_it_coordinates_while_it_merges() {
    caught(Mistake::SaysItCoordinatesWhileBusy, cold(3), Kind::Unexpected, "COORDINATOR to");
}

#[test]
fn task_not_acknowledged() {
    let found = caught(Mistake::DoesNotAcknowledge, cold(3), Kind::Missing, "DONE(");
    assert!(found.rules.contains(&("acknowledge".into(), "true".into())), "{found}");
}

#[test]
fn numbers_from_the_beginning_after_a_crash() {
    caught(Mistake::CountsFromTheBeginning, recovery(), Kind::Missing, "write of 1");
}

#[test]
fn number_not_made_durable() {
    caught(Mistake::DoesNotPersist, cold(3), Kind::Missing, "counter");
}

#[test]
fn number_told_before_it_is_durable() {
    caught(Mistake::SendsBeforeItPersists, cold(3), Kind::Different, "order of effects");
}

#[test]
fn merges_without_a_delay() {
    let found = caught(Mistake::MergesWithoutDelay, cold(3), Kind::Unexpected, "INVITATION(");
    assert!(found.rules.contains(&("priority".into(), "delay".into())), "{found}");
}

#[test]
fn answers_for_groups_that_are_no_more() {
    caught(Mistake::AnswersForAnyGroup, crash(), Kind::Unexpected, "HERE(");
}

#[test]
fn task_empty() {
    caught(Mistake::HandsOutAnEmptyTask, cold(3), Kind::Missing, "READY(");
}

#[test]
fn accepts_twice() {
    caught(Mistake::AcceptsTwice, cold(3), Kind::Unexpected, "ACCEPT(");
}

#[test]
fn task_ignored() {
    caught(Mistake::IgnoresTheTask, cold(3), Kind::Missing, "DONE(");
}
