//! How many states there are: against the fixed semantics that other checkers were run on, and
//! stateright's searches against the state graph.

use bellwether_model::check::{Counts, Engine, Options, check};
use bellwether_model::property::{self, Kind, Property};
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Dials, Faults, Heals, Network, Start, Timing, World};

fn counts(rules: Bully, dials: Dials, engine: Engine) -> Counts {
    let world = World::new(rules, dials).expect("the dials are possible");
    let safety: Vec<Property<Bully>> =
        property::all().into_iter().filter(|p| p.kind() == Kind::Safety).collect();
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
        let dials =
            Dials { network: Network::Set, ..Dials::calm(nodes).with_crashes(crashes, recoveries) };
        for engine in [Engine::Exact, Engine::Bfs, Engine::Dfs] {
            let found = counts(Bully::BASELINE, dials, engine);
            assert_eq!(
                (found.distinct, found.generated),
                (distinct, generated),
                "{engine}: {dials}"
            );
        }
    }
}

/// Every variant, in worlds that turn every dial.
#[test]
fn stateright_and_the_state_graph_count_the_same() {
    let fault = |faults| Dials { faults, ..Dials::calm(3) };
    let worlds = [
        Dials::calm(3).with_crashes(1, 1),
        Dials { network: Network::Unordered, ..Dials::calm(3).with_crashes(1, 1) },
        Dials { network: Network::Set, ..Dials::calm(3).with_crashes(2, 1) },
        fault(Faults { crashes: 1, losses: 1.into(), suspicions: 1, ..Faults::NONE }),
        Dials { capacity: Some(2), ..fault(Faults { duplicates: 1, crashes: 1, ..Faults::NONE }) },
        Dials {
            heals: Heals::Must,
            network: Network::Set,
            ..fault(Faults { cuts: 1, ..Faults::NONE })
        },
        Dials { start: Start::Cold, ..Dials::calm(3) },
        Dials { timing: Timing::Asynchronous, capacity: Some(1), ..Dials::calm(3) },
    ];
    let mut compared = 0;
    for variant in Bully::VARIANTS {
        for dials in worlds {
            // Without a guard, and with a leader that holds elections again, some are too large.
            let dials = Dials { capacity: dials.capacity.or(Some(3)), ..dials };
            let exact = counts(variant.rules, dials, Engine::Exact);
            if exact.distinct > 40_000 {
                continue;
            }
            let what = format!("{}: {dials}", variant.name);
            let bfs = counts(variant.rules, dials, Engine::Bfs);
            assert_eq!(exact, bfs, "{what}: breadth-first");
            let dfs = counts(variant.rules, dials, Engine::Dfs);
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
