//! Leases with one realistic mistake each, and the difference by which each is caught.
//!
//! One that is counted from the wrong moment, or for too long, is in [`crate::wrong_durations`].

mod clients;
mod wrong;

use bellwether_conformance::divergence::Kind;
use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_model::world::Scenario;
use wrong::{Mistake, Wrong};

use crate::compared;
use crate::wrapper::WrongMapping;

const WORLD: Scenario = Scenario::calm(2).with_crashes(1, 1);

/// The lease with this mistake.
fn wrong(mistake: Mistake) -> WrongMapping<LeaseMapping> {
    WrongMapping::new(LeaseMapping::new(), Wrong::new(mistake))
}

/// The mistake is caught; what is told is of this kind and about this.
#[track_caller]
fn caught(mistake: Mistake, kind: Kind, about: &str) {
    compared::caught(&wrong(mistake), WORLD, kind, about);
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    assert_eq!(compared::first_difference(&wrong(Mistake::None), WORLD), None);
}

#[test]
fn a_renewal_that_asks_nobody() {
    caught(Mistake::RenewsByItself, Kind::Missing, "RENEW");
}

#[test]
fn a_write_that_does_not_say_by_which_lease() {
    caught(Mistake::WritesWithoutToken, Kind::Missing, "WRITE(1)");
}

#[test]
fn an_answer_to_an_earlier_request_is_believed() {
    caught(Mistake::BelievesAnyAnswer, Kind::Different, "GRANTED");
}

#[test]
fn a_grant_by_another_client_is_believed() {
    caught(Mistake::BelievesAnybody, Kind::Missing, "GRANTED");
}

#[test]
fn a_holder_that_was_refused_goes_on() {
    caught(Mistake::IgnoresRefusals, Kind::Missing, "REFUSED");
}

#[test]
fn how_often_it_started_is_not_durable() {
    caught(Mistake::ForgetsItsStarts, Kind::Missing, "different incarnation of 1");
}

#[test]
fn the_store_grants_what_another_holds() {
    caught(Mistake::GrantsToAll, Kind::Missing, "REFUSED");
}

#[test]
fn a_holder_that_started_again_gets_its_old_token() {
    caught(Mistake::ReusesTheToken, Kind::Missing, "GRANTED");
}

#[test]
fn the_fence_is_open() {
    caught(Mistake::LetsAllWritesPass, Kind::Different, "written");
}

#[test]
fn a_lease_never_ends_at_the_store() {
    caught(Mistake::NeverExpires, Kind::Missing, "grant is not armed in the program");
}

#[test]
fn a_holder_whose_lease_is_over_does_not_step_down() {
    caught(Mistake::StaysHolder, Kind::Missing, "ACQUIRE");
}

#[test]
fn a_holder_that_wakes_up_late_works_once_more() {
    caught(Mistake::WorksAfterItsLease, Kind::Missing, "renew, lease have passed");
}
