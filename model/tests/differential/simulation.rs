//! What random walks find is there: each violation replays, and the exact engine finds one as well.

use super::explore;
use super::scenario::{Case, cases, delays, every_protocol};
use bellwether_model::check::{Engine, Limits, Options, Report, Verdict, check};
use bellwether_model::property::{self, Property};
use bellwether_model::property::{Kind, Temporal};
use bellwether_model::world::World;
use proptest::prelude::*;
use serde_json::Value;

/// The most states that the exact engine searches.
const MOST: u64 = 6_000;

/// The steps that the walks take.
const STEPS: u64 = 4_000;

fn report(
    world: &World,
    properties: &[Property],
    engine: Engine,
    (threads, seed): (usize, u64),
) -> Report {
    let states = Some(if engine == Engine::Exact { MOST } else { STEPS });
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

/// Takes the steps of each counterexample, which must end where its property is violated.
fn replay(world: &World, report: &Report) -> Result<(), String> {
    for decision in &report.decisions {
        let name = decision.property.name;
        let Some(found) = &decision.counterexample else { continue };
        let mut state = world.initial();
        for action in &found.steps {
            if !world.actions(&state).contains(action) {
                return Err(format!("{name}: {action} cannot happen in {state:?}"));
            }
            state = world.apply(&state, action).state;
        }
        let Temporal::Always(condition) = &decision.property.temporal else { continue };
        if condition.holds(world, &state) {
            return Err(format!("{name} is not violated in {state:?}"));
        }
    }
    Ok(())
}

fn differ((case, seed): &(Case, u64)) -> Result<bool, String> {
    let Ok(world) = case.world() else { return Ok(false) };
    let world = &*world;
    let mut properties = property::select(world, &[]).expect("the usual ones");
    properties.retain(|property| property.kind() != Kind::Liveness);
    let walks = report(world, &properties, Engine::Simulation, (1, *seed));
    let threads = report(world, &properties, Engine::Simulation, (3, *seed));
    if told(&walks) != told(&threads) {
        return Err(format!("one thread finds\n{}\nthree\n{}", told(&walks), told(&threads)));
    }
    replay(world, &walks)?;
    let exact = report(world, &properties, Engine::Exact, (1, 1));
    for (ours, theirs) in walks.decisions.iter().zip(&exact.decisions) {
        let name = ours.property.name;
        let is_shorter = || {
            let steps = |d: &bellwether_model::check::Decision| {
                d.counterexample.as_ref().map(|found| found.steps.len())
            };
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
    explore(60, (cases(&every_protocol()), any::<u64>()), differ);
}

#[test]
fn what_walks_find_is_there_in_timed_worlds() {
    let timed = (cases(&every_protocol()), 1..=2u8, any::<u64>());
    explore(20, timed, |(case, delay, seed)| {
        let Some(case) = case.timed(delays(*delay, 1), |_| 4) else { return Ok(false) };
        differ(&(case, *seed))
    });
}
