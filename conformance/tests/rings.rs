//! The production cores of the rings against their models: every transition of bounded worlds.

use bellwether_conformance::lockstep::{Outcome, lockstep};
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::list_ring::ListRingMapping;
use bellwether_model::check::Limits;
use bellwether_model::world::{Faults, Network, Scenario, Start, World};

/// The program conforms in this world; it has transitions of these kinds and no others.
#[track_caller]
fn conforms<M: Mapping>(mapping: &M, scenario: Scenario, kinds: &[&str]) {
    let world = World::new(M::RULES, scenario).expect("possible");
    let walked = lockstep(&world, mapping, &Limits::NONE, &mut |_| {}).expect("comparable");
    let Outcome { mut summary, divergence, .. } = walked;
    if let Some(divergence) = divergence {
        panic!("{}", divergence.report(false));
    }
    summary
        .recount(&world, &Limits::NONE, &mut |_| {})
        .expect("every transition of the model was taken");
    let all: u64 = summary.kinds.values().sum();
    assert_eq!(summary.transitions, all, "each transition has one kind");
    assert!(summary.transitions > 300, "{scenario}: only {}", summary.transitions);
    assert!(summary.probes > 0);
    let mut expected = kinds.to_vec();
    expected.sort_unstable();
    let found: Vec<&str> = summary.kinds.keys().copied().collect();
    assert_eq!(found, expected, "{scenario}");
    println!("{scenario}: {summary:?}");
}

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);
const ALWAYS: [&str; 4] = ["deliver", "expire", "crash", "recover"];

fn everywhere<M: Mapping>(mapping: &M) {
    conforms(mapping, CRASH_AND_RECOVERY, &ALWAYS);
    let unordered = Scenario { network: Network::Set, ..Scenario::calm(3).with_crashes(1, 0) };
    conforms(mapping, unordered, &ALWAYS[..3]);
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(3).with_crashes(1, 0) };
    conforms(mapping, cold, &ALWAYS[..3]);
    let loss = Faults { losses: 1.into(), ..Faults::NONE };
    conforms(
        mapping,
        Scenario { faults: loss, ..Scenario::calm(3) },
        &["deliver", "expire", "lose"],
    );
    let doubled = Faults { duplicates: 1, crashes: 1, ..Faults::NONE };
    let kinds = ["deliver", "expire", "crash", "duplicate"];
    conforms(mapping, Scenario { faults: doubled, ..Scenario::calm(3) }, &kinds);
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
    let scenario = Scenario::calm(4).with_crashes(1, 0);
    conforms(&ChangRobertsMapping, scenario, &ALWAYS[..3]);
    conforms(&ListRingMapping, scenario, &ALWAYS[..3]);
}
