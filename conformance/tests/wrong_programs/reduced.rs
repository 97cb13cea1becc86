//! What a long execution shows of a wrong program, a small one shows as well.

use super::wrong::Mistake;
use super::{caught, scenario, wrong};
use crate::wrapper::WrongMapping;
use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::mapping::Mapping as _;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::pair::Pair;
use bellwether_conformance::reduce::reduce;
use bellwether_conformance::replay::replay;
use bellwether_conformance::report::MOST_LINES;
use bellwether_model::trace::Event;
use bellwether_model::world::{Action, Faults, Network, Scenario, World};

type Mapping = WrongMapping<BullyMapping>;

/// Mistakes that show on the way, and not only in probes.
const MISTAKES: [Mistake; 8] = [
    Mistake::IgnoresOk,
    Mistake::NoGuard,
    Mistake::LeaderKeepsQuiet,
    Mistake::KeepsElectionTimer,
    Mistake::AnnouncesToAll,
    Mistake::KeepsLeader,
    Mistake::OneHeartbeat,
    Mistake::NoRestart,
];

fn world(scenario: Scenario) -> World {
    World::new(BullyMapping::RULES, scenario).expect("possible").concrete()
}

/// A world in which much happens that has nothing to do with a mistake.
fn large() -> World {
    let faults =
        Faults { crashes: 3, recoveries: 3, suspicions: 3, losses: 2.into(), ..Faults::NONE };
    world(Scenario { faults, network: Network::Unordered, ..Scenario::calm(5) })
}

/// Both at the beginning.
fn pair<'a>(mapping: &'a Mapping, world: &'a World) -> Pair<'a, Mapping> {
    let begun = Pair::begin(mapping, world).expect("comparable");
    begun.unwrap_or_else(|divergence| panic!("{divergence}"))
}

/// What model and program do in a random execution, until they part.
fn at_random(mapping: &Mapping, world: &World, seed: u64) -> Option<Box<Divergence>> {
    let mut pair = pair(mapping, world);
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..200 {
        let mut enabled = world.actions(pair.state());
        enabled.retain(|action| world.within_bounds(&world.apply(pair.state(), action).state));
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let choices = u64::try_from(enabled.len()).expect("a few");
        let at = usize::try_from(random.checked_rem(choices)?).expect("one of them");
        if let Err(divergence) = pair.step(&enabled[at]) {
            return Some(divergence);
        }
    }
    None
}

/// In which way they part: the kind, what differs, and what happened there.
fn way(found: &Divergence) -> (Kind, String, Option<String>) {
    let step = found.trace.steps.last().map(|step| match &step.event {
        Event::Deliver(flight) => format!("deliver {}", flight.message),
        Event::Expire { timer, .. } => format!("expire {timer}"),
        other => serde_json::to_value(other).expect("JSON").to_string(),
    });
    (found.kind, found.differences[0].what.clone(), step)
}

/// What these steps show from the beginning, if they are an execution of the model.
fn shown(
    pair: &mut Pair<'_, Mapping>,
    world: &World,
    actions: &[Action],
) -> Option<Box<Divergence>> {
    pair.restart();
    for action in actions {
        if !world.actions(pair.state()).contains(action) {
            return None;
        }
        if let Err(divergence) = pair.step(action) {
            return Some(divergence);
        }
    }
    None
}

/// The steps of an execution as the model takes them.
fn steps(found: &Divergence) -> (World, Vec<Action>) {
    let world = found.trace.world::<<Mapping as bellwether_conformance::Mapping>::Spec>();
    let world = world.expect("possible").concrete();
    let actions = found.trace.actions(&world).expect("an execution");
    (world, actions)
}

#[test]
fn of_a_long_execution_no_step_is_left_that_can_be_left_out() {
    let large = large();
    let (mut before, mut after, mut found_in) = (0, 0, 0);
    for mistake in MISTAKES {
        let mapping = wrong(mistake);
        for seed in 1..=12 {
            let Some(found) = at_random(&mapping, &large, seed) else { continue };
            let reduced = reduce(&mapping, found.clone());
            assert_eq!(way(&reduced), way(&found), "{mistake:?}, {seed}:\n{reduced}");
            before += found.step;
            after += reduced.step;
            found_in += 1;
            let again = replay(&mapping, &reduced.trace).expect("an execution").divergence;
            let again = again.unwrap_or_else(|| panic!("{mistake:?}, {seed} does not show again"));
            assert_eq!((again.step, way(&again)), (reduced.step, way(&reduced)));
            let (world, actions) = steps(&reduced);
            let mut pair = pair(&mapping, &world);
            for left_out in 0..actions.len() {
                let mut fewer = actions.clone();
                fewer.remove(left_out);
                let shown = shown(&mut pair, &world, &fewer);
                let same = shown.is_some_and(|shown| way(&shown) == way(&reduced));
                assert!(!same, "{mistake:?}, {seed}: step {} is not needed", left_out + 1);
            }
            let twice = reduce(&mapping, reduced.clone());
            assert_eq!(twice.trace, reduced.trace, "{mistake:?}, {seed}");
        }
    }
    println!("{found_in} executions: {before} steps, {after} after the reduction");
    assert!(found_in > 60, "only {found_in} executions showed their mistake");
    assert!(after * 3 < before * 2, "{before} steps, {after} after the reduction");
}

/// All executions that some of the steps are: the fewest steps of one that shows the same.
fn fewest(mapping: &Mapping, found: &Divergence) -> usize {
    let (world, actions) = steps(found);
    let (mut pair, mut fewest) = (pair(mapping, &world), actions.len());
    for chosen in 0_u32..1 << actions.len() {
        let some = actions.iter().enumerate().filter(|(at, _)| chosen & (1 << at) != 0);
        let some: Vec<Action> = some.map(|(_, action)| *action).collect();
        if some.len() >= fewest {
            continue;
        }
        if shown(&mut pair, &world, &some).is_some_and(|shown| way(&shown) == way(found)) {
            fewest = some.len();
        }
    }
    fewest
}

#[test]
fn small_executions_are_reduced_as_far_as_all_choices_of_steps_allow() {
    let small = world(Scenario { network: Network::Set, ..scenario() });
    let (mut compared, mut worse) = (0, 0);
    for mistake in MISTAKES {
        let mapping = wrong(mistake);
        for seed in 1..=30 {
            let found = at_random(&mapping, &small, seed);
            let Some(found) = found.filter(|found| found.step <= 9) else { continue };
            let reduced = reduce(&mapping, found.clone());
            let fewest = fewest(&mapping, &found);
            compared += 1;
            worse += usize::from(reduced.step > fewest);
        }
    }
    println!("{compared} executions compared with all choices of their steps, {worse} are longer");
    assert!(compared > 20, "only {compared}");
    // A local minimum need not be the least: that it nearly always is, is worth knowing.
    assert!(worse * 20 <= compared, "{worse} of {compared} are longer than they must be");
}

#[test]
fn what_a_probe_has_found_is_reduced_and_still_a_probe() {
    let mapping = wrong(Mistake::AcceptsFromBelow);
    let found = caught(Mistake::AcceptsFromBelow, Kind::Different, "gets COORDINATOR from 1");
    let reduced = reduce(&mapping, found.clone());
    assert!(reduced.probe, "{reduced}");
    assert!(reduced.step <= found.step, "{reduced}");
    assert_eq!(reduced.kind, found.kind);
    assert_eq!(reduced.differences[0].what, found.differences[0].what);
}

#[test]
fn the_report_says_what_the_model_does_and_what_it_reads() {
    let found = caught(Mistake::IgnoresOk, Kind::Different, "different role of 1");
    assert!(found.expected.is_empty(), "it is not asked before the reduction");
    let reduced = reduce(&wrong(Mistake::IgnoresOk), found.clone());
    assert_eq!(reduced.step, 4, "{reduced}");
    assert_eq!(reduced.trace.header.world.nodes, 2, "{reduced}");
    let report = reduced.report(true);
    for says in ["The process before: ", "What the model does:\n", "What the model reads:\n"] {
        assert!(report.contains(says), "{says:?} is not in:\n{report}");
    }
    assert!(report.contains("  is waiting then\n"), "{report}");
    let depends = "It depends on:\n  OK from 2 to 1: sent in step 3, arrives in step 4\n";
    assert!(report.contains(depends), "{report}");
    assert!(report.contains("Found after 4 steps of 3 nodes, and reduced.\n"), "{report}");
    let json = serde_json::to_value(&reduced).expect("JSON");
    assert_eq!(json["reduced_from"], serde_json::json!({ "steps": 4, "nodes": 3 }));
    assert_eq!(json["guards"].as_array().map(Vec::len), Some(reduced.guards.len()));
    assert_eq!(json["depends"].as_array().map(Vec::len), Some(reduced.depends.len()));
}

#[test]
fn a_report_has_sixty_lines_unless_all_is_asked_for() {
    let large = large();
    let mut longest = 0;
    for seed in 1..=40 {
        let Some(found) = at_random(&wrong(Mistake::IgnoresOk), &large, seed) else { continue };
        let (report, full) = (found.report(true), found.full_report(true));
        assert!(report.lines().count() <= MOST_LINES, "{report}");
        assert_eq!(report.lines().next(), found.to_string().lines().next());
        assert!(report == full || report.contains("--verbose prints the rest"), "{report}");
        longest = longest.max(full.lines().count());
    }
    assert!(longest > MOST_LINES, "only {longest} lines");
}
