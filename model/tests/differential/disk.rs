//! In files, interrupted and gone on with, the same is found: counts, verdicts, and executions.
//! Liveness is decided there on transitions that are computed anew, and in memory on those that the
//! search has kept.

use super::explore;
use super::scenario::{Case, cases, every_protocol};
use crate::disk::{found, in_pieces};
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property::{self, Kind};
use std::cell::Cell;

/// The most states that are searched.
const MOST: u64 = 5_000;

#[test]
fn what_is_found_in_files_is_what_is_found_in_memory() {
    // How often liveness holds and is violated, with a cycle and without.
    let met = [const { Cell::new(0_u32) }; 3];
    let pieces = (0..8_u32, 500..MOST);
    explore(60, (cases(&every_protocol()), pieces), |(case, (groups, piece)): &(Case, _)| {
        let Ok(world) = case.world() else { return Ok(false) };
        let asked = property::select(&world, &[]).expect("the usual ones");
        let limits = Limits { states: Some(MOST), ..Limits::NONE };
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
        let (report, _) = in_pieces(&world, 1 << groups, *piece);
        let (usual, ours) = (found(&usual), found(&report));
        match ["states", "properties", "bounds_met"].iter().find(|&&at| usual[at] != ours[at]) {
            None => Ok(true),
            Some(at) => Err(format!("in memory: {}\nin files: {}", usual[at], ours[at])),
        }
    });
    let met = met.map(Cell::into_inner);
    println!("liveness: {met:?}");
    assert!(met.iter().all(|&times| times > 0), "{met:?}");
}
