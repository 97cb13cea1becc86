//! The JSON of `claims`.

use super::command;
use crate::claims::{Assumption, Judged, LeftOut, Outcome, Ruling, Standing};
use serde_json::{Value, json};

/// The object that `--json` prints.
pub(super) fn of(judged: &[Judged<'_>]) -> Value {
    let count = |ruling: Ruling| judged.iter().filter(|j| j.ruling() == Some(ruling)).count();
    let counts: serde_json::Map<String, Value> = Ruling::ALL
        .iter()
        .map(|&ruling| (ruling.name().to_owned(), json!(count(ruling))))
        .collect();
    let dangerous = judged.iter().filter(|judged| judged.is_dangerous()).count();
    let claims: Vec<Value> = judged.iter().map(claim).collect();
    json!({ "counts": counts, "dangerous": dangerous, "claims": claims })
}

fn claim(judged: &Judged<'_>) -> Value {
    let claim = judged.claim;
    let all = |outcomes: &[Outcome<'_>]| {
        outcomes.iter().map(|o| outcome(claim.number, o)).collect::<Vec<_>>()
    };
    json!({
        "number": claim.number, "source": judged.source.name, "section": claim.section,
        "says": claim.says, "quantifier": claim.quantifier, "ruling": judged.ruling(),
        "cause": claim.cause, "steps": judged.steps(), "dangerous": claim.dangerous,
        "agrees": judged.agrees(), "flaws": judged.flaws(), "why": claim.why,
        "only_if": judged.ruled().map(|(_, left)| words(&left)).filter(|left| !left.is_empty()),
        "waits_for": claim.waits_for, "no_cure": claim.no_cure,
        "leaves_open": claim.leaves_open, "left_out": left_out(judged),
        "checks": all(&judged.checks), "besides": all(&judged.besides),
        "cures": all(&judged.cures),
    })
}

/// What no run has that decides the claim, and why.
fn left_out(judged: &Judged<'_>) -> Vec<Value> {
    let one = |left: &LeftOut| {
        let of: Vec<&str> = left.of.iter().map(|departure| departure.words().0).collect();
        json!({ "of": of, "why": left.why })
    };
    judged.claim.left_out.iter().map(one).collect()
}

fn words(assumptions: &[Assumption]) -> Vec<String> {
    assumptions.iter().map(ToString::to_string).collect()
}

/// Where a run stands, and without which assumptions.
fn standing(standing: &Standing) -> Value {
    match standing {
        Standing::Inside => json!({ "where": "inside" }),
        Standing::Silent(left) => json!({ "where": "silent", "without": words(left) }),
        Standing::Outside(left) => json!({ "where": "outside", "without": words(left) }),
    }
}

fn outcome(number: u16, outcome: &Outcome<'_>) -> Value {
    let ran: Vec<Value> = outcome
        .ran
        .iter()
        .map(|ran| {
            let point: serde_json::Map<String, Value> =
                ran.point.0.iter().map(|&(name, value)| (name.to_owned(), json!(value))).collect();
            let steps = ran.trace.as_ref().map(|trace| &trace.steps);
            let without = ran.scenario.map(|scenario| scenario.missing.words());
            json!({ "at": point, "without": without, "found": ran.finding, "steps": steps })
        })
        .collect();
    json!({
        "shows": outcome.check.shows, "demands": outcome.check.demands.to_string(),
        "standing": standing(&outcome.standing),
        "this_link": outcome.check.this_link, "this_size": outcome.check.this_size,
        "met": outcome.met, "as_expected": outcome.expected, "runs": ran,
        "commands": command::of(number, outcome),
    })
}
