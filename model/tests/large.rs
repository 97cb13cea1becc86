//! Worlds of up to 128 processes: random walks take them, and what is found there can be saved,
//! read, told and drawn. No other engine takes more than seven.

use crate::cli::{run, run_in};
use crate::some;
use bellwether_model::check::{CheckError, Engine, Limits, Options, Verdict, check};
use bellwether_model::property::{self, Kind};
use bellwether_model::protocol::bully::Bully;
use bellwether_model::protocol::list_ring::List;
use bellwether_model::protocol::{Id, MAX_NODES, MAX_SEARCHED, REGISTRY};
use bellwether_model::report::{diagram, story, svg};
use bellwether_model::trace::Trace;
use bellwether_model::world::Action;
use bellwether_model::world::{Faults, Scenario, Start, World, WorldError};
use serde_json::Value;
use std::sync::Arc;

/// The protocols that have room for no more than an exhaustive search reaches.
const SMALL: &[&str] = &["stoller", "ospf-dr", "queue", "two-phase-commit", "three-phase-commit"];

/// A world of the default rules of each protocol with room for many, with so many processes that
/// elect, but no more than there can be with services.
fn worlds(nodes: usize) -> impl Iterator<Item = (&'static str, Arc<World>)> {
    let large = REGISTRY.iter().filter(|protocol| !SMALL.contains(&protocol.name()));
    large.map(move |protocol| {
        let nodes = nodes.min(MAX_NODES - protocol.services());
        let faults = Faults { crashes: 2, recoveries: 1, cuts: 1, ..Faults::NONE };
        let scenario = Scenario { faults, capacity: Some(3), ..Scenario::calm(nodes) };
        let rules = protocol.rules(None, &[]).expect("there are default rules");
        (protocol.name(), World::of(rules.clone(), scenario).map(Arc::new).expect("there is room"))
    })
}

/// A walk of so many steps in which everything is as likely.
fn walk(world: &World, steps: usize, seed: u64) -> Vec<Action> {
    let (mut state, mut path, mut random) = (world.initial(), Vec::new(), seed);
    for _ in 0..steps {
        let enabled = world.actions(&state);
        if enabled.is_empty() {
            break;
        }
        // By a linear congruential generator (Knuth's MMIX).
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let action = enabled[(random >> 33) as usize % enabled.len()];
        state = world.apply(&state, &action).state;
        path.push(action);
    }
    path
}

#[test]
fn walks_of_a_hundred_prove_nothing() {
    let all = ["bully", "chang-roberts", "list-ring", "invitation", "quorum", "raft-election"];
    for protocol in some(all, 5) {
        let ran = run(&format!(
            "check {protocol} --engine simulation --nodes 100 --crashes 2 --recoveries 1 \
             --max-states 200 --depth 100 --json"
        ));
        let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(report["nodes"], 100, "{protocol}");
        let steps = report["simulation"]["steps"].as_u64().expect("a number");
        assert!(steps >= 200, "{protocol}: {steps} steps");
        for property in report["properties"].as_array().expect("a list") {
            let (kind, verdict) = (&property["kind"], &property["verdict"]);
            assert!(verdict != "holds" || kind == "reachability", "{protocol}: {property}");
            assert!(verdict != "violated" || ran.status == 1, "{protocol}: {property}");
        }
    }
}

/// A process that leads as soon as it recovers is wrong in any group. What shows it is saved and
/// read again.
#[test]
fn a_wrong_rule_is_found_in_a_small_group_and_in_a_large_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let wrong = "check bully --rule restart=im-back --recoveries 1 --property at-most-one-leader";
    assert_eq!(run_in(dir.path(), wrong).status, 1);
    let large = format!("{wrong} --engine simulation --nodes 100 --max-states 5000 --out out");
    let ran = run_in(dir.path(), &large);
    assert_eq!(ran.status, 1, "{}{}", ran.stdout, ran.stderr);
    let text = std::fs::read(dir.path().join("out/bully-at-most-one-leader.ndjson"));
    let trace = Trace::read(&text.expect("it is saved")[..]).expect("a trace");
    assert_eq!(trace.header.initial.len(), 100);
    let world = trace.world::<Bully>().expect("a world of 100");
    assert_eq!(trace.actions(&world).expect("it happened").len(), trace.steps.len());
}

#[test]
fn what_happens_in_large_groups_is_recorded_read_told_and_drawn() {
    for (name, world) in worlds(100) {
        for (seed, steps) in [(1, 6), (2, 60)] {
            let path = walk(&world, steps, seed);
            let trace = Trace::record(&world, &path, None);
            let mut text = Vec::new();
            trace.write(&mut text).expect("memory takes it");
            let read = Trace::read(&text[..]).expect("it was written whole");
            assert_eq!(read, trace, "{name}");
            assert_eq!(read.actions(&world).expect("it happened").len(), path.len(), "{name}");
            assert!(story::tell(&read).contains("Now "), "{name}");
            let drawn = diagram::draw(&read, diagram::Options::default());
            let many = drawn.contains("too wide to be drawn in characters");
            assert!(many || drawn.contains("process 1"), "{name}:\n{drawn}");
            let (picture, rows) = svg::draw_with_rows(&read);
            assert!(picture.ends_with("</svg>\n") || picture.ends_with("</svg>"), "{name}");
            assert_eq!(rows.len(), path.len(), "{name}");
            let properties = property::select(&world, &[]).expect("the usual ones");
            let page = bellwether_tool::explore::Walk::of(&world, &properties, &path, None);
            assert_eq!(page.moments.len(), path.len() + 1, "{name}");
        }
    }
}

/// Of more lifelines than a terminal has room for, the diagram says so.
#[test]
fn a_diagram_of_too_many_says_so() {
    let scenario = Scenario { start: Start::Cold, ..Scenario::calm(100) };
    let world = World::new(Bully::RECOMMENDED, scenario).expect("a world");
    let world: &World = &world;
    let trace = Trace::record(world, &walk(world, 60, 7), None);
    let drawn = diagram::draw(&trace, diagram::Options::default());
    assert!(drawn.contains("too wide to be drawn in characters"), "{drawn}");
    assert!(drawn.lines().count() < 12, "{drawn}");
    assert!(svg::draw(&trace).contains("Nothing happens to "));
}

#[test]
fn what_walks_find_in_large_groups_is_there() {
    let sizes: &[usize] = if cfg!(feature = "slow") { &[8, 100] } else { &[8] };
    for &nodes in sizes {
        for (name, world) in worlds(nodes) {
            let mut properties = property::select(&world, &[]).expect("the usual ones");
            properties.retain(|property| property.kind() != Kind::Liveness);
            let limits = Limits { states: Some(150), ..Limits::NONE };
            let one =
                Options { engine: Engine::Simulation, limits, depth: 60, ..Options::default() };
            let two = Options { threads: 2, ..one.clone() };
            let report = check(&world, &properties, &one, &mut |_| {}).expect("they end");
            let again = check(&world, &properties, &two, &mut |_| {}).expect("they end");
            let found = report.simulation.as_ref().expect("walks");
            let steps = again.simulation.as_ref().expect("walks").steps;
            assert_eq!(found.steps, steps, "{name} of {nodes}");
            for decision in &report.decisions {
                let about = format!("{name} of {nodes}: {}", decision.property.name);
                let found_one = decision.property.kind() == Kind::Reachability;
                assert!(found_one || decision.verdict != Verdict::Holds, "{about}");
                let Some(found) = &decision.counterexample else { continue };
                let trace = found.trace(&world, &decision.property);
                assert_eq!(
                    trace.actions(&world).expect(&about).len(),
                    found.steps.len(),
                    "{about}"
                );
            }
        }
    }
}

#[test]
fn the_library_refuses_as_well() {
    let world = World::new(Bully::RECOMMENDED, Scenario::calm(8)).expect("for walks");
    let refused = WorldError::TooLarge { nodes: 8, most: MAX_SEARCHED };
    assert_eq!(world.is_searchable(), Err(refused.clone()));
    let properties = property::select(&world, &[]).expect("the usual ones");
    let exact = check(&world, &properties, &Options::default(), &mut |_| {});
    assert!(matches!(exact, Err(CheckError::World(error)) if error == refused));
    assert_eq!(world.ids().last(), Some(Id::at(7)));
}

/// The list of a ring with these in it.
fn list(numbers: impl IntoIterator<Item = usize>) -> List {
    let mut ids = numbers.into_iter().map(|number| Id::at(number - 1));
    let first = List::of(ids.next().expect("a list begins with an id"));
    ids.fold(first, List::with)
}

#[test]
fn the_list_of_a_ring_keeps_few_in_order_and_of_many_the_first() {
    let few = list([3, 1, 7, 1, 2]);
    assert!(few.ids().map(Id::number).eq([3, 1, 7, 2]));
    let many = list([90, 2, 100, 3, 1, 4, 5, 6, 90, 7]);
    assert!(many.ids().map(Id::number).eq([90, 1, 2, 3, 4, 5, 6, 7, 100]));
    assert_eq!((many.first(), many.highest()), (Id::at(89), Id::at(99)));
    assert!(many.contains(Id::at(99)) && !many.contains(Id::at(50)));
    assert_eq!(many.with(Id::at(50)).ids().count(), 10);
    for list in [few, many, list(1..=128), list((1..=8).rev())] {
        let json = serde_json::to_string(&list).expect("JSON");
        assert_eq!(serde_json::from_str::<List>(&json).expect("a list"), list);
    }
    for wrong in ["[]", "[1,1]", "[129]", "[1,2,3,4,5,6,7,8,8]", "[8,1,3,2,4,5,6,7]"] {
        assert!(serde_json::from_str::<List>(wrong).is_err(), "{wrong}");
    }
}
