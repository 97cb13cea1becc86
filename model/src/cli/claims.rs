//! `claims`: check the literature, by running the checks of the ledger.

pub(super) mod command;
mod json;
pub(super) mod markdown;
mod print;

use super::{HOLDS, LimitArgs, ProgressArgs, UNKNOWN, VIOLATED, text};
use crate::check::Limits;
use crate::claims::{Claim, Cures, Judged, Ledger, Runner, Source};
use anyhow::anyhow;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// The flags of `claims`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ClaimsArgs {
    /// Run the checks of these claims, and print each in full [default: all, as a table]
    #[arg(value_name = "NUMBER")]
    numbers: Vec<u16>,

    /// Only the claims of this text: encyclopedia, clustering, chapter, lesson or lecture
    #[arg(short, long, value_name = "NAME")]
    source: Option<String>,

    /// Search the smallest changes of rules under which these claims hold: every rule, then every
    /// two
    #[arg(long, requires = "numbers", conflicts_with_all = ["show", "json", "markdown"])]
    cures: bool,

    /// Print what the texts print as programs: which file runs it, and what it does wrong
    #[arg(long, conflicts_with_all = ["numbers", "source", "cures", "show", "json", "markdown"])]
    programs: bool,

    /// Read the ledger from this folder (in a clone, model/claims) instead of the one compiled in
    #[arg(long, value_name = "DIR")]
    ledger: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print each claim in full, and draw the execution behind each finding
    #[arg(long, help_heading = "Output")]
    show: bool,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output", conflicts_with_all = ["show", "markdown"])]
    json: bool,

    /// Print the page docs/claims.md
    #[arg(long, help_heading = "Output", conflicts_with = "show")]
    markdown: bool,

    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    ascii: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model claims
  bellwether-model claims --source chapter
  bellwether-model claims 59 --show
  bellwether-model claims 84 --cures
  bellwether-model claims --programs
  bellwether-model claims --markdown > docs/claims.md

Exit status: 0 every claim comes out as the ledger says; 1 one does not; 2 wrong usage or an error
in the ledger; 3 a check was cut short, so nothing is claimed.";

/// No check of the ledger needs so many states. One that does has no bound where it needs one.
pub(super) const ENOUGH_STATES: u64 = 8_000_000;

pub(super) fn run(args: &ClaimsArgs) -> anyhow::Result<u8> {
    if args.programs {
        print::programs(&mut text::stdout(args.ascii))?;
        return Ok(HOLDS);
    }
    let ledger = args.ledger.as_deref().map_or_else(Ledger::load, Ledger::load_from)?;
    let chosen = ledger.select(&args.numbers, args.source.as_deref())?;
    if chosen.is_empty() {
        let source = args.source.as_deref().unwrap_or_default();
        return Err(anyhow!("none of these claims is from '{source}'; leave --source out"));
    }
    let bar = args.progress.steps(Runner::checks(&chosen), args.json);
    let limits = args.limits.limits();
    let limits = Limits { states: limits.states.or(Some(ENOUGH_STATES)), ..limits };
    let runner = Runner { threads: args.limits.threads(), limits };
    if args.cures {
        bar.finish();
        return cures(&runner, &chosen);
    }
    let judged = runner.judge(&chosen, &|number| bar.step(&format!("claim {number}")));
    bar.finish();
    let judged = judged.map_err(|wrong| anyhow!("the ledger cannot be run: {wrong}"))?;
    if args.json {
        text::print_json(&json::of(&judged), args.ascii)?;
    } else if args.markdown {
        write!(text::stdout(args.ascii), "{}", markdown::of(&judged))?;
    } else {
        print::all(&mut text::stdout(args.ascii), args, &judged)?;
    }
    Ok(status(&judged))
}

/// States of a world in which a change is tried: one that needs more helps no reader to see why.
const CHANGED_STATES: u64 = 400_000;

/// Prints the smallest changes of rules under which each claim holds.
fn cures(runner: &Runner, chosen: &[(&Source, &Claim)]) -> anyhow::Result<u8> {
    let states = runner.limits.states.map(|states| states.min(CHANGED_STATES));
    let runner = Runner { limits: Limits { states, ..runner.limits }, ..*runner };
    let mut out = std::io::stdout();
    for (source, claim) in chosen {
        let number = claim.number;
        match runner.cures(source, claim).map_err(|wrong| anyhow!("claim {number}: {wrong}"))? {
            None => writeln!(out, "{number}: it is not decided by properties of one protocol")?,
            Some(Cures { tried, found }) if found.is_empty() => {
                writeln!(out, "{number}: none of {tried} changes of one or two rules")?;
            }
            Some(Cures { tried, found }) => {
                writeln!(out, "{number}: {} of {tried} changes", found.len())?;
                for change in found {
                    let rules: Vec<String> =
                        change.iter().map(|(rule, value)| format!("{rule}={value}")).collect();
                    writeln!(out, "  {}", rules.join(", "))?;
                }
            }
        }
    }
    Ok(HOLDS)
}

fn status(judged: &[Judged<'_>]) -> u8 {
    let any = |wanted| judged.iter().any(|one| one.agrees() == wanted);
    if any(Some(false)) {
        VIOLATED
    } else if any(None) {
        UNKNOWN
    } else {
        HOLDS
    }
}
