//! The dataflow finds what the engine exact finds, with any number of workers: over random
//! protocols, rules and scenarios.

use crate::resume::saves;
use crate::scenario::{Case, cases, delays, draw, every_protocol};
use bellwether_dataflow::decide;
use bellwether_engine::check::{self, Disk, Engine, Limits, Options, Reason};
use bellwether_engine::property::{self, Kind};
use proptest::prelude::*;
use serde_json::Value;
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The most states that are searched.
const MOST: u64 = 4_000;

/// What must be the same with every engine; `None` if there are too many states.
fn found(case: &Case, engine: Engine, threads: usize, first: bool) -> Option<Value> {
    let limits = Limits { states: Some(MOST), ..Limits::NONE };
    let limits = if engine == Engine::Exact { limits } else { Limits::NONE };
    let options = Options { engine, threads, first, limits, ..Options::default() };
    let (json, cut_short) = run(case, &options)?;
    (cut_short != Some(Reason::States)).then_some(json)
}

/// What a search finds, and what ended it early.
fn run(case: &Case, options: &Options) -> Option<(Value, Option<Reason>)> {
    let world = case.world().ok()?;
    let mut properties = property::select(&world, &[]).expect("the usual ones");
    properties.retain(|property| property.kind() != Kind::Liveness);
    let report = match options.engine {
        Engine::Dataflow => decide(&world, &properties, options, None, &mut |_| {}),
        _ => check::check(&world, &properties, options, &mut |_| {}),
    };
    let report = report.expect("it ends");
    assert_eq!(report.trouble, None);
    let mut json = serde_json::to_value(&report).expect("JSON");
    let object = json.as_object_mut().expect("an object");
    for key in ["engine", "threads", "processes", "seconds", "peak_rss_bytes", "resumed_after"] {
        object.remove(key);
    }
    Some((json, report.cut_short))
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
    draw(60, (cases(&every_protocol()), any::<bool>()), differ);
}

/// There, parts of states are learned all the time, and states outgrow their words.
#[test]
fn workers_find_what_threads_find_in_timed_worlds() {
    let timed = (cases(&every_protocol()), 1..=2u8, any::<bool>());
    draw(40, timed, |(case, delay, first)| {
        let Some(case) = case.timed(delays(*delay, 1), |_| 4) else { return Ok(false) };
        differ(&(case, *first))
    });
}

/// Removes the newest save if there are two, as if it had not been written to its end.
fn lose_the_last(folder: &Path) {
    if let [_, newest] = &saves(folder, 0)[..] {
        fs::remove_file(newest).expect("it is there");
    }
}

/// Interrupted at so many states, at twice as many, and so on; how often.
fn in_pieces(
    case: &Case,
    workers: usize,
    first: bool,
    piece: u64,
    loses: bool,
) -> Option<(Value, usize)> {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut states, mut pieces) = (piece, 0);
    loop {
        let mut disk = Disk { resume: pieces > 0, ..Disk::begin(folder.path()) };
        if loses {
            disk.every = Duration::ZERO;
        }
        let options = Options {
            engine: Engine::Dataflow,
            threads: workers,
            first,
            limits: Limits { states: Some(states), ..Limits::NONE },
            disk: Some(disk),
            ..Options::default()
        };
        let (json, cut_short) = run(case, &options)?;
        if cut_short != Some(Reason::States) {
            let left = fs::read_dir(folder.path()).expect("the folder").count();
            assert_eq!(left, 0, "what is over leaves no files");
            return Some((json, pieces));
        }
        if loses && pieces == 0 {
            lose_the_last(folder.path());
        }
        pieces += 1;
        states *= 2;
    }
}

/// Saved again and again, and interrupted; even if the last save is lost.
#[test]
fn interruptions_change_nothing() {
    let interruptions = Cell::new(0);
    let pieces = (10..200u64, 1..=3usize, any::<(bool, bool, bool)>());
    let timed = (cases(&every_protocol()), 1..=2u8, pieces);
    draw(30, timed, |(case, delay, (piece, workers, (first, loses, timed)))| {
        let timed = timed.then(|| case.timed(delays(*delay, 1), |_| 4));
        let Some(case) = timed.unwrap_or_else(|| Some(case.clone())) else { return Ok(false) };
        let Some(exact) = found(&case, Engine::Exact, 1, *first) else { return Ok(false) };
        let pieces = in_pieces(&case, *workers, *first, *piece, *loses);
        match pieces {
            Some((pieces, often)) if pieces == exact => {
                interruptions.set(interruptions.get() + often);
                Ok(true)
            }
            pieces => Err(format!("{workers} workers find\n{pieces:?}\nnot\n{exact}")),
        }
    });
    assert!(interruptions.get() >= 10, "only {} interruptions", interruptions.get());
}
