//! The lease's cores against their model: every transition of bounded worlds.

use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_model::world::{Faults, Network, Scenario, Start};

use crate::compared;

fn conforms(scenario: Scenario) -> Summary {
    compared::conforms(&LeaseMapping::new(), scenario)
}

fn two(faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(2) }
}

/// Two clients and the store.
#[test]
fn a_crash_and_a_recovery() {
    let summary = conforms(Scenario::calm(2).with_crashes(1, 1));
    for kind in ["deliver", "expire", "crash", "recover"] {
        assert!(summary.kinds[kind] > 0, "{kind}: {summary:?}");
    }
    assert!(summary.outside > 0, "what leaves the boundary is compared as well");
}

#[test]
fn everybody_starts_at_once() {
    conforms(Scenario { start: Start::Cold, ..Scenario::calm(2).with_crashes(1, 0) });
}

#[test]
fn messages_are_lost_doubled_and_out_of_order() {
    conforms(two(Faults { losses: 1.into(), ..Faults::NONE }));
    conforms(two(Faults { crashes: 1, duplicates: 1, ..Faults::NONE }));
    conforms(Scenario {
        network: Network::Unordered,
        ..two(Faults { crashes: 1, ..Faults::NONE })
    });
}

/// A holder that is asked to lead no longer gives its lease back, and the others hear so.
#[test]
fn a_holder_gives_its_lease_back() {
    let worlds = [
        Scenario::calm(2).with_crashes(1, 1),
        two(Faults { losses: 1.into(), ..Faults::NONE }),
        two(Faults { duplicates: 1, ..Faults::NONE }),
        Scenario { network: Network::Unordered, ..two(Faults { duplicates: 1, ..Faults::NONE }) },
    ];
    for scenario in worlds {
        let coverage = compared::conforms(&LeaseMapping::asked(), scenario).coverage;
        assert_eq!(coverage.missing, [""; 0], "{scenario}");
        let asked = coverage.timers.get("request");
        let said = ["release", "available"].map(|kind| coverage.messages.get(kind));
        for met in said.into_iter().chain([asked]) {
            assert!(met.is_some_and(|met| met.walked > 0), "{scenario}: {coverage:?}");
        }
    }
}

#[test]
fn three_clients() {
    let summary = conforms(Scenario::calm(3).with_crashes(1, 1));
    assert!(summary.transitions > 10_000, "only {}", summary.transitions);
}
