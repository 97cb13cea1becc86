//! `replay`: one run, from its code.

use bellwether_cli::exit::Exit;
use bellwether_cli::json;

use super::{HOLDS, VIOLATED};
use crate::code::Code;
use crate::run::run as simulate;
use crate::world::{Broken, Outcome};

/// Repeat one run from its code, such as quorum:5:all:00c0ffee
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The code of the run
    code: Code,
    /// Show what happens, line by line
    #[arg(long)]
    trace: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let outcome = simulate(&args.code, args.trace);
    let exit = Exit::with(if outcome.broken.is_some() { VIOLATED } else { HOLDS });
    let text = match args.json {
        true => json::line(&object(&args.code, &outcome))?,
        false => text(&args.code, &outcome),
    };
    Ok(exit.tell(&text))
}

fn text(code: &Code, outcome: &Outcome) -> String {
    let said = match &outcome.broken {
        Some(broken) => breaks(broken),
        None => format!(
            "no invariant is broken; all agree {:.3} s after the last fault",
            outcome.settled.unwrap_or_default().as_secs_f64()
        ),
    };
    format!("{}{code}: {said}\ndigest {:016x}\n", traced(outcome), outcome.digest)
}

/// Returns the lines of what happened, if a trace was kept.
fn traced(outcome: &Outcome) -> String {
    outcome.trace.iter().map(|line| format!("{line}\n")).collect()
}

fn breaks(Broken { invariant, at, what }: &Broken) -> String {
    format!("{invariant} is broken at {} s: {what}", at.to_string().trim())
}

fn object(code: &Code, outcome: &Outcome) -> serde_json::Value {
    let Outcome { broken, settled, counts, digest, trace } = outcome;
    serde_json::json!({
        "code": code.to_string(),
        "digest": format!("{digest:016x}"),
        "counts": counts,
        "settled": settled.map(|time| time.as_secs_f64()),
        "broken": broken.as_ref().map(|broken| serde_json::json!({
            "invariant": broken.invariant,
            "at": broken.at.0 as f64 / 1e9,
            "what": broken.what,
        })),
        "trace": trace,
    })
}

/// Returns what is said of a run that breaks an invariant, and how it is repeated.
pub(super) fn failure(code: &Code, shrunk: &Code, trace: bool) -> String {
    let outcome = simulate(shrunk, trace);
    let broken = outcome.broken.iter().map(|broken| breaks(broken) + "\n").collect::<String>();
    let count = shrunk.kept.as_ref().map_or(0, Vec::len);
    format!(
        "{}{broken}the run:           {code}\nwith {count} of its faults: {shrunk}\n\
         repeat it: bellwether-sim replay '{shrunk}' --trace\n",
        traced(&outcome)
    )
}
