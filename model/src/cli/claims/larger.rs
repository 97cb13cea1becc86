//! The page `docs/claims/larger.md`: each check that confirms a claim, with one process more.

use super::markdown::wrapped;
use super::{ClaimsArgs, Exit, HOLDS, UNKNOWN, VIOLATED, stopped, text};
use crate::check::Limits;
use crate::claims::{Check, Claim, Larger, Runner, Source};
use anyhow::anyhow;
use std::io::Write;

/// States of a world with one process more, if no other limit is given: one that needs more is not
/// decided here.
const LARGER_STATES: u64 = 150_000;

const HEAD: &str = "\
# The literature, checked: one process more

A claim that is confirmed holds for as many processes as its runs have. Here each check that decides
it is run again with one more. *stopped* says that the search was cut short: then nothing is
claimed. A line that is *not met* refutes its claim, and a test fails. So it does where two faults
happen in a check, and the search with one process more ends: then the ledger has to run that.
";

/// Prints the page, and says in the status whether a claim is false there.
pub(super) fn run(
    args: &ClaimsArgs,
    runner: &Runner,
    chosen: &[(&Source, &Claim)],
) -> anyhow::Result<Exit> {
    let states = args.limits.limits().states.unwrap_or(LARGER_STATES);
    let runner = Runner { limits: Limits { states: Some(states), ..runner.limits }, ..*runner };
    let mut out = text::stdout(args.ascii);
    let command = format!("bellwether-model claims --markdown larger --max-states {states}");
    let head = format!("`{command} > docs/claims/larger.md` prints this page.");
    let table = "| claim | check | n | found | |\n|---|---|---|---|---|";
    let mut told = writeln!(out, "{HEAD}\n{}\n{table}", wrapped("", &head));
    let bar = args.progress.steps(chosen.len(), false);
    let mut status = HOLDS;
    for &(source, claim) in chosen {
        let number = claim.number;
        let wrong = |wrong: String| anyhow!("claim {number}: {wrong}");
        let checks = claim.confirming(source).map_err(wrong)?;
        for (check, larger) in runner.all_larger(&checks).map_err(wrong)? {
            let is = standing(&larger, states);
            status = if is.is_empty() { status } else { VIOLATED };
            let row = line((source, claim), check, &larger, is);
            told = told.and_then(|()| bar.suspend(|| writeln!(out, "{row}")));
        }
        bar.step(&format!("claim {number}"));
    }
    bar.finish();
    // That its own limit stops a search is a line of the page.
    let interrupted = status == HOLDS && stopped().is_due();
    Ok(Exit::with(if interrupted { UNKNOWN } else { status }).told(told))
}

/// What is wrong with it, in a few words; nothing if nothing is. The ledger runs what ends within
/// so many states, and need not run what a higher limit lets end.
fn standing(larger: &Larger, states: u64) -> &'static str {
    match larger.met {
        Some(false) => "**not met**",
        _ if larger.pair_is_feasible && states <= LARGER_STATES => "**two faults: to be run**",
        _ => "",
    }
}

fn line((source, claim): (&Source, &Claim), check: &Check, larger: &Larger, is: &str) -> String {
    let (number, name) = (claim.number, &source.name);
    let cell = |text: &str| text.replace('|', "\\|");
    let found = match larger.met {
        None if larger.ran.is_ok() => "stopped".to_owned(),
        _ => cell(&larger.found(&check.demands)),
    };
    format!(
        "| [{number}]({name}.md#claim-{number}) | {} | {} | {found} | {is} |",
        cell(&check.shows),
        larger.nodes
    )
}
