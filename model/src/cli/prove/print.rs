//! What is proved, for people.

use super::super::table::{Cell, Table};
use super::{Done, Obligation, Outcome, text};
use crate::prove::relation::Relation;
use crate::prove::{Goal, Shown, Solver, Untied, Why, pair, step_words};
use anstyle::AnsiColor;
use std::io::Write;

pub(super) fn all(
    out: &mut impl Write,
    (head, solver): (&str, &Solver),
    all: &[Done],
    ascii: bool,
) -> anyhow::Result<()> {
    writeln!(out, "{head}\nsolver: {}", solver.name())?;
    for done in all {
        part(out, done, ascii)?;
    }
    Ok(())
}

fn part(out: &mut impl Write, done: &Done, ascii: bool) -> anyhow::Result<()> {
    let relation = &done.part.relation;
    writeln!(out, "\n{}: {}", done.part.name, done.part.about)?;
    match &done.tie {
        Ok(tie) => {
            let (transitions, worlds) = (text::count(tie.transitions()), tie.worlds.len());
            let cut = if tie.stopped { " (interrupted)" } else { "" };
            writeln!(
                out,
                "model: each of {transitions} transitions in {worlds} worlds is a step of the \
                 relation{cut}"
            )?;
        }
        Err(untied) => no_step(out, relation, untied, ascii)?,
    }
    writeln!(out, "\n{}", obligations(done).print(ascii))?;
    let mut lines = vec!["The invariant:".to_owned()];
    for (at, part) in relation.invariant.iter().enumerate() {
        lines.push(format!("{:2}. {}: {}", at + 1, part.name, part.words));
    }
    lines.push("Assumed:".to_owned());
    lines.extend(done.part.assumes.iter().map(|assumed| format!("  - {assumed}")));
    lines.extend(relation.axioms.iter().map(|axiom| format!("  - {}", axiom.words)));
    writeln!(out, "{}\n", text::wrap(&lines.join("\n"), text::width()))?;
    writeln!(out, "{}", properties(done).print(ascii))?;
    for one in first_failures(done) {
        if let Outcome::Fails(Some(shown)) = &one.outcome {
            failure(out, relation, (one, shown), ascii)?;
        }
    }
    Ok(())
}

/// A row for the beginning and for each action, a column for each part of the invariant.
fn obligations(done: &Done) -> Table {
    let relation = &done.part.relation;
    let parts = (1..=relation.invariant.len()).map(|at| at.to_string());
    let mut table =
        Table::new(["milliseconds".to_owned(), "can happen".to_owned()].into_iter().chain(parts));
    let find = |goal: Goal| done.proof.obligations.iter().find(|one| one.goal == goal);
    let cells = |goals: Vec<Goal>| {
        goals
            .into_iter()
            .map(|goal| find(goal).map_or_else(Cell::default, cell))
            .collect::<Vec<_>>()
    };
    let begins = (0..relation.invariant.len()).map(Goal::Begins).collect();
    let head = [Cell::new("at the beginning"), Cell::default()];
    table.row(head.into_iter().chain(cells(begins)));
    for (action, row) in relation.actions.iter().enumerate() {
        let keeps = (0..relation.invariant.len()).map(|part| Goal::Keeps { action, part });
        let goals = std::iter::once(Goal::Happens(action)).chain(keeps).collect();
        table.row(std::iter::once(Cell::new(&row.name)).chain(cells(goals)));
    }
    table
}

fn cell(one: &Obligation) -> Cell {
    match (&one.outcome, one.goal) {
        (Outcome::Proved, _) => Cell::new(one.took.as_millis()).in_colour(AnsiColor::Green),
        (Outcome::Fails(_), Goal::Happens(_)) => Cell::new("never").in_colour(AnsiColor::Red),
        (Outcome::Fails(_), _) => Cell::new("fails").in_colour(AnsiColor::Red),
        (Outcome::Unknown(why), _) => Cell::new(unknown(*why)).in_colour(AnsiColor::Yellow),
    }
}

fn unknown(why: Why) -> &'static str {
    match why {
        Why::GaveUp => "unknown",
        Why::Time => "out of time",
        Why::Stopped => "interrupted",
    }
}

fn properties(done: &Done) -> Table {
    let mut table = Table::new(["property", "for every number of processes", "in words"]);
    for (one, property) in done.proof.properties.iter().zip(&done.part.relation.properties) {
        let verdict = match &one.outcome {
            Outcome::Proved => Cell::new("proved").in_colour(AnsiColor::Green),
            Outcome::Fails(_) => Cell::new("not proved").in_colour(AnsiColor::Red),
            Outcome::Unknown(why) => {
                Cell::new(format!("unknown ({})", unknown(*why))).in_colour(AnsiColor::Yellow)
            }
        };
        table.row([Cell::new(&property.name), verdict, Cell::new(&property.words)]);
    }
    table
}

/// Of each part of the invariant the first question that fails.
fn first_failures(done: &Done) -> Vec<&Obligation> {
    let part = |goal| match goal {
        Goal::Begins(part) | Goal::Keeps { part, .. } => Some(part),
        Goal::Follows(_) | Goal::Happens(_) => None,
    };
    let mut seen = Vec::new();
    let mut first = Vec::new();
    for one in &done.proof.obligations {
        if let (Some(part), Outcome::Fails(_)) = (part(one.goal), &one.outcome)
            && !seen.contains(&part)
        {
            seen.push(part);
            first.push(one);
        }
    }
    first
}

fn failure(
    out: &mut impl Write,
    relation: &Relation,
    (one, shown): (&Obligation, &Shown),
    ascii: bool,
) -> anyhow::Result<()> {
    let (part, breaks) = match one.goal {
        Goal::Begins(part) => (part, "does not hold at the beginning".to_owned()),
        Goal::Keeps { action, part } => {
            (part, format!("is broken when {}", relation.actions[action].words))
        }
        Goal::Follows(_) | Goal::Happens(_) => return Ok(()),
    };
    let words = format!("{}. {} {breaks}:", part + 1, relation.invariant[part].name);
    writeln!(out, "\n{}", text::wrap(&words, text::width()))?;
    let after = shown.step.as_ref().map(|(_, _, after)| after);
    let head = step_words(relation, shown).map_or_else(String::new, |step| format!("after {step}"));
    let rows = pair(relation, &shown.before, after);
    writeln!(out, "{}", states(&head, rows).print(ascii))?;
    Ok(())
}

fn states(head: &str, rows: Vec<(String, String, Option<String>)>) -> Table {
    let mut table = Table::new(["", "before", head]);
    for (name, before, after) in rows {
        let changed = after.as_ref().is_some_and(|after| *after != before);
        let after = Cell::new(after.unwrap_or_default());
        let after = if changed { after.in_colour(AnsiColor::Red) } else { after };
        table.row([Cell::new(name), Cell::new(before), after]);
    }
    table
}

fn no_step(
    out: &mut impl Write,
    relation: &Relation,
    untied: &Untied,
    ascii: bool,
) -> anyhow::Result<()> {
    let Untied { scenario, happens, before, after } = untied;
    let (what, head) = match after {
        Some(_) => {
            ("this step of the model is no step of the relation", format!("after: {happens}"))
        }
        None => (happens.as_str(), String::new()),
    };
    writeln!(out, "model: {what}\n{scenario}")?;
    writeln!(out, "{}", states(&head, pair(relation, before, after.as_ref())).print(ascii))?;
    Ok(())
}
