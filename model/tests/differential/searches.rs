//! One world, searched in two ways: by each engine, in pieces, with more room on the links, and at
//! random. What is found is the same, or as much of it as the other way finds.

use super::explore;
use super::scenario::{Case, cases, delays, every_protocol, verdicts};
use crate::asked::{after, question};
use crate::disk::{found, in_pieces};
use bellwether_model::check::{Decision, Engine, Limits, Options, Report, Verdict, check};
use bellwether_model::property::{self, Kind, Property, Temporal};
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Scenario, World};
use proptest::prelude::*;
use serde_json::Value;
use std::cell::Cell;

/// What the state graph finds, which stateright's searches must find too: the same verdicts, and
/// breadth-first executions as short. They count the same, or a check with liveness fails.
fn engines_agree(line: &str) -> Report {
    let (world, asked) = question(line);
    let by = |engine| {
        let options = Options { engine, ..Options::default() };
        let report = check(&world, &asked, &options, &mut |_| {});
        report.unwrap_or_else(|why| panic!("{engine}: {line}: {why}"))
    };
    let [exact, breadth, depth] = [Engine::Exact, Engine::Bfs, Engine::Dfs].map(by);
    assert_eq!(exact.counts, breadth.counts, "{line}: breadth-first");
    let few = |report: &Report| (report.counts.distinct, report.counts.generated);
    assert_eq!(few(&exact), few(&depth), "{line}: depth-first");
    assert_eq!(verdicts(&exact), verdicts(&breadth), "{line}: breadth-first");
    assert_eq!(verdicts(&exact), verdicts(&depth), "{line}: depth-first");
    let lengths = |report: &Report| {
        let shown = report.decisions.iter().map(|decision| decision.counterexample.as_ref());
        shown.map(|found| found.map(|found| found.steps.len())).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&exact), lengths(&breadth), "{line}");
    exact
}

/// Worlds that turn every dial that there is without a clock.
const UNTIMED: [&str; 8] = [
    "--recoveries 1 --capacity 3",
    "--recoveries 1 --capacity 3 --network unordered",
    "--crashes 2 --recoveries 1 --capacity 3 --network set",
    "--losses 1 --suspicions 1 --capacity 3",
    "--duplicates 1 --capacity 2",
    "--crashes 0 --cuts 1 --heals must --capacity 3 --network set",
    "--crashes 0 --start cold --capacity 3",
    "--crashes 0 --timing asynchronous --capacity 1",
];

#[test]
fn stateright_finds_of_every_variant_what_the_state_graph_does() {
    let mut compared = 0;
    for variant in Bully::VARIANTS {
        for world in UNTIMED {
            let line = format!("bully --variant {} {world}", variant.name);
            // Without a guard, and with a leader that holds elections again, some are too large.
            let limits = Limits { states: Some(40_000), ..Limits::NONE };
            let (world, asked) = question(&line);
            let options = Options { limits, ..Options::default() };
            let small = check(&world, &asked, &options, &mut |_| {}).expect("something is asked");
            if small.cut_short.is_none() {
                engines_agree(&line);
                compared += 1;
            }
        }
    }
    assert!(compared >= 70, "only {compared} worlds were small enough to compare");
}

/// Worlds in which time is measured, and those of other protocols: what each begins with, and what
/// it may go on with.
const OTHERS: &[(&str, &str)] = &[
    (
        "bully --variant baseline --timing timed --delay 1 --processing 1 --t-elec 4 --t-coord 6 \
         --t-detect 1 -p stabilises",
        "--nodes 3; --network unordered; --network set; --start cold; --losses 1; --duplicates 1; \
         --crashes 0 --suspicions 1; --crashes 0 --cuts 1; --nodes 2 --recoveries 1; \
         -p agreed-within --within 9",
    ),
    (
        "bully --variant baseline --timing timed --t-coord 5 --t-detect 2 -p stabilises",
        "--delay 1 --t-elec 2; --delay unbounded --t-elec 2 --capacity 1; \
         --delay 1 --t-elec 3 --drift 1/4; --delay 1 --t-elec 3 --nodes 2 --pauses 1; \
         --delay 1 --t-elec 3 --nodes 2 --pauses 1 --network set; \
         --delay 1 --t-elec 3 --nodes 2 --pauses 2 --drift 1/4",
    ),
    (
        "lease --nodes 2 --crashes 0 --timing timed --delay 1 --t-holder 8 --t-renew 3 --t-retry 2 \
         -p settles",
        "--pauses 1 --t-grant 10; --cuts 1 --t-grant 14 --drift 1/4",
    ),
    (
        "lease --nodes 2 --recoveries 1 -p settles --variant",
        "recommended; kubernetes; etcd; consul; postgres-row; postgres-advisory; redis-setnx; \
         redlock; sqlite; curator-latch",
    ),
    ("ospf-dr --recoveries 1", "--nodes 2"),
    (
        "stoller --recoveries 1",
        "--symmetry reduced; --symmetry concrete; --variant stoller --symmetry reduced; \
         --variant stoller --symmetry concrete; --variant asynchronous --symmetry reduced; \
         --variant asynchronous --symmetry concrete",
    ),
    ("vrrp", "--recoveries 1; --timing timed --delay 1 --t-advertise 2 --t-skew 3 --t-down 4"),
];

#[test]
fn stateright_finds_of_other_worlds_what_the_state_graph_does() {
    for (first, worlds) in OTHERS {
        for world in worlds.split("; ") {
            let report = engines_agree(&format!("{first} {world}"));
            assert!(report.counts.distinct > 10, "{first} {world}: {:?}", report.counts);
        }
    }
}

/// So much is asked as there is room for, and most of it in a premise that many have.
#[test]
fn stateright_is_asked_as_much_as_the_exact_engine() {
    let asked: Vec<_> =
        (0..27).map(|least| property::never(&format!("crashes > {least}"))).collect();
    let asked: String = asked.iter().map(|one| format!(" -p '{one}'")).collect();
    let exact = engines_agree(&format!("bully{asked} -p agreement -p validity -p decided"));
    let verdicts = [0, 1].map(|at: usize| exact.decisions[at].verdict);
    assert_eq!(verdicts, [Verdict::Violated, Verdict::Holds]);
}

/// A capacity, and one more: what is decided within the smaller is decided alike within the larger,
/// and where no execution exceeds the smaller, it is counted alike.
fn more_room((case, capacity): &(Case, usize)) -> Result<bool, String> {
    let within = |capacity, most| {
        case.with(Scenario { capacity: Some(capacity), ..case.scenario }).check(&[], most)
    };
    let small = within(*capacity, 5_000);
    let both = small.and_then(|small| Some((small, within(capacity + 1, 20_000)?)));
    let Some((small, large)) = both else { return Ok(false) };
    let (few, many) = (small.counts, large.counts);
    if few.distinct > many.distinct || (small.bounds_met.is_empty() && few != many) {
        return Err(format!("{few:?} within a capacity of {capacity}, {many:?} with one more"));
    }
    for ((name, _, a), (_, _, b)) in verdicts(&small).into_iter().zip(verdicts(&large)) {
        let decided = [Verdict::Holds, Verdict::Violated].contains(&a);
        if decided && a != b {
            return Err(format!(
                "{name}: {a:?} with a capacity of {capacity}, {b:?} with one more"
            ));
        }
    }
    Ok(true)
}

#[test]
fn one_more_in_flight_changes_no_verdict_that_was_decided() {
    explore(70, (cases(&every_protocol()), 1..=2_usize), more_room);
}

/// Interrupted, saved and gone on with, a search finds the same: counts, verdicts, and executions.
#[test]
fn what_is_found_in_pieces_is_what_is_found_without_a_break() {
    // How often liveness holds and is violated, with a cycle and without.
    let met = [const { Cell::new(0_u32) }; 3];
    explore(80, (cases(&every_protocol()), 500..5_000_u64), |(case, piece): &(Case, u64)| {
        let Ok(world) = case.world() else { return Ok(false) };
        let asked = property::select(&world, &[]).expect("the usual ones");
        let limits = Limits { states: Some(5_000), ..Limits::NONE };
        let options = Options { limits, ..Options::default() };
        let usual = check(&world, &asked, &options, &mut |_| {}).expect("something is asked");
        if usual.cut_short.is_some() {
            return Ok(false);
        }
        for decision in &usual.decisions {
            let cycle = decision.counterexample.as_ref().and_then(|found| found.cycle.as_ref());
            let which = match (decision.verdict, cycle) {
                _ if decision.property.kind() != Kind::Liveness => None,
                (Verdict::Holds, _) => Some(0),
                (Verdict::Violated, cycle) => {
                    Some(1 + usize::from(cycle.is_some_and(|c| !c.is_empty())))
                }
                _ => None,
            };
            which.into_iter().for_each(|which: usize| met[which].set(met[which].get() + 1));
        }
        let (report, _) = in_pieces(&world, *piece);
        let (usual, ours) = (found(&usual), found(&report));
        match ["states", "properties", "bounds_met"].iter().find(|&&at| usual[at] != ours[at]) {
            None => Ok(true),
            Some(at) => Err(format!("without a break: {}\nin pieces: {}", usual[at], ours[at])),
        }
    });
    let met = met.map(Cell::into_inner);
    println!("liveness: {met:?}");
    assert!(met.iter().all(|&times| times > 0), "{met:?}");
}

/// The most states that the exact engine searches.
const WHOLE: u64 = 6_000;

/// The steps that the walks take.
const STEPS: u64 = 4_000;

fn walks_or_all(
    world: &World,
    properties: &[Property],
    engine: Engine,
    threads: usize,
    seed: u64,
) -> Report {
    let states = Some(if engine == Engine::Exact { WHOLE } else { STEPS });
    let limits = Limits { states, ..Limits::NONE };
    let options = Options { engine, threads, limits, seed, depth: 80, ..Options::default() };
    check(world, properties, &options, &mut |_| {}).expect("it ends")
}

/// What must be the same with any number of threads.
fn told(report: &Report) -> Value {
    let mut json = serde_json::to_value(report).expect("JSON");
    let object = json.as_object_mut().expect("an object");
    for key in ["threads", "seconds", "peak_rss_bytes"] {
        object.remove(key).expect("it is there");
    }
    json
}

/// The steps of each counterexample are possible, and end where its property is violated.
fn replay(world: &World, report: &Report) -> Result<(), String> {
    for decision in &report.decisions {
        let Some(found) = &decision.counterexample else { continue };
        let state = after(world, &found.steps);
        let Temporal::Always(condition) = &decision.property.temporal else { continue };
        if condition.holds(world, &state) {
            return Err(format!("{} is not violated in {state:?}", decision.property.name));
        }
    }
    Ok(())
}

/// What random walks find is there: each violation replays, and the exact engine finds one as well.
fn walks_find((case, seed): &(Case, u64)) -> Result<bool, String> {
    let Ok(world) = case.world() else { return Ok(false) };
    let world = &*world;
    let mut properties = property::select(world, &[]).expect("the usual ones");
    properties.retain(|property| property.kind() != Kind::Liveness);
    let walks = walks_or_all(world, &properties, Engine::Simulation, 1, *seed);
    let threads = walks_or_all(world, &properties, Engine::Simulation, 3, *seed);
    if told(&walks) != told(&threads) {
        return Err(format!("one thread finds\n{}\nthree\n{}", told(&walks), told(&threads)));
    }
    replay(world, &walks)?;
    let exact = walks_or_all(world, &properties, Engine::Exact, 1, 1);
    for (ours, theirs) in walks.decisions.iter().zip(&exact.decisions) {
        let name = ours.property.name;
        let is_shorter = || {
            let steps = |d: &Decision| d.counterexample.as_ref().map(|found| found.steps.len());
            theirs.verdict == Verdict::Violated && steps(ours) < steps(theirs)
        };
        let fits = match ours.verdict {
            Verdict::Unknown => true,
            Verdict::HoldsWithin => false,
            Verdict::Holds => ours.property.kind() == Kind::Reachability,
            Verdict::Violated => !is_shorter(),
        };
        let agrees = ours.verdict == theirs.verdict
            || ours.verdict == Verdict::Unknown
            || exact.cut_short.is_some();
        if !fits || !agrees {
            return Err(format!("{name}: {:?}, but exact {:?}", ours.verdict, theirs.verdict));
        }
    }
    let (met, all) = (walks.counts.distinct, exact.counts.distinct);
    if exact.cut_short.is_none() && met * 10 > all * 11 + 50 {
        return Err(format!("walks met about {met} states of {all}"));
    }
    Ok(exact.cut_short.is_none())
}

#[test]
fn what_walks_find_is_there() {
    explore(60, (cases(&every_protocol()), any::<u64>()), walks_find);
}

#[test]
fn what_walks_find_is_there_in_timed_worlds() {
    let timed = (cases(&every_protocol()), 1..=2u8, any::<u64>());
    explore(20, timed, |(case, delay, seed)| {
        let Some(case) = case.timed(delays(*delay, 1), |_| 4) else { return Ok(false) };
        walks_find(&(case, *seed))
    });
}
