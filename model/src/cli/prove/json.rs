//! What is proved, as JSON.

use super::{Done, Obligation, Outcome};
use crate::machine::Machine;
use crate::prove::relation::Relation;
use crate::prove::{Goal, Shown, Solver, Tie, Untied, Why, pair, step_words};
use serde_json::{Value, json};

pub(super) fn of(rules: &dyn Machine, solver: &Solver, all: &[Done]) -> Value {
    json!({
        "protocol": rules.protocol().name(),
        "variant": rules.variant_name(),
        "rules": rules.json(),
        "solver": solver.name(),
        "parts": all.iter().map(part).collect::<Vec<_>>(),
    })
}

fn part(done: &Done) -> Value {
    let relation = &done.part.relation;
    let invariant = relation
        .invariant
        .iter()
        .zip(&done.proof.kept)
        .map(|(part, kept)| json!({ "name": part.name, "meaning": part.words, "kept": kept }));
    let properties = done.proof.properties.iter().zip(&relation.properties).map(|(one, of)| {
        json!({ "name": of.name, "meaning": of.words, "verdict": verdict(&one.outcome) })
    });
    let asked = done.proof.obligations.iter().chain(&done.proof.properties);
    json!({
        "name": done.part.name,
        "about": done.part.about,
        "assumes": done.part.assumes,
        "model": match &done.tie {
            Ok(tie) => tied(relation, tie),
            Err(untied) => no_step(relation, untied),
        },
        "invariant": invariant.collect::<Vec<_>>(),
        "properties": properties.collect::<Vec<_>>(),
        "obligations": asked.map(|one| obligation(relation, one)).collect::<Vec<_>>(),
    })
}

fn tied(relation: &Relation, tie: &Tie) -> Value {
    let worlds = tie.worlds.iter().map(|world| {
        json!({
            "scenario": world.scenario,
            "states": world.states,
            "transitions": world.transitions,
            "whole": world.whole,
        })
    });
    let by_action = relation.actions.iter().zip(&tie.by_action);
    let by_action = by_action.map(|(action, &count)| (action.name.clone(), json!(count)));
    json!({
        "transitions": tie.transitions(),
        "worlds": worlds.collect::<Vec<_>>(),
        "actions": Value::Object(by_action.collect()),
    })
}

fn no_step(relation: &Relation, untied: &Untied) -> Value {
    json!({
        "scenario": untied.scenario,
        "happens": untied.happens,
        "no-step": states(pair(relation, &untied.before, untied.after.as_ref())),
    })
}

fn obligation(relation: &Relation, one: &Obligation) -> Value {
    let (action, part, kind) = match one.goal {
        Goal::Begins(part) => (None, Some(part), "begins"),
        Goal::Keeps { action, part } => (Some(action), Some(part), "keeps"),
        Goal::Follows(_) => (None, None, "follows"),
        Goal::Happens(action) => (Some(action), None, "happens"),
    };
    let property = match one.goal {
        Goal::Follows(at) => Some(&relation.properties[at].name),
        _ => None,
    };
    let shown = match &one.outcome {
        Outcome::Fails(Some(shown)) => Some(shown_as(relation, shown)),
        _ => None,
    };
    json!({
        "goal": kind,
        "action": action.map(|at| &relation.actions[at].name),
        "invariant": part.map(|at| &relation.invariant[at].name),
        "property": property,
        "verdict": verdict(&one.outcome),
        "seconds": one.took.as_secs_f64(),
        "shown": shown,
    })
}

fn shown_as(relation: &Relation, shown: &Shown) -> Value {
    let after = shown.step.as_ref().map(|(_, _, after)| after);
    json!({
        "step": step_words(relation, shown),
        "states": states(pair(relation, &shown.before, after)),
    })
}

fn states(rows: Vec<(String, String, Option<String>)>) -> Value {
    let row = |row: (String, String, Option<String>)| {
        let (symbol, before, after) = row;
        json!({ "symbol": symbol, "before": before, "after": after })
    };
    Value::Array(rows.into_iter().map(row).collect())
}

fn verdict(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Proved => "proved",
        Outcome::Fails(_) => "fails",
        Outcome::Unknown(Why::GaveUp) => "unknown: the solver gave up",
        Outcome::Unknown(Why::Time) => "unknown: out of time",
        Outcome::Unknown(Why::Stopped) => "unknown: interrupted",
    }
}
