//! Long random executions, in which no two nodes are ever taken for one.
//!
//! The exhaustive walk merges nodes that differ only in absolute time. Here each node lives through
//! its whole execution on its own clock, so that a core to which absolute time meant something
//! would part from the model.

use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::pair::Pair;
use bellwether_conformance::replay::replay;
use bellwether_model::trace::Trace;
use bellwether_model::world::{Faults, Network, Scenario, Start, Timing, World};
use proptest::prelude::*;

fn scenario() -> impl Strategy<Value = Scenario> {
    let network = prop_oneof![Just(Network::Fifo), Just(Network::Unordered), Just(Network::Set)];
    let start = prop_oneof![Just(Start::Converged), Just(Start::Cold)];
    let timing = prop_oneof![Just(Timing::Perfect), Just(Timing::Asynchronous)];
    let budgets = (0..4u8, 0..4u8, 0..4u8, 0..3u8, 0..3u8, 0..6u8);
    (2..=7usize, network, start, timing, budgets).prop_map(
        |(
            nodes,
            network,
            start,
            timing,
            (crashes, recoveries, losses, duplicates, cuts, early),
        )| {
            let duplicates = if network == Network::Set { 0 } else { duplicates };
            let suspicions = if timing == Timing::Asynchronous { 0 } else { early };
            let losses = losses.into();
            let faults =
                Faults { crashes, recoveries, losses, duplicates, cuts, suspicions, pauses: 0 };
            Scenario { network, start, timing, faults, ..Scenario::calm(nodes) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_program_follows_any_execution(
        scenario in scenario(),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..250),
    ) {
        let world = World::new(BullyMapping::RULES, scenario).expect("possible");
        let mut pair = Pair::begin(&BullyMapping, &world)
            .expect("comparable")
            .map_err(|divergence| TestCaseError::fail(divergence.to_string()))?;
        for choice in choices {
            let mut enabled = Vec::new();
            world.enabled(pair.state(), &mut enabled);
            let Some(action) = (!enabled.is_empty()).then(|| choice.get(&enabled)) else { break };
            pair.step(action).map_err(|divergence| TestCaseError::fail(divergence.report(true)))?;
        }

        // The same through a file.
        let mut file = Vec::new();
        Trace::record(&world, pair.actions(), None).write(&mut file).expect("written");
        let trace = Trace::read(&file[..]).expect("read");
        if !trace.steps.is_empty() {
            let replayed = replay(&BullyMapping, &trace).expect("comparable");
            prop_assert_eq!(replayed.steps, pair.actions().len());
            prop_assert_eq!(replayed.divergence, None);
        }
    }
}
