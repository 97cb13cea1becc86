//! Cores of the rings with one realistic mistake each, and the difference by which each is caught.

mod wrong;

use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::list_ring::ListRingMapping;
use bellwether_model::world::Scenario;
use wrong::{Mistake, Ring, Wrong};

use crate::compared;
use crate::wrapper::WrongMapping;

/// A crash and a recovery: enough for every mistake.
const WORLD: Scenario = Scenario::calm(3).with_crashes(1, 1);

fn first_difference<M: Ring>(mapping: M, mistake: Mistake) -> Option<Box<Divergence>> {
    compared::first_difference(&WrongMapping::new(mapping, Wrong::new(mistake)), WORLD)
}

/// Both rings are caught with this mistake; what is told is of this kind and about this.
#[track_caller]
fn caught(mistake: Mistake, kind: Kind, about: &str) {
    let wrong = Wrong::new(mistake);
    let chang_roberts = WrongMapping::new(ChangRobertsMapping, wrong.clone());
    compared::caught(&chang_roberts, WORLD, kind, about);
    compared::caught(&WrongMapping::new(ListRingMapping, wrong), WORLD, kind, about);
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    assert_eq!(first_difference(ChangRobertsMapping, Mistake::None), None);
    assert_eq!(first_difference(ListRingMapping, Mistake::None), None);
}

#[test]
fn never_acknowledges() {
    caught(Mistake::NeverAcks, Kind::Missing, "ACK");
}

#[test]
fn acknowledges_after_it_has_handed_on() {
    caught(Mistake::AcksLast, Kind::Different, "order of messages");
}

#[test]
fn acknowledges_twice() {
    caught(Mistake::AcksTwice, Kind::Unexpected, "ACK");
}

#[test]
fn takes_no_notice_of_acknowledgements() {
    caught(Mistake::IgnoresAcks, Kind::Different, "outbox");
}

/// What differs before the beginning is compared input by input, and told in words.
#[test]
fn a_difference_before_the_beginning_names_the_input() {
    let found = first_difference(ChangRobertsMapping, Mistake::IgnoresAcks).expect("caught");
    assert_eq!(found.step, 0, "{found}");
    assert!(found.happened.contains("gets ACK(coordinator 3)"), "{found}");
    assert!(found.to_string().contains("nothing in the model, (COORDINATOR(3), 2)"), "{found}");
    let report = found.report(true);
    assert!(!report.contains(['{', '[']), "raw data:\n{report}");
    assert!(report.contains("\n 1. 1 starts.\n 2. 1 gets COORDINATOR(3) from 2."), "{report}");
}

#[test]
fn hands_no_announcement_on() {
    caught(Mistake::KeepsAnnouncements, Kind::Missing, "COORDINATOR");
}

#[test]
fn follows_nobody_that_is_announced() {
    caught(Mistake::IgnoresAnnouncements, Kind::Missing, "ACK");
}

#[test]
fn skips_nobody_and_tries_the_silent_one_again() {
    caught(Mistake::TriesAgain, Kind::Missing, "missing message");
}

#[test]
fn does_not_listen_after_a_restart() {
    caught(Mistake::NoRestart, Kind::Different, "watch is armed now in the model");
}

#[test]
fn acknowledges_before_it_has_booted() {
    caught(Mistake::AcksBeforeBoot, Kind::Unexpected, "ACK");
}

#[test]
fn keeps_a_change_of_role_to_itself() {
    caught(Mistake::NoEvents, Kind::Missing, "missing event");
}

#[test]
fn asks_to_be_woken_too_late() {
    caught(Mistake::WakesLate, Kind::Different, "different wake-up");
}

#[test]
fn handles_a_late_message_before_the_deadline_that_has_passed() {
    caught(Mistake::MessageBeforeDeadline, Kind::Missing, "before a wake-up");
}
