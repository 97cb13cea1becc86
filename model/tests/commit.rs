//! The rules of an atomic commit with an elected coordinator: what cannot be one. What is well known
//! of two- and three-phase commit, in both directions, is `model/verdicts/two-phase-commit.toml` and
//! `model/verdicts/three-phase-commit.toml`.

use bellwether_model::protocol::Id;
use bellwether_model::protocol::two_phase_commit::TwoPhaseCommit;
use bellwether_model::world::{Scenario, World};

#[test]
fn who_refuses_is_one_of_them() {
    let two = TwoPhaseCommit { refuses: Some(Id::at(2)), ..TwoPhaseCommit::COOPERATIVE };
    let wrong = World::new(two, Scenario::calm(2)).expect_err("there are two");
    assert!(wrong.to_string().contains("it is an id from 1 to 2, or null"), "{wrong}");
}
