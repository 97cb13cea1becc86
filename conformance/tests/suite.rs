//! Suites: executions that together take every transition of a world, found in another way.

use bellwether_conformance::mapping;
use bellwether_conformance::mapping::{Mapping, Sides};
use bellwether_conformance::replay::replay;
use bellwether_conformance::suite::{Suite, find, run};
use bellwether_model::check::{Limits, Reason};
use bellwether_model::protocol::{Id, Ids};
use bellwether_model::world::{Action, Faults, Network, Scenario, Start, State, Timing, World};
use std::collections::{HashMap, HashSet};

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);

fn world<T: Sides>(mapping: &Mapping<T>, scenario: Scenario) -> World {
    World::new(mapping.rules, scenario).expect("possible").concrete()
}

fn suite<T: Sides>(mapping: &Mapping<T>, scenario: Scenario, limits: &Limits) -> Suite {
    find(mapping, &world(mapping, scenario), 1, limits, &mut |_| {}).expect("comparable")
}

/// The transitions of a world within its bounds, by a plain walk; how many there are, and how many
/// leave the bounds.
fn walked(world: &World) -> (HashSet<(State, Action)>, (u64, u64)) {
    let (mut all, mut inside, mut outside) = (HashSet::new(), 0, 0);
    let mut met = HashSet::from([world.initial()]);
    let mut left = vec![world.initial()];
    while let Some(state) = left.pop() {
        let mut enabled = Vec::new();
        world.enabled(&state, &mut enabled);
        for action in enabled {
            let after = world.apply(&state, &action).state;
            if !world.within_bounds(&after) {
                outside += 1;
                continue;
            }
            inside += 1;
            all.insert((state.clone(), action));
            if met.insert(after.clone()) {
                left.push(after);
            }
        }
    }
    (all, (inside, outside))
}

/// The transitions of one execution, each of which is possible in its turn.
fn taken(world: &World, execution: &[Action]) -> HashSet<(State, Action)> {
    let mut state = world.initial();
    let mut taken = HashSet::new();
    for action in execution {
        let mut enabled = Vec::new();
        world.enabled(&state, &mut enabled);
        assert!(enabled.contains(action), "{action} is not possible");
        let after = world.apply(&state, action).state;
        taken.insert((state, *action));
        state = after;
    }
    taken
}

/// The suite takes every transition of the world and leaves none out, each of its executions takes
/// one that no other takes, and it has hardly more steps than it must.
#[track_caller]
fn covers<T: Sides>(mapping: &Mapping<T>, scenario: Scenario) {
    let (suite, world) = (suite(mapping, scenario, &Limits::NONE), world(mapping, scenario));
    let summary = suite.summary();
    let (all, counts) = walked(&world);
    assert_eq!((summary.transitions, summary.outside), counts, "{scenario}");
    let executions: Vec<_> = (0..suite.len()).map(|at| suite.execution(at)).collect();
    let executions: Vec<_> = executions.iter().map(|steps| taken(&world, steps)).collect();
    let mut times = HashMap::<_, u32>::new();
    for transition in executions.iter().flatten() {
        *times.entry(transition).or_default() += 1;
    }
    assert_eq!(times.len(), all.len(), "{scenario}");
    assert!(times.keys().all(|&transition| all.contains(transition)), "{scenario}");
    for (at, execution) in executions.iter().enumerate() {
        let misses = execution.iter().any(|transition| times[transition] == 1);
        assert!(misses, "{scenario}: nothing is missed without execution {at}");
    }
    assert!(summary.bound >= summary.transitions && summary.bound <= summary.steps, "{scenario}");
    let ratio = summary.ratio().expect("some steps");
    assert!(ratio <= 1.1, "{scenario}: {ratio}");
    println!("{scenario}: {summary:?}, {ratio}");

    let ran = run(mapping, &suite, 2, &Limits::NONE, &|_| {}).expect("comparable");
    assert_eq!(ran.divergence, None, "{scenario}");
    assert_eq!((ran.executions, ran.steps), (suite.len() as u64, summary.steps), "{scenario}");
}

#[test]
fn three_nodes_with_a_crash_and_a_recovery() {
    covers(&mapping::bully::mapping(), CRASH_AND_RECOVERY);
    covers(&mapping::quorum::mapping(&mapping::quorum::RECOMMENDED), CRASH_AND_RECOVERY);
    covers(&mapping::chang_roberts::mapping(), CRASH_AND_RECOVERY);
}

#[test]
fn networks_starts_and_faults() {
    let unordered = Scenario { network: Network::Unordered, ..CRASH_AND_RECOVERY };
    covers(&mapping::bully::mapping(), unordered);
    covers(&mapping::bully::mapping(), Scenario { start: Start::Cold, ..CRASH_AND_RECOVERY });
    for start in [Start::Converged, Start::Cold] {
        let down = Scenario { start, down: Ids::NONE.with(Id::at(2)), ..CRASH_AND_RECOVERY };
        covers(&mapping::bully::mapping(), down);
        covers(&mapping::quorum::mapping(&mapping::quorum::RECOMMENDED), down);
    }
    let faults = Faults { crashes: 1, losses: 1.into(), cuts: 1, ..Faults::NONE };
    covers(
        &mapping::bully::mapping(),
        Scenario { network: Network::Set, faults, ..Scenario::calm(2) },
    );
    covers(&mapping::member::mapping(), Scenario::calm(2));
}

#[test]
fn what_leaves_the_bounds_is_counted_and_not_taken() {
    let timing = Timing::Asynchronous;
    let bounded = Scenario { timing, capacity: Some(1), ..Scenario::calm(2).with_crashes(1, 1) };
    covers(&mapping::bully::mapping(), bounded);
    assert!(suite(&mapping::bully::mapping(), bounded, &Limits::NONE).summary().outside > 0);
}

#[test]
fn an_execution_is_a_trace_that_can_be_replayed() {
    let suite = suite(&mapping::bully::mapping(), CRASH_AND_RECOVERY, &Limits::NONE);
    for at in [0, suite.len() / 2, suite.len() - 1] {
        let replayed = replay(&mapping::bully::mapping(), &suite.trace(at)).expect("comparable");
        assert_eq!(replayed.steps, suite.execution(at).len());
        assert_eq!(replayed.divergence, None);
    }
    let longest = suite.execution(suite.len() - 1).len();
    assert_eq!(suite.summary().longest, longest as u64);
}

#[test]
fn a_search_that_is_cut_short_finds_no_executions() {
    let limits = Limits { states: Some(1), ..Limits::NONE };
    let suite = suite(&mapping::bully::mapping(), Scenario::calm(4).with_crashes(2, 2), &limits);
    assert_eq!(suite.summary().cut_short, Some(Reason::States));
    assert!(suite.is_empty());
}
