//! No false alarm: the programs conform in every world that the survey names, and with every fault.
//!
//! The walks are bounded; what they meet first has the fewest steps. Long executions are taken in
//! [`crate::random_walks`].

use bellwether_conformance::mapping::MAPPINGS;
use bellwether_model::check::Limits;
use bellwether_model::protocol::specifications;
use bellwether_model::survey::surroundings;
use bellwether_model::world::{Faults, Heals, Network, Scenario, Start, Timing};

/// The pairs that are looked at in each world.
const MOST: u64 = 4_000;

/// Each protocol conforms in these worlds, as far as they are walked.
#[track_caller]
fn conform(worlds: impl Fn(&str) -> Vec<Scenario>) {
    for mapping in MAPPINGS.0 {
        let name = mapping.name();
        let limits = Limits { states: Some(MOST), ..Limits::NONE };
        for scenario in worlds(name) {
            let outcome = mapping.lockstep(scenario, &limits, &mut |_, _| {});
            let outcome = outcome.unwrap_or_else(|error| panic!("{name}, {scenario}: {error}"));
            if let Some(divergence) = outcome.divergence {
                panic!("{name}, {scenario}:\n{}", divergence.report(false));
            }
            assert!(outcome.summary.transitions > 0, "{name}, {scenario}");
        }
    }
}

#[test]
fn in_the_worlds_of_the_survey() {
    conform(|name| {
        let protocol = specifications().find(name).expect("there is one");
        let worlds = surroundings(3);
        let scenarios = worlds.iter().map(|world| world.scenario(protocol).expect("possible"));
        scenarios.flatten().filter(|scenario| scenario.timing.timed().is_none()).collect()
    });
}

#[test]
fn with_every_fault() {
    let faults = [
        Faults { suspicions: 2, ..Faults::NONE },
        Faults { suspicions: 1, crashes: 1, recoveries: 1, ..Faults::NONE },
        Faults { cuts: 2, ..Faults::NONE },
        Faults { cuts: 1, losses: 1.into(), suspicions: 1, ..Faults::NONE },
        Faults { losses: 2.into(), crashes: 1, ..Faults::NONE },
        Faults { duplicates: 1, suspicions: 1, ..Faults::NONE },
    ];
    conform(|_| {
        let calm = Scenario { capacity: Some(2), ..Scenario::calm(3) };
        let with = faults.map(|faults| Scenario { faults, ..calm });
        let must = Scenario { heals: Heals::Must, ..with[2] };
        with.into_iter().chain([must]).collect()
    });
}

#[test]
fn with_timers_that_may_always_expire() {
    conform(|_| {
        let calm = Scenario {
            timing: Timing::Asynchronous,
            capacity: Some(1),
            ..Scenario::calm(2).with_crashes(1, 1)
        };
        let worlds = [Network::Fifo, Network::Unordered, Network::Set]
            .map(|network| Scenario { network, ..calm });
        let three = Scenario { nodes: 3, ..calm };
        let cold = Scenario { start: Start::Cold, ..three };
        let lossy = Faults { losses: 2.into(), cuts: 1, ..Faults::NONE };
        let faulty = Scenario { faults: lossy, ..three };
        worlds.into_iter().chain([three, cold, faulty]).collect()
    });
}
