//! What a search finds, the definitions alone say too: every counterexample is accepted when it is
//! read again, and none that was cut off, or whose cycle begins elsewhere.

use super::explore;
use super::scenario::{Case, cases, every_protocol};
use bellwether_model::check::{Counterexample, Report, certify};
use bellwether_model::property::Property;
use bellwether_model::trace::Trace;
use bellwether_model::world::{Scenario, State, Symmetry};
use proptest::prelude::*;
use proptest::sample::Index;

/// The most states that are searched.
const MOST: u64 = 4_000;

/// The states on the way, those that differ only in names being one.
fn states(case: &Case, report: &Report, found: &Counterexample) -> Vec<State> {
    let canonical = case.with(Scenario { symmetry: Symmetry::Reduced, ..case.scenario });
    let world = canonical.world().expect("the same is possible");
    let mut states = vec![world.initial()];
    for position in report.world.positions(&found.actions()) {
        let last = &states[states.len() - 1];
        let next = world.apply(last, &world.actions(last)[position]).state;
        states.push(next);
    }
    states
}

/// Whether a trace is accepted when it is read again.
fn accepted(case: &Case, trace: &Trace) -> Result<(), String> {
    let mut text = Vec::new();
    trace.write(&mut text).expect("memory takes it");
    let read = Trace::read(&text[..]).map_err(|error| error.to_string())?;
    let world = read.world_of(case.protocol()).map_err(|error| error.to_string())?;
    certify(&read, &world).map(drop).map_err(|error| error.to_string())
}

/// Reads a counterexample again, as it is and changed.
fn try_one(
    case: &Case,
    report: &Report,
    property: &Property,
    found: &Counterexample,
    index: &Index,
) -> Result<(), String> {
    let name = property.name;
    let trace = found.trace(&report.world, property);
    accepted(case, &trace).map_err(|why| format!("{name} is refused: {why}"))?;
    let states = states(case, report, found);
    let last = states.len() - 1;
    // An initial state may violate it, and nothing can be left out.
    if last > 0 {
        let mut shorter = trace.clone();
        shorter.steps.truncate(index.index(last));
        // Where a stem is a shortest one, nothing violates ◇P or □P sooner; what lies on a cycle
        // may, if it repeats in itself.
        let steps = shorter.steps.len();
        let closes = found.cycle.is_some() && states[found.steps.len()] == states[steps];
        if !closes && accepted(case, &shorter).is_ok() {
            return Err(format!("{name} is accepted with {steps} of {last} steps"));
        }
    }
    let Some(after) = trace.header.shows.as_ref().and_then(|shows| shows.cycle_after) else {
        return Ok(());
    };
    let other = index.index(last + 1);
    let mut moved = trace;
    if let Some(shows) = &mut moved.header.shows {
        shows.cycle_after = Some(other);
    }
    // Where it is in the same state, going round from there may be as fair.
    let elsewhere = other != after && (other == last || states[other] != states[last]);
    if elsewhere && accepted(case, &moved).is_ok() {
        return Err(format!("{name} is accepted with a cycle after {other}, not {after}"));
    }
    Ok(())
}

/// Whether something was compared.
fn differ((case, symmetry, index): &(Case, bool, Index)) -> Result<bool, String> {
    let symmetry = if *symmetry { Symmetry::Reduced } else { Symmetry::Concrete };
    let case = case.with(Scenario { symmetry, ..case.scenario });
    let Some(report) = case.check(&[], MOST) else { return Ok(false) };
    let mut compared = false;
    for decision in &report.decisions {
        let Some(found) = &decision.counterexample else { continue };
        try_one(&case, &report, &decision.property, found, index)?;
        compared = true;
    }
    Ok(compared)
}

#[test]
fn what_was_found_is_accepted_and_what_was_changed_is_not() {
    explore(100, (cases(&every_protocol()), any::<bool>(), any::<Index>()), differ);
}
