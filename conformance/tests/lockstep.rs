//! The production bully against its model: every transition of bounded worlds.

use bellwether_conformance::Error;
use bellwether_conformance::lockstep::{Summary, lockstep};
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_model::check::{Limits, Reason};
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Faults, Network, Scenario, Start, Timing, World};

use crate::compared::{conforms_by, walk};

#[track_caller]
fn conforms(scenario: Scenario, kinds: &[&str]) -> Summary {
    conforms_by(&BullyMapping, scenario, kinds)
}

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);
const ALWAYS: [&str; 4] = ["deliver", "expire", "crash", "recover"];

fn with(change: impl FnOnce(&mut Faults)) -> Scenario {
    let mut scenario = Scenario::calm(3);
    change(&mut scenario.faults);
    scenario
}

#[test]
fn fifo_perfect() {
    conforms(CRASH_AND_RECOVERY, &ALWAYS);
}

#[test]
fn unordered_perfect() {
    conforms(Scenario { network: Network::Unordered, ..CRASH_AND_RECOVERY }, &ALWAYS);
}

#[test]
fn fifo_asynchronous() {
    let timing = Timing::Asynchronous;
    let summary = conforms(Scenario { timing, capacity: Some(2), ..CRASH_AND_RECOVERY }, &ALWAYS);
    assert!(summary.outside > 0, "what leaves the boundary is compared as well");
}

#[test]
fn unordered_asynchronous() {
    let (network, timing) = (Network::Unordered, Timing::Asynchronous);
    let bounded = Scenario { network, timing, capacity: Some(2), ..CRASH_AND_RECOVERY };
    let summary = conforms(bounded, &ALWAYS);
    assert!(summary.outside > 0, "what leaves the boundary is compared as well");
}

#[test]
fn set_network() {
    conforms(Scenario { network: Network::Set, ..CRASH_AND_RECOVERY }, &ALWAYS);
}

#[test]
fn cold_start() {
    conforms(Scenario { start: Start::Cold, ..with(|f| f.crashes = 1) }, &ALWAYS[..3]);
}

#[test]
fn loss() {
    let kinds = ["deliver", "expire", "crash", "lose"];
    let scenario = with(|f| (f.crashes, f.losses) = (1, 1.into()));
    conforms(Scenario { network: Network::Set, ..scenario }, &kinds);
}

#[test]
fn cut_and_heal() {
    let kinds = ["deliver", "expire", "crash", "cut", "heal"];
    let scenario = with(|f| (f.crashes, f.cuts) = (1, 1));
    conforms(Scenario { network: Network::Set, ..scenario }, &kinds);
}

#[test]
fn false_suspicion() {
    conforms(with(|f| f.suspicions = 2), &["deliver", "expire"]);
}

#[test]
fn duplicate() {
    let scenario = with(|f| (f.crashes, f.duplicates) = (1, 1));
    conforms(scenario, &["deliver", "expire", "crash", "duplicate"]);
}

#[test]
fn four_nodes_and_a_crash() {
    conforms(
        Scenario { network: Network::Set, ..Scenario::calm(4).with_crashes(1, 0) },
        &ALWAYS[..3],
    );
}

#[test]
fn a_walk_that_is_cut_short_says_so() {
    let summary =
        walk(&BullyMapping, CRASH_AND_RECOVERY, &Limits { states: Some(1), ..Limits::NONE });
    assert_eq!(summary.cut_short, Some(Reason::States));
}

#[test]
fn a_recount_that_is_cut_short_says_so() {
    let mut summary = walk(&BullyMapping, CRASH_AND_RECOVERY, &Limits::NONE);
    assert_eq!(summary.cut_short, None);
    let world = World::new(BullyMapping::RULES, CRASH_AND_RECOVERY).expect("possible");
    let little = Limits { memory: Some(1), ..Limits::NONE };
    summary.recount(&world, &little, &mut |_| {}).expect("nothing differs as far as it went");
    assert_eq!(summary.cut_short, Some(Reason::Memory));
}

#[test]
fn rules_that_the_program_does_not_implement_are_refused() {
    let world = World::new(Bully::BASELINE, Scenario::calm(3)).expect("possible");
    let refused = lockstep(&world, &BullyMapping, &Limits::NONE, &mut |_| {}).expect_err("refused");
    assert!(matches!(refused, Error::Rules { .. }), "{refused}");
    let words = refused.to_string();
    assert!(words.contains("implements 'recommended'") && words.contains("'baseline'"), "{words}");
}

#[test]
fn a_recount_that_differs_is_an_error() {
    let mut summary = walk(&BullyMapping, CRASH_AND_RECOVERY, &Limits::NONE);
    let other = World::new(BullyMapping::RULES, Scenario::calm(3)).expect("possible");
    let error = summary.recount(&other, &Limits::NONE, &mut |_| {}).expect_err("another world");
    assert!(matches!(error, Error::Recount { .. }), "{error}");
}
