//! What a walk must have met: each timer, each kind of message, each rule.

use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::{AnyMapping, MAPPINGS};
use bellwether_model::check::Limits;
use bellwether_model::world::{Faults, Scenario, Timing};

fn walk(mapping: &dyn AnyMapping, scenario: Scenario) -> Summary {
    let outcome = mapping.lockstep(scenario, &Limits::NONE, &mut |_, _| {}).expect("comparable");
    if let Some(divergence) = outcome.divergence {
        panic!("{}", divergence.report(false));
    }
    outcome.summary
}

/// So a script that pins the default world asks of every timer what happens when it expires.
#[test]
fn the_default_worlds_meet_all_that_there_is() {
    for mapping in MAPPINGS.0 {
        let summary = walk(*mapping, Scenario::calm(3).with_crashes(1, 0));
        let name = mapping.name();
        assert_eq!(summary.coverage.missing, [""; 0], "{name}: {:?}", summary.coverage);
        for (what, list) in summary.coverage.lists() {
            assert!(!list.is_empty(), "{name} has no {what}");
        }
    }
}

/// Not only asked: a lease expires in the executions of these worlds.
#[test]
fn every_timer_of_the_lease_expires_on_the_way() {
    let lease = MAPPINGS.find(Some("lease")).expect("there is one");
    let calm = Scenario::calm(2);
    let worlds = [
        Scenario { timing: Timing::Asynchronous, capacity: Some(1), ..calm },
        Scenario { faults: Faults { suspicions: 2, crashes: 1, ..Faults::NONE }, ..calm },
    ];
    for scenario in worlds {
        let timers = walk(lease, scenario).coverage.timers;
        assert_eq!(timers.len(), 5);
        assert!(timers.values().all(|met| met.walked > 0), "{scenario}: {timers:?}");
    }
}
