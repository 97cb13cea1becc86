//! Random walks: what they met is counted right, when they end, and that they take worlds of up to
//! 128 processes. What is found there can be saved, read, told and drawn; no other engine takes
//! more than seven.

use crate::asked::{Random, question, read_again, report_by, world};
use crate::cli::run_in;
use bellwether_model::check::{
    Cancel, CheckError, Engine, Limits, Options, Reason, Simulation, Verdict, check,
};
use bellwether_model::explore::Walk;
use bellwether_model::property::{self, Kind};
use bellwether_model::protocol::bully::Bully;
use bellwether_model::protocol::list_ring::List;
use bellwether_model::protocol::{Id, MAX_NODES, MAX_SEARCHED, REGISTRY};
use bellwether_model::report::{diagram, story, svg};
use bellwether_model::trace::Trace;
use bellwether_model::world::{World, WorldError, swarm};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Walks of so many steps in all, and of so many at most each.
fn steps(steps: u64, depth: usize) -> Options {
    let limits = Limits { states: Some(steps), ..Limits::NONE };
    Options { engine: Engine::Simulation, limits, depth, ..Options::default() }
}

/// What walks met of whether two lead.
fn met(line: &str, options: &Options) -> Simulation {
    let report = report_by(&format!("{line} -p at-most-one-leader"), options);
    report.simulation.expect("they were walks")
}

/// Two processes, of which one may crash, and walks of one step. There are no heartbeats by these
/// rules, so a walk crashes the follower, or the leader, or has drawn no crash and takes no step.
#[test]
fn coverage_of_a_world_counted_by_hand() {
    let found = met("bully --variant baseline --nodes 2", &steps(100, 1));
    assert_eq!((found.walks, found.longest, found.about_states), (100, 1, 3));
    assert!((60..90).contains(&found.steps), "{}: about a quarter takes no step", found.steps);
    assert_eq!(found.actions.kinds(), [swarm::Kind::Crash]);
    let roles = ["follower", "leader"].map(Some);
    assert_eq!(found.actions.roles(), roles);
    let [followers, leaders] = roles.map(|role| found.actions.of(swarm::Kind::Crash, role));
    assert_eq!(followers + leaders, found.steps);
    assert!(followers > 20 && leaders > 20, "{followers}, {leaders}");
    // No process has taken a step, so no rule has decided one.
    assert_eq!(found.looked, 4);
    assert_eq!(found.rules_not_met().len(), found.rules.len());
    assert!(found.rules.contains_key("t_coord"));
}

/// The lower of two starts and sends ELECTION, the higher COORDINATOR. ELECTION arrives at a
/// leader, which answers OK and COORDINATOR; the first COORDINATOR arrives at a candidate, all else
/// at a follower. Only which of the first two messages arrives first is open: six states.
#[test]
fn coverage_of_a_cold_start_counted_by_hand() {
    let line = "bully --variant baseline --nodes 2 --crashes 0 --start cold";
    let found = met(line, &steps(40, 100));
    assert_eq!((found.walks, found.steps, found.longest, found.about_states), (10, 40, 4, 6));
    assert_eq!(found.actions.kinds(), [swarm::Kind::Deliver]);
    let count = |role| found.actions.of(swarm::Kind::Deliver, Some(role));
    assert_eq!(["candidate", "follower", "leader"].map(count), [10, 20, 10]);
    assert_eq!(found.actions.total(), 40);
}

/// A rule is met if a step depends on it: only a process that recovers reads how to.
#[test]
fn rules_are_met_where_a_step_depends_on_them() {
    let not_met = |line| {
        let found = met(line, &steps(20_000, 200));
        let not_met: Vec<_> = found.rules_not_met().into_iter().map(str::to_owned).collect();
        (not_met, found.rules.len())
    };
    let ((without, rules), (with, _)) = (not_met("bully"), not_met("bully --recoveries 1"));
    assert!(without.len() < rules && !without.contains(&"watch".to_owned()), "{without:?}");
    assert!(with.len() < without.len(), "{with:?}, {without:?}");
    assert!(with.iter().all(|rule| without.contains(rule)), "{with:?}, {without:?}");
}

#[test]
fn they_find_what_is_violated_and_never_prove() {
    let line = "bully --recoveries 1 -p at-most-one-leader -p validity -p stabilises";
    let report = report_by(line, &steps(50_000, 500));
    let verdicts: Vec<_> = report.decisions.iter().map(|d| (d.verdict, d.reason)).collect();
    let sampled = (Verdict::Unknown, Some(Reason::Sampled));
    assert_eq!(verdicts, [(Verdict::Violated, None), sampled, sampled]);
    let found = report.decisions[0].counterexample.as_ref().expect("it is shown");
    assert!(found.steps.len() <= 12, "{} steps, when parts were left out", found.steps.len());
}

#[test]
fn they_end_when_they_are_to() {
    static SET: AtomicBool = AtomicBool::new(true);
    // Nothing happens in a calm group by these rules, and still the walks end.
    let found = met("bully --variant baseline --crashes 0", &steps(50, 100));
    assert_eq!((found.walks, found.steps, found.about_states), (50, 0, 1));
    let line = "bully -p at-most-one-leader";
    let engine = Engine::Simulation;
    let cancel = Limits { cancel: Some(Cancel::when(&SET)), ..Limits::NONE };
    let report = report_by(line, &Options { engine, limits: cancel, ..Options::default() });
    assert_eq!(report.cut_short, Some(Reason::Interrupted));
    let time = Limits { time: Some(Duration::from_millis(50)), ..Limits::NONE };
    let options = Options { engine, limits: time, threads: 2, ..Options::default() };
    let report = report_by(line, &options);
    assert!(report.cut_short.is_none(), "to walk for so long was the search");
    assert!(report.elapsed < Duration::from_secs(5));
    assert!(report.simulation.expect("walks").steps > 0);
}

/// The protocols that have room for no more than an exhaustive search reaches.
const SMALL: &[&str] = &["stoller", "ospf-dr", "queue", "two-phase-commit", "three-phase-commit"];

/// A world of the default rules of each protocol with room for many, with so many processes that
/// elect, but no more than there can be with services.
fn worlds(nodes: usize) -> impl Iterator<Item = (&'static str, Arc<World>)> {
    let large = REGISTRY.iter().filter(|protocol| !SMALL.contains(&protocol.name()));
    large.map(move |protocol| {
        let nodes = nodes.min(MAX_NODES - protocol.services());
        let faults = "--crashes 2 --recoveries 1 --cuts 1 --capacity 3";
        let line = format!("{} --nodes {nodes} {faults}", protocol.name());
        (protocol.name(), world(&line))
    })
}

/// A process that leads as soon as it recovers is wrong in any group. The execution that shows the
/// mistake is saved, and read again.
#[test]
fn a_wrong_rule_is_found_in_a_small_group_and_in_a_large_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let wrong = "check bully --rule restart=im-back --recoveries 1 --property at-most-one-leader";
    assert_eq!(run_in(dir.path(), wrong).status, 1);
    let large = format!("{wrong} --engine simulation --nodes 100 --max-states 5000 --out out");
    let ran = run_in(dir.path(), &large);
    assert_eq!(ran.status, 1, "{}{}", ran.stdout, ran.stderr);
    let file = "out/bully-at-most-one-leader.ndjson";
    let text = std::fs::read(dir.path().join(file)).expect("it is saved");
    let trace = Trace::read(&text[..]).expect("a trace");
    assert_eq!(trace.header.initial.len(), 100);
    let world = trace.world::<Bully>().expect("a world of 100");
    assert_eq!(trace.actions(&world).expect("it happened").len(), trace.steps.len());
}

#[test]
fn what_happens_in_large_groups_is_recorded_read_told_and_drawn() {
    for (name, world) in worlds(100) {
        for (seed, steps) in [(1, 6), (2, 60)] {
            let path = Random(seed).walk(&world, steps);
            let trace = Trace::record(&world, &path, None);
            assert_eq!(read_again(&world, &trace).len(), path.len(), "{name}");
            assert!(story::tell(&trace).contains("Now "), "{name}");
            let drawn = diagram::draw(&trace, diagram::Options::default());
            let many = drawn.contains("too wide to be drawn in characters");
            assert!(many || drawn.contains("\n      P"), "{name}:\n{drawn}");
            let (picture, rows) = svg::draw_with_rows(&trace);
            assert!(picture.trim_end().ends_with("</svg>"), "{name}");
            assert_eq!(rows.len(), path.len(), "{name}");
            let properties = property::select(&world, &[]).expect("the usual ones");
            let page = Walk::of(&world, &properties, &path, None);
            assert_eq!(page.moments.len(), path.len() + 1, "{name}");
        }
    }
    // Of more lifelines than a terminal has room for, the diagram says so.
    let world = world("bully --nodes 100 --crashes 0 --start cold");
    let trace = Trace::record(&world, &Random(7).walk(&world, 60), None);
    let drawn = diagram::draw(&trace, diagram::Options::default());
    assert!(drawn.contains("too wide to be drawn in characters"), "{drawn}");
    assert!(drawn.lines().count() < 12, "{drawn}");
    assert!(svg::draw(&trace).contains("Nothing happens to "));
}

#[test]
fn what_walks_find_in_large_groups_is_there() {
    let sizes: &[usize] = if cfg!(feature = "slow") { &[8, 100] } else { &[8] };
    for (nodes, (name, world)) in sizes.iter().flat_map(|&n| worlds(n).map(move |one| (n, one))) {
        let mut properties = property::select(&world, &[]).expect("the usual ones");
        properties.retain(|property| property.kind() != Kind::Liveness);
        let one = steps(150, 60);
        let two = Options { threads: 2, ..one.clone() };
        let report = check(&world, &properties, &one, &mut |_| {}).expect("they end");
        let again = check(&world, &properties, &two, &mut |_| {}).expect("they end");
        let steps = |simulation: Option<Simulation>| simulation.expect("walks").steps;
        for decision in &report.decisions {
            let about = format!("{name} of {nodes}: {}", decision.property.name);
            let found_one = decision.property.kind() == Kind::Reachability;
            assert!(found_one || decision.verdict != Verdict::Holds, "{about}");
            let Some(found) = &decision.counterexample else { continue };
            let trace = found.trace(&world, &decision.property);
            let taken = trace.actions(&world).expect(&about);
            assert_eq!(taken.len(), found.steps.len(), "{about}");
        }
        assert_eq!(steps(report.simulation), steps(again.simulation), "{name} of {nodes}");
    }
}

#[test]
fn the_library_searches_no_large_group() {
    let (world, properties) = question("bully --nodes 8 --crashes 0");
    let refused = WorldError::TooLarge { nodes: 8, most: MAX_SEARCHED };
    assert_eq!(world.is_searchable(), Err(refused.clone()));
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
