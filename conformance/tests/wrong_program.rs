//! A wrong program, to see what is told of it and done with it: the report of a divergence and its
//! JSON, traces that are saved and replayed, suites, executions that are made smaller, walks that
//! are cut short, and large groups. `conformance/mutants` says which mistakes are caught.

use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::large_group::large_group;
use bellwether_conformance::lockstep::{Outcome, lockstep};
use bellwether_conformance::mapping;
use bellwether_conformance::mapping::{Mapping, Sides};
use bellwether_conformance::pair::Pair;
use bellwether_conformance::reduce::reduce;
use bellwether_conformance::replay::replay;
use bellwether_conformance::report::MOST_LINES;
use bellwether_conformance::suite::{Ran, find, run};
use bellwether_core::protocol::bully::{Bully, Message};
use bellwether_core::protocol::chang_roberts::{self, ChangRoberts};
use bellwether_core::protocol::quorum::{self, Quorum, Timer};
use bellwether_core::protocol::{Input, Node, Request};
use bellwether_model::check::{Limits, Reason};
use bellwether_model::trace::{Event, Trace};
use bellwether_model::world::{Action, Faults, Network, Scenario, Start, World};

use crate::compared::{caught, first_difference};
use crate::wrong::{Mistake, Wrong, ignores_ok, wrong};

/// A crash and a recovery: enough for every mistake here.
const WORLD: Scenario = Scenario::calm(3).with_crashes(1, 1);

type WrongBully = Wrong<mapping::bully::Bully>;

fn bully(mistake: Mistake<Node<Bully>>) -> Mapping<WrongBully> {
    wrong(&mapping::bully::mapping(), mistake)
}

/// A node keeps ids in a byte, and does not hear those that do not fit. In small worlds only a
/// probe shows that.
fn keeps_ids_in_a_byte() -> Mapping<WrongBully> {
    let beyond = |_: &Node<Bully>, input: &Input<Message>| match input {
        Input::Receive { from, .. } => from.get() > u16::from(u8::MAX),
        _ => false,
    };
    bully(Mistake::Deaf(beyond))
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    for start in [Start::Converged, Start::Cold] {
        let right = bully(Mistake::None);
        assert_eq!(first_difference(&right, Scenario { start, ..WORLD }), None);
    }
}

#[test]
fn a_difference_is_told_drawn_and_saved_and_the_replay_shows_it_again() {
    let about = "different role of 1: waiting in the model, candidate in the program";
    let found = caught(&ignores_ok(), WORLD, Kind::Different, about);
    assert!(found.happened.contains("gets OK"), "{found}");
    assert!(found.to_string().contains("1 gets OK from 2"), "{found}");
    assert_eq!(found.trace.steps.len(), found.step);
    assert_eq!(found.step, 4, "crash, time-out, ELECTION, OK is the shortest way:\n{found}");
    let report = found.report();
    assert!(report.contains("As the model tells it:\nAt the beginning"), "{report}");
    assert!(report.lines().any(|line| line.contains("OK") && line.contains('◄')), "{report}");

    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(json["kind"], "different");
    assert_eq!(json["differences"][0]["what"], "role");
    assert_eq!(json["differences"][0]["model"], "waiting");
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(found.step));

    let mut file = Vec::new();
    found.trace.write(&mut file).expect("written");
    let trace = Trace::read(&file[..]).expect("read");
    let again = replay(&ignores_ok(), &trace).expect("comparable");
    assert_eq!(again.divergence, Some(found));
    let healthy = replay(&bully(Mistake::None), &trace).expect("comparable");
    assert_eq!(healthy.divergence, None);
}

/// A beginning is compared input by input, and a difference there is told in words.
#[test]
fn a_difference_before_the_beginning_names_the_input() {
    let ack = |_: &Node<ChangRoberts>, input: &Input<chang_roberts::Message>| {
        matches!(input, Input::Receive { message: chang_roberts::Message::Ack(_), .. })
    };
    let wrong = wrong(&mapping::chang_roberts::mapping(), Mistake::Deaf(ack));
    let found = caught(&wrong, WORLD, Kind::Different, "outbox");
    assert_eq!(found.step, 0, "{found}");
    assert!(found.happened.contains("gets ACK(coordinator 3)"), "{found}");
    assert!(found.to_string().contains("nothing in the model, (COORDINATOR(3), 2)"), "{found}");
    let report = found.report();
    assert!(!report.contains(['{', '[']), "raw data:\n{report}");
    assert!(report.contains("\n 1. 1 starts.\n 2. 1 gets COORDINATOR(3) from 2."), "{report}");
}

/// A node that is asked to stay away does so for the first time that it was given.
#[test]
fn a_request_that_comes_twice_is_told_as_the_second() {
    let again = |node: &Node<Quorum>, input: &Input<quorum::Message>| {
        let is_away = node.armed().any(|(timer, _)| timer == Timer::Away);
        is_away && matches!(input, Input::Request(Request::StepDown(..)))
    };
    let wrong =
        wrong(&mapping::quorum::mapping(&mapping::quorum::RECOMMENDED), Mistake::Deaf(again));
    let world = Scenario::calm(2).with_crashes(1, 1);
    caught(&wrong, world, Kind::Missing, "and then: StepDown(None)");
}

#[test]
fn of_nodes_that_remember_what_no_process_does_two_executions_are_told() {
    let found =
        caught(&bully(Mistake::Counts), WORLD, Kind::Different, "different hidden state of ");
    assert!(found.to_string().contains("'wake_ups: "), "{found}");
    let other = found.other.as_ref().expect("two executions lead to one process");
    assert_ne!(other.steps, found.trace.steps);
    let report = found.report();
    assert_eq!(report.matches("At the beginning").count(), 2, "both are told:\n{report}");
    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(json["other_steps"].as_array().map(Vec::len), Some(other.steps.len()));
}

#[test]
fn a_mapping_that_gives_two_durations_one_period_is_refused() {
    let world =
        World::new(mapping::lease::recommended().rules, Scenario::calm(2)).expect("possible");
    let wrong = wrong(&mapping::lease::recommended(), Mistake::OnePeriod);
    let refused = lockstep(&world, &wrong, 1, &Limits::NONE, &mut |_| {}).expect_err("refused");
    let words = refused.to_string();
    assert!(words.contains("gives 'renew' the period of 'asked'"), "{words}");
}

/// Probes run as nodes are met: a walk that is cut short has found what only a probe finds.
#[test]
fn a_walk_that_is_cut_short_has_probed() {
    let short = Limits { states: Some(1), ..Limits::NONE };
    let world = World::new(mapping::bully::mapping().rules, WORLD).expect("possible");
    let walked = lockstep(&world, &keeps_ids_in_a_byte(), 1, &short, &mut |_| {});
    let walked = walked.expect("comparable");
    assert!(walked.divergence.expect("found by a probe").probe);
    assert_eq!(walked.summary.cut_short, Some(Reason::States), "{:?}", walked.summary);
}

#[test]
fn with_any_number_of_threads_the_same_difference_is_found() {
    let world = World::new(mapping::bully::mapping().rules, WORLD).expect("possible");
    for wrong in [ignores_ok(), bully(Mistake::Counts), keeps_ids_in_a_byte()] {
        let found = |threads| {
            let walked = lockstep(&world, &wrong, threads, &Limits::NONE, &mut |_| {});
            let Outcome { mut summary, divergence, .. } = walked.expect("comparable");
            summary.seconds = 0.0;
            (summary, divergence.expect("it is caught"))
        };
        assert_eq!(found(1), found(3));
    }
}

#[test]
fn a_large_group_shows_ids_that_are_cut_off() {
    let wrong = large_group(&keeps_ids_in_a_byte());
    assert!(wrong.size >= 8 && wrong.wrong.is_some(), "{wrong:?}");
}

#[test]
fn a_suite_catches_what_its_executions_show() {
    let world = World::new(mapping::bully::mapping().rules, WORLD).expect("possible");
    let suite = find(&mapping::bully::mapping(), &world, 1, &Limits::NONE, &mut |_| {})
        .expect("comparable");
    let ran = |mapping: &Mapping<WrongBully>, threads| {
        let ran = run(mapping, &suite, threads, &Limits::NONE, &|_| {}).expect("comparable");
        Ran { seconds: 0.0, ..ran }
    };
    let healthy = ran(&bully(Mistake::None), 2);
    assert_eq!(healthy.divergence, None);
    assert_eq!((healthy.executions, healthy.steps), (suite.len() as u64, suite.summary().steps));
    let caught = ran(&ignores_ok(), 1);
    assert_eq!(caught, ran(&ignores_ok(), 3), "as many threads as one likes");
    let found = caught.divergence.expect("it is caught");
    let again = replay(&ignores_ok(), &found.trace).expect("comparable");
    assert_eq!(again.divergence, Some(found));
}

fn world(scenario: Scenario) -> World {
    World::new(mapping::bully::mapping().rules, scenario).expect("possible").concrete()
}

/// A world in which much happens that has nothing to do with a mistake.
fn large() -> World {
    let faults =
        Faults { crashes: 3, recoveries: 3, suspicions: 3, losses: 2.into(), ..Faults::NONE };
    world(Scenario { faults, network: Network::Unordered, ..Scenario::calm(5) })
}

/// Both at the beginning.
fn pair<'a>(mapping: &'a Mapping<WrongBully>, world: &'a World) -> Pair<'a, WrongBully> {
    let begun = Pair::begin(mapping, world).expect("comparable");
    begun.unwrap_or_else(|divergence| panic!("{divergence}"))
}

/// A random execution of model and program, until they part.
fn at_random(mapping: &Mapping<WrongBully>, world: &World, seed: u64) -> Option<Box<Divergence>> {
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

/// The divergence that these steps show from the beginning, if the model takes them.
fn shown(
    pair: &mut Pair<'_, WrongBully>,
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
    let world = found.trace.world::<<WrongBully as Sides>::Spec>();
    let world = world.expect("possible").concrete();
    let actions = found.trace.actions(&world).expect("an execution");
    (world, actions)
}

#[test]
fn of_a_long_execution_no_step_is_left_that_can_be_left_out() {
    let (mapping, large) = (ignores_ok(), large());
    let (mut before, mut after, mut found_in) = (0, 0, 0);
    for seed in 1..=80 {
        let Some(found) = at_random(&mapping, &large, seed) else { continue };
        let reduced = reduce(&mapping, found.clone());
        assert_eq!(way(&reduced), way(&found), "{seed}:\n{reduced}");
        before += found.step;
        after += reduced.step;
        found_in += 1;
        let again = replay(&mapping, &reduced.trace).expect("an execution").divergence;
        let again = again.unwrap_or_else(|| panic!("{seed} does not show again"));
        assert_eq!((again.step, way(&again)), (reduced.step, way(&reduced)));
        let (world, actions) = steps(&reduced);
        let mut pair = pair(&mapping, &world);
        for left_out in 0..actions.len() {
            let mut fewer = actions.clone();
            fewer.remove(left_out);
            let shown = shown(&mut pair, &world, &fewer);
            let same = shown.is_some_and(|shown| way(&shown) == way(&reduced));
            assert!(!same, "{seed}: step {} is not needed", left_out + 1);
        }
        let twice = reduce(&mapping, reduced.clone());
        assert_eq!(twice.trace, reduced.trace, "{seed}");
    }
    println!("{found_in} executions: {before} steps, {after} after the reduction");
    assert!(found_in > 40, "only {found_in} executions showed the mistake");
    assert!(after * 3 < before * 2, "{before} steps, {after} after the reduction");
}

/// All executions that some of the steps are: the fewest steps of one that shows the same.
fn fewest(mapping: &Mapping<WrongBully>, found: &Divergence) -> usize {
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
    let small = world(Scenario { network: Network::Set, ..WORLD });
    let mapping = ignores_ok();
    let (mut compared, mut worse) = (0, 0);
    for seed in 1..=240 {
        let found = at_random(&mapping, &small, seed);
        let Some(found) = found.filter(|found| found.step <= 9) else { continue };
        let reduced = reduce(&mapping, found.clone());
        compared += 1;
        worse += usize::from(reduced.step > fewest(&mapping, &found));
    }
    println!("{compared} executions compared with all choices of their steps, {worse} are longer");
    assert!(compared > 20, "only {compared}");
    // A local minimum need not be the least: that it nearly always is, is worth knowing.
    assert!(worse * 20 <= compared, "{worse} of {compared} are longer than they must be");
}

#[test]
fn what_a_probe_has_found_is_reduced_and_still_a_probe() {
    let mapping = keeps_ids_in_a_byte();
    let found = caught(&mapping, WORLD, Kind::Missing, "ignores a message of 65535");
    assert!(found.probe, "no honest world has such an id:\n{found}");
    let reduced = reduce(&mapping, found.clone());
    assert!(reduced.probe, "{reduced}");
    assert_eq!(reduced.trace.header.world.nodes, 2, "{reduced}");
    assert!(reduced.step <= found.step, "{reduced}");
    assert_eq!(reduced.kind, found.kind);
    assert_eq!(reduced.differences[0].what, found.differences[0].what);
}

#[test]
fn the_report_says_what_the_model_does_and_what_it_reads() {
    let found = caught(&ignores_ok(), WORLD, Kind::Different, "different role of 1");
    assert!(found.expected.is_empty(), "it is not asked before the reduction");
    let reduced = reduce(&ignores_ok(), found.clone());
    assert_eq!(reduced.step, 4, "{reduced}");
    assert_eq!(reduced.trace.header.world.nodes, 2, "{reduced}");
    let report = reduced.report();
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
        let Some(found) = at_random(&ignores_ok(), &large, seed) else { continue };
        let (report, full) = (found.report(), found.full_report());
        assert!(report.lines().count() <= MOST_LINES, "{report}");
        assert_eq!(report.lines().next(), found.to_string().lines().next());
        assert!(report == full || report.contains("--verbose prints the rest"), "{report}");
        longest = longest.max(full.lines().count());
    }
    assert!(longest > MOST_LINES, "only {longest} lines");
}
