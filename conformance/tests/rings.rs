//! The production cores of the rings against their models: every transition of bounded worlds.

use bellwether_conformance::lockstep::{Outcome, lockstep};
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::list_ring::ListRingMapping;
use bellwether_model::check::Limits;
use bellwether_model::world::{Dials, Faults, Network, Start, World};

/// The program conforms in this world; it has transitions of these kinds and no others.
#[track_caller]
fn conforms<M: Mapping>(mapping: &M, dials: Dials, kinds: &[&str]) {
    let world = World::new(M::RULES, dials).expect("possible");
    let walked = lockstep(&world, mapping, &Limits::NONE, &mut |_| {}).expect("comparable");
    let Outcome { summary, divergence } = walked;
    if let Some(divergence) = divergence {
        panic!("{}", divergence.report(false));
    }
    summary.recount(&world, &mut |_| {}).expect("every transition of the model was taken");
    let all: u64 = summary.kinds.values().sum();
    assert_eq!(summary.transitions, all, "each transition has one kind");
    assert!(summary.transitions > 300, "{dials}: only {}", summary.transitions);
    assert!(summary.probes > 0);
    let mut expected = kinds.to_vec();
    expected.sort_unstable();
    let found: Vec<&str> = summary.kinds.keys().copied().collect();
    assert_eq!(found, expected, "{dials}");
    println!("{dials}: {summary:?}");
}

const CRASH_AND_RECOVERY: Dials = Dials::calm(3).with_crashes(1, 1);
const ALWAYS: [&str; 4] = ["deliver", "expire", "crash", "recover"];

fn everywhere<M: Mapping>(mapping: &M) {
    conforms(mapping, CRASH_AND_RECOVERY, &ALWAYS);
    let unordered = Dials { network: Network::Set, ..Dials::calm(3).with_crashes(1, 0) };
    conforms(mapping, unordered, &ALWAYS[..3]);
    let cold = Dials { start: Start::Cold, ..Dials::calm(3).with_crashes(1, 0) };
    conforms(mapping, cold, &ALWAYS[..3]);
    let loss = Faults { losses: 1.into(), ..Faults::NONE };
    conforms(mapping, Dials { faults: loss, ..Dials::calm(3) }, &["deliver", "expire", "lose"]);
    let doubled = Faults { duplicates: 1, crashes: 1, ..Faults::NONE };
    let kinds = ["deliver", "expire", "crash", "duplicate"];
    conforms(mapping, Dials { faults: doubled, ..Dials::calm(3) }, &kinds);
}

#[test]
fn the_ring_of_ids() {
    everywhere(&ChangRobertsMapping);
}

#[test]
fn the_ring_of_lists() {
    everywhere(&ListRingMapping);
}

#[test]
fn four_nodes_and_a_crash() {
    let dials = Dials::calm(4).with_crashes(1, 0);
    conforms(&ChangRobertsMapping, dials, &ALWAYS[..3]);
    conforms(&ListRingMapping, dials, &ALWAYS[..3]);
}
