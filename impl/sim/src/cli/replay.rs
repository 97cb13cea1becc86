//! `replay`: one run, from its code.

use std::fmt::Write as _;

use bellwether_cli::exit::Exit;
use bellwether_cli::json;

use super::{HOLDS, VIOLATED};
use crate::code::Code;
use crate::run::run as simulate;
use crate::world::{Broken, Outcome};

/// Repeat one run from its code, such as quorum:5:all:00c0ffee
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What the run is
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
    let mut text = outcome.trace.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    // A `String` takes whatever is written.
    let _ = match (&outcome.broken, outcome.settled) {
        (Some(Broken { invariant, at, what }), _) => {
            let at = at.to_string();
            writeln!(text, "{code}: {invariant} is broken at {} s: {what}", at.trim())
        }
        (None, settled) => {
            let settled = settled.unwrap_or_default().as_secs_f64();
            writeln!(
                text,
                "{code}: no invariant is broken; all agree {settled:.3} s after the last fault"
            )
        }
    };
    let _ = writeln!(text, "digest {:016x}", outcome.digest);
    text
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

/// What is said of a run that breaks an invariant, and how it is repeated.
pub(super) fn failure(code: &Code, shrunk: &Code, trace: bool) -> String {
    let outcome = simulate(shrunk, trace);
    let mut text = outcome.trace.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    // A `String` takes whatever is written.
    if let Some(Broken { invariant, at, what }) = outcome.broken {
        let at = at.to_string();
        let _ = writeln!(text, "{invariant} is broken at {} s: {what}", at.trim());
    }
    let count = shrunk.kept.as_ref().map_or(0, Vec::len);
    let _ = writeln!(text, "the run:           {code}");
    let _ = writeln!(text, "with {count} of its faults: {shrunk}");
    let _ = writeln!(text, "repeat it: bellwether-sim replay '{shrunk}' --trace");
    text
}
