//! Commits with one realistic mistake each, and the difference by which each is caught.

mod wrong;

use bellwether_conformance::divergence::Kind;
use bellwether_conformance::mapping::commit::CommitMapping;
use bellwether_core::protocol::commit::Three;
use bellwether_model::world::Scenario;
use wrong::Mistake;

use crate::compared;
use crate::wrapper::WrongMapping;

const WORLD: Scenario = Scenario::calm(3).with_crashes(1, 0);
const BACK: Scenario = Scenario::calm(2).with_crashes(2, 1);

/// Three-phase commit with this mistake.
fn wrong(mistake: Mistake) -> WrongMapping<CommitMapping<Three>> {
    WrongMapping::new(CommitMapping::new(), mistake)
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    assert_eq!(compared::first_difference(&wrong(Mistake::None), BACK), None);
}

#[test]
fn a_vote_is_not_written() {
    compared::caught(&wrong(Mistake::DoesNotLog), WORLD, Kind::Missing, "uncertain");
}

#[test]
fn a_no_is_counted_as_a_yes() {
    compared::caught(&wrong(Mistake::CountsEveryVote), WORLD, Kind::Missing, "NO");
}

#[test]
fn the_word_is_not_obeyed() {
    compared::caught(&wrong(Mistake::IgnoresTheWord), WORLD, Kind::Missing, "ABORT");
}

#[test]
fn a_coordinator_that_failed_is_heeded() {
    compared::caught(&wrong(Mistake::HeedsAll), WORLD, Kind::Unexpected, "PRECOMMIT");
}

#[test]
fn the_decision_is_told_to_one_only() {
    compared::caught(&wrong(Mistake::TellsOne), WORLD, Kind::Missing, "ABORT");
}

#[test]
fn what_was_prepared_is_forgotten() {
    compared::caught(&wrong(Mistake::ForgetsPreparation), BACK, Kind::Different, "record");
}

#[test]
fn one_that_waits_does_not_ask() {
    compared::caught(&wrong(Mistake::DoesNotAsk), WORLD, Kind::Missing, "word");
}

#[test]
fn a_new_coordinator_does_not_ask_for_records() {
    compared::caught(&wrong(Mistake::DoesNotPoll), WORLD, Kind::Missing, "POLL");
}
