//! The command line.

use crate::relation::Relation;
use crate::{
    Goal, Obligation, Outcome, PROTOCOLS, Part, Proof, Shown, Solver, Tie, Untied, Why, pair,
    parts, prove, questions, step_words,
};
use anstyle::AnsiColor;
use anyhow::anyhow;
use bellwether_model::cli::table::{Cell, Table};
use bellwether_model::cli::{
    self, About, Exit, HOLDS, ProgressArgs, ProtocolArgs, Tool, UNKNOWN, VIOLATED, seconds, states,
    stopped, text, tool,
};
use bellwether_model::machine::DynProtocol;
use clap::{Args, Command, FromArgMatches};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The flags of the program.
#[derive(Debug, Args)]
struct ProveArgs {
    #[command(flatten)]
    protocol: ProtocolArgs,

    /// The SMT solver: z3 or cvc5 [default: the first of them that is installed]
    #[arg(long, value_name = "PATH", help_heading = "Proof")]
    solver: Option<PathBuf>,

    /// Give up on a question to the solver after this many seconds [default: 60]
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    max_seconds: Option<Duration>,

    /// Compare the transitions of at most this many states of each world with the relation
    /// [default: 5000]
    #[arg(long, value_name = "COUNT", help_heading = "Limits", value_parser = states,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    max_states: Option<u64>,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

const END: &str = "\
A proof is for every number of processes, of faults, of messages, and for any delay, under the
assumptions that are printed. Exit status: 0 everything is proved; 1 a step breaks the invariant, or
the model has a step that the relation has not; 2 wrong usage, or there is no solver; 3 something is
not decided.";

/// Runs the command line; what it returns is the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let tool = Tool { name: "bellwether-prove", cargo: "-p bellwether-prove", ..tool() };
    let called = tool.called();
    let command = ProveArgs::augment_args(Command::new(tool.name));
    let command = command
        .about("Prove the safety core of a protocol for every number of processes")
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(100)
        .after_help(format!(
            "There are proofs of {}.\n\nExamples:\n  {called} raft-election\n  \
             {called} raft-election --rule storage=forgets-vote\n  \
             {called} raft-election --solver /usr/bin/cvc5 --json\n\n{END}",
            PROTOCOLS.join(", ")
        ));
    let matches = match cli::parse(&command, &|_, _| Ok(About::default())) {
        Ok(matches) => matches,
        Err(status) => return status,
    };
    cli::tell_when_stopped();
    let args = ProveArgs::from_arg_matches(&matches).map_err(anyhow::Error::from);
    cli::ends(args.and_then(|args| run(tool, &args)))
}

/// How many states of a world are searched by default.
const STATES: usize = 5_000;
/// How long a question may take by default.
const SECONDS: Duration = Duration::from_secs(60);

/// What came of one part of a protocol.
struct Done {
    part: Part,
    tie: Result<Tie, Box<Untied>>,
    proof: Proof,
}

fn run(tool: Tool, args: &ProveArgs) -> anyhow::Result<Exit> {
    let rules = args.protocol.rules(tool.registry)?;
    let parts = parts(&*rules).map_err(|wrong| anyhow!(wrong))?;
    let mut solver = Solver::find(args.solver.as_deref())?;
    solver.limit = args.max_seconds.unwrap_or(SECONDS);
    solver.cancel = Some(stopped());
    let asked: usize = parts.iter().map(|part| questions(&part.relation)).sum();
    let bar = args.progress.steps(asked + parts.len(), args.json);
    let most = args.max_states.map_or(STATES, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let mut all = Vec::new();
    for part in parts {
        let tie = part.tie(most, Some(stopped()))?;
        bar.step("transitions");
        let proof = prove(&part.relation, &solver, &mut |one| {
            bar.step(&words(&part.relation, one.goal));
        });
        match proof {
            Ok(proof) => all.push(Done { part, tie, proof }),
            Err(error) => {
                bar.finish();
                return Err(error.into());
            }
        }
    }
    bar.finish();
    Ok(Exit::with(status(&all)).note_printed(report(args, &*rules, &solver, &all)))
}

fn report(
    args: &ProveArgs,
    rules: &dyn DynProtocol,
    solver: &Solver,
    all: &[Done],
) -> anyhow::Result<()> {
    if args.json {
        return text::print_json(&object(rules, solver, all));
    }
    let head = format!("{}, {}", rules.protocol().name(), rules.variant_name());
    print(&mut anstream::stdout(), &head, solver, all)
}

fn words(relation: &Relation, goal: Goal) -> String {
    match goal {
        Goal::Begins(part) => format!("init, {}", relation.invariant[part].name),
        Goal::Keeps { action, part } => {
            format!("{}, {}", relation.actions[action].name, relation.invariant[part].name)
        }
        Goal::Follows(at) => relation.properties[at].name.clone(),
        Goal::Happens(action) => format!("{} can happen", relation.actions[action].name),
    }
}

/// Whether something is broken, and otherwise whether something is not known.
fn status(all: &[Done]) -> u8 {
    let outcomes = || {
        let of = |done: &'_ Done| {
            let all = done.proof.obligations.iter().chain(&done.proof.properties);
            all.map(|one| one.outcome.clone()).collect::<Vec<_>>()
        };
        all.iter().flat_map(of)
    };
    if all.iter().any(|done| done.tie.is_err())
        || outcomes().any(|outcome| matches!(outcome, Outcome::Fails(_)))
    {
        VIOLATED
    } else if outcomes().any(|outcome| matches!(outcome, Outcome::Unknown(_)))
        || all.iter().any(|done| done.tie.as_ref().is_ok_and(|tie| tie.stopped))
    {
        UNKNOWN
    } else {
        HOLDS
    }
}

fn print(out: &mut impl Write, head: &str, solver: &Solver, all: &[Done]) -> anyhow::Result<()> {
    writeln!(out, "{head}\nsolver: {}", solver.name())?;
    for done in all {
        print_part(out, done)?;
    }
    Ok(())
}

fn print_part(out: &mut impl Write, done: &Done) -> anyhow::Result<()> {
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
        Err(untied) => print_untied(out, relation, untied)?,
    }
    writeln!(out, "\n{}", obligations(done))?;
    let mut lines = vec!["The invariant:".to_owned()];
    for (at, part) in relation.invariant.iter().enumerate() {
        lines.push(format!("{:2}. {}: {}", at + 1, part.name, part.words));
    }
    lines.push("Assumed:".to_owned());
    lines.extend(done.part.assumes.iter().map(|assumed| format!("  - {assumed}")));
    lines.extend(relation.axioms.iter().map(|axiom| format!("  - {}", axiom.words)));
    writeln!(out, "{}\n", text::wrap(&lines.join("\n"), text::width()))?;
    writeln!(out, "{}", properties(done))?;
    for one in first_failures(done) {
        if let Outcome::Fails(Some(shown)) = &one.outcome {
            print_failure(out, relation, one, shown)?;
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

fn print_failure(
    out: &mut impl Write,
    relation: &Relation,
    one: &Obligation,
    shown: &Shown,
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
    writeln!(out, "{}", states_table(&head, rows))?;
    Ok(())
}

fn states_table(head: &str, rows: Vec<(String, String, Option<String>)>) -> Table {
    let mut table = Table::new(["", "before", head]);
    for (name, before, after) in rows {
        let changed = after.as_ref().is_some_and(|after| *after != before);
        let after = Cell::new(after.unwrap_or_default());
        let after = if changed { after.in_colour(AnsiColor::Red) } else { after };
        table.row([Cell::new(name), Cell::new(before), after]);
    }
    table
}

fn print_untied(out: &mut impl Write, relation: &Relation, untied: &Untied) -> anyhow::Result<()> {
    let Untied { scenario, happens, before, after } = untied;
    let (what, head) = match after {
        Some(_) => {
            ("this step of the model is no step of the relation", format!("after: {happens}"))
        }
        None => (happens.as_str(), String::new()),
    };
    writeln!(out, "model: {what}\n{scenario}")?;
    writeln!(out, "{}", states_table(&head, pair(relation, before, after.as_ref())))?;
    Ok(())
}

fn object(rules: &dyn DynProtocol, solver: &Solver, all: &[Done]) -> Value {
    json!({
        "protocol": rules.protocol().name(),
        "variant": rules.variant_name(),
        "rules": rules.json(),
        "solver": solver.name(),
        "parts": all.iter().map(part_view).collect::<Vec<_>>(),
    })
}

fn part_view(done: &Done) -> Value {
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
            Ok(tie) => tie_view(relation, tie),
            Err(untied) => untied_view(relation, untied),
        },
        "invariant": invariant.collect::<Vec<_>>(),
        "properties": properties.collect::<Vec<_>>(),
        "obligations": asked.map(|one| obligation_view(relation, one)).collect::<Vec<_>>(),
    })
}

fn tie_view(relation: &Relation, tie: &Tie) -> Value {
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

fn untied_view(relation: &Relation, untied: &Untied) -> Value {
    json!({
        "scenario": untied.scenario,
        "happens": untied.happens,
        "no-step": states_view(pair(relation, &untied.before, untied.after.as_ref())),
    })
}

fn obligation_view(relation: &Relation, one: &Obligation) -> Value {
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
        Outcome::Fails(Some(shown)) => Some(shown_view(relation, shown)),
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

fn shown_view(relation: &Relation, shown: &Shown) -> Value {
    let after = shown.step.as_ref().map(|(_, _, after)| after);
    json!({
        "step": step_words(relation, shown),
        "states": states_view(pair(relation, &shown.before, after)),
    })
}

fn states_view(rows: Vec<(String, String, Option<String>)>) -> Value {
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
