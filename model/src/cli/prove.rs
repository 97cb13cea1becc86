//! `prove`: the safety core of a protocol for every number of processes.

mod json;
mod print;

use super::text;
use super::{
    Exit, HOLDS, ProgressArgs, ProtocolArgs, Tool, UNKNOWN, VIOLATED, seconds, states, stopped,
};
use crate::machine::Machine;
use crate::prove::{
    Goal, Obligation, Outcome, Part, Proof, Solver, Tie, Untied, parts, prove, questions,
};
use anyhow::anyhow;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// The flags of `prove`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ProveArgs {
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

    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    ascii: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model prove raft-election
  bellwether-model prove raft-election --rule storage=forgets-vote
  bellwether-model prove raft-election --solver /usr/bin/cvc5 --json

A proof is for every number of processes, of faults, of messages, and for any delay, under the
assumptions that are printed. Exit status: 0 everything is proved; 1 a step breaks the invariant, or
the model has a step that the relation has not; 2 wrong usage, or there is no solver; 3 something is
not decided.";

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

pub(super) fn run(tool: Tool, args: &ProveArgs) -> anyhow::Result<Exit> {
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
    Ok(Exit::with(status(&all)).told(report(args, &*rules, &solver, &all)))
}

fn report(
    args: &ProveArgs,
    rules: &dyn Machine,
    solver: &Solver,
    all: &[Done],
) -> anyhow::Result<()> {
    if args.json {
        return text::print_json(&json::of(rules, solver, all), args.ascii);
    }
    let head = format!("{}, {}", rules.protocol().name(), rules.variant_name());
    print::all(&mut text::stdout(args.ascii), (&head, solver), all, args.ascii)
}

/// A question in words.
fn words(relation: &crate::prove::relation::Relation, goal: Goal) -> String {
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
