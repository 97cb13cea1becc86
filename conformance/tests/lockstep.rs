//! The production bully against its model: every transition of bounded worlds.

use bellwether_conformance::Error;
use bellwether_conformance::lockstep::{Outcome, Summary, lockstep};
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_model::check::{Limits, Reason};
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Dials, Faults, Network, Start, Timing, World};

fn walk(dials: Dials, limits: Limits) -> Summary {
    let world = World::new(BullyMapping::RULES, dials).expect("possible");
    let walked = lockstep(&world, &BullyMapping, &limits, &mut |_| {}).expect("comparable");
    let Outcome { summary, divergence } = walked;
    if let Some(divergence) = divergence {
        panic!("{}", divergence.report(false));
    }
    summary.recount(&world, &mut |_| {}).expect("every transition of the model was taken");
    summary
}

/// The program conforms in this world; it has transitions of these kinds and no others.
#[track_caller]
fn conforms(dials: Dials, kinds: &[&str]) -> Summary {
    let summary = walk(dials, Limits::NONE);
    let all: u64 = summary.kinds.values().sum();
    assert_eq!(summary.transitions, all, "each transition has one kind");
    assert!(summary.transitions > 1_000, "{dials}: only {}", summary.transitions);
    assert!(summary.probes > 0);
    let mut expected = kinds.to_vec();
    expected.sort_unstable();
    let found: Vec<&str> = summary.kinds.keys().copied().collect();
    assert_eq!(found, expected, "{dials}");
    println!("{dials}: {summary:?}");
    summary
}

const CRASH_AND_RECOVERY: Dials = Dials::calm(3).with_crashes(1, 1);
const ALWAYS: [&str; 4] = ["deliver", "expire", "crash", "recover"];

fn with(change: impl FnOnce(&mut Faults)) -> Dials {
    let mut dials = Dials::calm(3);
    change(&mut dials.faults);
    dials
}

#[test]
fn fifo_perfect() {
    conforms(CRASH_AND_RECOVERY, &ALWAYS);
}

#[test]
fn unordered_perfect() {
    conforms(Dials { network: Network::Unordered, ..CRASH_AND_RECOVERY }, &ALWAYS);
}

#[test]
fn fifo_asynchronous() {
    let timing = Timing::Asynchronous;
    let summary = conforms(Dials { timing, capacity: Some(2), ..CRASH_AND_RECOVERY }, &ALWAYS);
    assert!(summary.outside > 0, "what leaves the boundary is compared as well");
}

#[test]
fn unordered_asynchronous() {
    let (network, timing) = (Network::Unordered, Timing::Asynchronous);
    let bounded = Dials { network, timing, capacity: Some(2), ..CRASH_AND_RECOVERY };
    let summary = conforms(bounded, &ALWAYS);
    assert!(summary.outside > 0, "what leaves the boundary is compared as well");
}

#[test]
fn set_network() {
    conforms(Dials { network: Network::Set, ..CRASH_AND_RECOVERY }, &ALWAYS);
}

#[test]
fn cold_start() {
    conforms(Dials { start: Start::Cold, ..with(|f| f.crashes = 1) }, &ALWAYS[..3]);
}

#[test]
fn loss() {
    let kinds = ["deliver", "expire", "crash", "lose"];
    let dials = with(|f| (f.crashes, f.losses) = (1, 1.into()));
    conforms(Dials { network: Network::Set, ..dials }, &kinds);
}

#[test]
fn cut_and_heal() {
    let kinds = ["deliver", "expire", "crash", "cut", "heal"];
    let dials = with(|f| (f.crashes, f.cuts) = (1, 1));
    conforms(Dials { network: Network::Set, ..dials }, &kinds);
}

#[test]
fn false_suspicion() {
    conforms(with(|f| f.suspicions = 2), &["deliver", "expire"]);
}

#[test]
fn duplicate() {
    let dials = with(|f| (f.crashes, f.duplicates) = (1, 1));
    conforms(dials, &["deliver", "expire", "crash", "duplicate"]);
}

#[test]
fn four_nodes_and_a_crash() {
    conforms(Dials { network: Network::Set, ..Dials::calm(4).with_crashes(1, 0) }, &ALWAYS[..3]);
}

#[test]
fn a_walk_that_is_cut_short_says_so() {
    let summary = walk(CRASH_AND_RECOVERY, Limits { states: Some(1), ..Limits::NONE });
    assert_eq!(summary.cut_short, Some(Reason::States));
}

#[test]
fn rules_that_the_program_does_not_implement_are_refused() {
    let world = World::new(Bully::BASELINE, Dials::calm(3)).expect("possible");
    let refused = lockstep(&world, &BullyMapping, &Limits::NONE, &mut |_| {}).expect_err("refused");
    assert!(matches!(refused, Error::Rules { .. }), "{refused}");
    let words = refused.to_string();
    assert!(words.contains("implements 'recommended'") && words.contains("'baseline'"), "{words}");
}

#[test]
fn a_recount_that_differs_is_an_error() {
    let summary = walk(CRASH_AND_RECOVERY, Limits::NONE);
    let other = World::new(BullyMapping::RULES, Dials::calm(3)).expect("possible");
    let error = summary.recount(&other, &mut |_| {}).expect_err("another world");
    assert!(matches!(error, Error::Recount { .. }), "{error}");
}
