//! Long random executions, in which no two nodes are ever taken for one.
//!
//! The exhaustive walk merges nodes that differ only in absolute time. Here each node lives through
//! its whole execution on its own clock, so that a core to which absolute time meant something
//! would part from the model.

use bellwether_conformance::mapping;
use bellwether_conformance::mapping::{Mapping, Sides};
use bellwether_conformance::pair::Pair;
use bellwether_conformance::replay::replay;
use bellwether_model::trace::Trace;
use bellwether_model::world::{Action, Faults, Network, Scenario, Start, Timing, World};
use proptest::prelude::*;

fn scenario(most: usize) -> impl Strategy<Value = Scenario> {
    let network = prop_oneof![Just(Network::Fifo), Just(Network::Unordered), Just(Network::Set)];
    let start = prop_oneof![Just(Start::Converged), Just(Start::Cold)];
    let timing = prop_oneof![Just(Timing::Perfect), Just(Timing::Asynchronous)];
    let budgets = (0..4u8, 0..4u8, 0..4u8, 0..3u8, (0..3u8, 0..3u8), 0..6u8);
    (2..=most, network, start, timing, budgets).prop_map(
        |(
            nodes,
            network,
            start,
            timing,
            (crashes, recoveries, losses, duplicates, (cuts, one_way_cuts), early),
        )| {
            let duplicates = if network == Network::Set { 0 } else { duplicates };
            let suspicions = if timing == Timing::Asynchronous { 0 } else { early };
            let losses = losses.into();
            let faults = Faults { one_way_cuts, suspicions, ..Faults::NONE };
            let faults = Faults { crashes, recoveries, losses, duplicates, cuts, ..faults };
            Scenario { network, start, timing, faults, ..Scenario::calm(nodes) }
        },
    )
}

/// Some execution of some world, taken by both; and once more from a file.
fn follows<T: Sides>(
    mapping: &Mapping<T>,
    scenario: Scenario,
    choices: &[prop::sample::Index],
) -> Result<(), TestCaseError> {
    // What a world refuses, such as losses that no time-out notices, is no execution.
    let Ok(world) = World::new(mapping.rules, scenario) else { return Ok(()) };
    let world = world.concrete();
    let begun = Pair::begin(mapping, &world).expect("comparable");
    let mut pair = begun.map_err(|divergence| TestCaseError::fail(divergence.to_string()))?;
    for choice in choices {
        let mut enabled = Vec::new();
        world.enabled(pair.state(), &mut enabled);
        let within =
            |action: &Action| world.within_bounds(&world.apply(pair.state(), action).state);
        enabled.retain(within);
        let Some(action) = (!enabled.is_empty()).then(|| choice.get(&enabled)) else { break };
        pair.step(action).map_err(|divergence| TestCaseError::fail(divergence.report()))?;
    }
    let mut file = Vec::new();
    Trace::record(&world, pair.actions(), None).write(&mut file).expect("written");
    let trace = Trace::read(&file[..]).expect("read");
    if !trace.steps.is_empty() {
        let replayed = replay(mapping, &trace).expect("comparable");
        prop_assert_eq!(replayed.steps, pair.actions().len());
        prop_assert_eq!(replayed.divergence, None);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_program_follows_any_execution(
        scenario in scenario(7),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..250),
    ) {
        follows(&mapping::bully::mapping(), scenario, &choices)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn so_does_every_other_program(
        scenario in scenario(4),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..150),
    ) {
        follows(&mapping::garcia_molina::mapping(), scenario, &choices)?;
        follows(&mapping::invitation::mapping(), scenario, &choices)?;
        follows(&mapping::chang_roberts::mapping(), scenario, &choices)?;
        follows(&mapping::list_ring::mapping(), scenario, &choices)?;
        follows(&mapping::stoller::mapping(), scenario, &choices)?;
        follows(&mapping::lease::recommended(), scenario, &choices)?;
        follows(&crate::lease::store("postgres-row"), scenario, &choices)?;
        follows(&crate::lease::store("redis-setnx"), scenario, &choices)?;
        follows(&mapping::quorum::mapping(&mapping::quorum::RECOMMENDED), scenario, &choices)?;
        follows(&mapping::quorum::mapping(&mapping::quorum::PREEMPTIVE), scenario, &choices)?;
        follows(&mapping::quorum::mapping(&mapping::quorum::AT_ONCE), scenario, &choices)?;
    }
}
