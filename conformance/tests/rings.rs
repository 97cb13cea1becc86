//! The production cores of the rings against their models: every transition of bounded worlds.

use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::list_ring::ListRingMapping;
use bellwether_model::world::{Faults, Network, Scenario, Start};

use crate::compared::conforms_by;

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);
const ALWAYS: [&str; 4] = ["deliver", "expire", "crash", "recover"];

fn everywhere<M: Mapping>(mapping: &M) {
    conforms_by(mapping, CRASH_AND_RECOVERY, &ALWAYS);
    let unordered = Scenario { network: Network::Set, ..Scenario::calm(3).with_crashes(1, 0) };
    conforms_by(mapping, unordered, &ALWAYS[..3]);
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(3).with_crashes(1, 0) };
    conforms_by(mapping, cold, &ALWAYS[..3]);
    let loss = Faults { losses: 1.into(), ..Faults::NONE };
    conforms_by(
        mapping,
        Scenario { faults: loss, ..Scenario::calm(3) },
        &["deliver", "expire", "lose"],
    );
    let doubled = Faults { duplicates: 1, crashes: 1, ..Faults::NONE };
    let kinds = ["deliver", "expire", "crash", "duplicate"];
    conforms_by(mapping, Scenario { faults: doubled, ..Scenario::calm(3) }, &kinds);
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
    conforms_by(&ChangRobertsMapping, scenario, &ALWAYS[..3]);
    conforms_by(&ListRingMapping, scenario, &ALWAYS[..3]);
}
