//! The engine dataflow finds what the engine exact finds, with any number of workers.

use super::explore;
use super::scenario::{Case, cases, delays, every_protocol};
use bellwether_model::check::{Engine, Limits, Options, decide};
use bellwether_model::property::Kind;
use proptest::prelude::*;
use serde_json::Value;

/// The most states that are searched.
const MOST: u64 = 4_000;

/// What must be the same with every engine; `None` if there are too many states.
fn found(case: &Case, engine: Engine, threads: usize, first: bool) -> Option<Value> {
    let world = case.world().ok()?;
    let mut properties = world.select(&[]).expect("the usual ones");
    properties.retain(|property| property.kind() != Kind::Liveness);
    let limits = Limits { states: Some(MOST), ..Limits::NONE };
    let limits = if engine == Engine::Exact { limits } else { Limits::NONE };
    let options = Options { engine, threads, first, limits, ..Options::default() };
    let report = decide(&*world, &properties, &options, &mut |_| {}).expect("it ends");
    let reason = bellwether_model::check::Reason::States;
    let mut json = serde_json::to_value(&report).expect("JSON");
    let object = json.as_object_mut().expect("an object");
    for key in ["engine", "threads", "processes", "seconds", "peak_rss_bytes"] {
        object.remove(key);
    }
    (report.cut_short != Some(reason)).then_some(json)
}

fn differ((case, first): &(Case, bool)) -> Result<bool, String> {
    let Some(exact) = found(case, Engine::Exact, 1, *first) else { return Ok(false) };
    for workers in 1..=3 {
        let dataflow = found(case, Engine::Dataflow, workers, *first);
        if dataflow.as_ref() != Some(&exact) {
            return Err(format!("{workers} workers find\n{dataflow:?}\nnot\n{exact}"));
        }
    }
    Ok(true)
}

#[test]
fn workers_find_what_threads_find() {
    explore(60, (cases(&every_protocol()), any::<bool>()), differ);
}

/// There, parts of states are learned all the time, and states outgrow their words.
#[test]
fn workers_find_what_threads_find_in_timed_worlds() {
    let timed = (cases(&every_protocol()), 1..=2u8, any::<bool>());
    explore(40, timed, |(case, delay, first)| {
        let Some(case) = case.timed(delays(*delay, 1), |_| 4) else { return Ok(false) };
        differ(&(case, *first))
    });
}
