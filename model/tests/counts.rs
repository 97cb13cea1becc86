//! How many states there are: against the fixed semantics that other checkers were run on, and
//! stateright's searches against the state graph.

use bellwether_model::check::{Counts, Engine, Options, check};
use bellwether_model::property::{self, Kind, Property};
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Faults, Heals, Network, Scenario, Start, Timing, World};

fn counts(rules: Bully, scenario: Scenario, engine: Engine) -> Counts {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let safety: Vec<Property> =
        property::all::<Bully>().into_iter().filter(|p| p.kind() == Kind::Safety).collect();
    let options = Options { engine, ..Options::default() };
    check(&world, &safety, &options, &mut |_| {}).expect("something is asked").counts
}

/// TLC and SPIN count these on specifications of the same semantics.
#[test]
fn the_baseline_has_the_states_and_transitions_that_other_checkers_count() {
    let known = [
        (3, 1, 0, 54, 125),
        (3, 1, 1, 1_201, 4_428),
        (3, 2, 1, 7_817, 38_943),
        (3, 2, 2, 12_296, 66_526),
        (4, 1, 0, 2_763, 13_221),
    ];
    for (nodes, crashes, recoveries, distinct, generated) in known {
        let scenario = Scenario {
            network: Network::Set,
            ..Scenario::calm(nodes).with_crashes(crashes, recoveries)
        };
        for engine in [Engine::Exact, Engine::Bfs, Engine::Dfs] {
            let found = counts(Bully::BASELINE, scenario, engine);
            assert_eq!(
                (found.distinct, found.generated),
                (distinct, generated),
                "{engine}: {scenario}"
            );
        }
    }
}

/// Every variant, in worlds that turn every dial.
#[test]
fn stateright_and_the_state_graph_count_the_same() {
    let fault = |faults| Scenario { faults, ..Scenario::calm(3) };
    let worlds = [
        Scenario::calm(3).with_crashes(1, 1),
        Scenario { network: Network::Unordered, ..Scenario::calm(3).with_crashes(1, 1) },
        Scenario { network: Network::Set, ..Scenario::calm(3).with_crashes(2, 1) },
        fault(Faults { crashes: 1, losses: 1.into(), suspicions: 1, ..Faults::NONE }),
        Scenario {
            capacity: Some(2),
            ..fault(Faults { duplicates: 1, crashes: 1, ..Faults::NONE })
        },
        Scenario {
            heals: Heals::Must,
            network: Network::Set,
            ..fault(Faults { cuts: 1, ..Faults::NONE })
        },
        Scenario { start: Start::Cold, ..Scenario::calm(3) },
        Scenario { timing: Timing::Asynchronous, capacity: Some(1), ..Scenario::calm(3) },
    ];
    let mut compared = 0;
    for variant in Bully::VARIANTS {
        for scenario in worlds {
            // Without a guard, and with a leader that holds elections again, some are too large.
            let scenario = Scenario { capacity: scenario.capacity.or(Some(3)), ..scenario };
            let exact = counts(variant.rules, scenario, Engine::Exact);
            if exact.distinct > 40_000 {
                continue;
            }
            let what = format!("{}: {scenario}", variant.name);
            let bfs = counts(variant.rules, scenario, Engine::Bfs);
            assert_eq!(exact, bfs, "{what}: breadth-first");
            let dfs = counts(variant.rules, scenario, Engine::Dfs);
            assert_eq!(
                (exact.distinct, exact.generated),
                (dfs.distinct, dfs.generated),
                "{what}: depth-first"
            );
            compared += 1;
        }
    }
    assert!(compared >= 70, "only {compared} worlds were small enough to compare");
}
