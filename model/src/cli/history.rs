//! `history`: run the bugs that elections of real systems had.

mod json;
mod markdown;
mod print;

use super::claims::{ENOUGH_STATES, command};
use super::{Exit, LimitArgs, ProgressArgs, as_written, text};
use crate::check::Limits;
use crate::claims::{Ran, Runner, Subject};
use crate::history::{History, Rerun, rerun};
use anyhow::anyhow;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// The flags of `history`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct HistoryArgs {
    /// Run these bugs, and print each in full [default: all, as a table]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Read the bugs from this file (in a clone, model/history/bugs.toml) instead of those compiled
    /// in
    #[arg(long, value_name = "FILE")]
    #[arg(hide_short_help = true)]
    file: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print each bug in full, and draw the execution that shows it
    #[arg(long, help_heading = "Output")]
    show: bool,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output", conflicts_with_all = ["show", "markdown"])]
    json: bool,

    /// Print the page docs/history.md
    #[arg(long, help_heading = "Output", conflicts_with_all = ["show", "names"])]
    #[arg(hide_short_help = true)]
    markdown: bool,

    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    ascii: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model history
  bellwether-model history forgotten-vote --show
  bellwether-model history --markdown > docs/history.md

Exit status: 0 every bug comes out as its entry says; 1 one does not; 2 wrong usage or an error in
the entries; 3 a search was cut short, so nothing is claimed.";

pub(super) fn run(args: &HistoryArgs) -> anyhow::Result<Exit> {
    let history = args.file.as_deref().map_or_else(History::load, History::load_from)?;
    let chosen = history.select(&args.names)?;
    let bar = args.progress.steps(2 * chosen.len(), args.json);
    let limits = args.limits.limits();
    let limits = Limits { states: limits.states.or(Some(ENOUGH_STATES)), ..limits };
    let runner = Runner { threads: args.limits.threads(), limits };
    let rerun = rerun(&runner, &chosen, &|name| bar.step(name));
    bar.finish();
    let rerun = rerun.map_err(|wrong| anyhow!("a bug cannot be run: {wrong}"))?;
    Ok(Exit::with(as_written(rerun.iter().map(Rerun::agrees))).told(print(args, &history, &rerun)))
}

fn print(args: &HistoryArgs, history: &History, rerun: &[Rerun<'_>]) -> anyhow::Result<()> {
    if args.json {
        return text::print_json(&json::of(rerun), args.ascii);
    }
    let mut out = text::stdout(args.ascii);
    if args.markdown {
        write!(out, "{}", markdown::of(rerun, &history.unsaid))?;
    } else {
        print::all(&mut out, args, rerun)?;
    }
    Ok(())
}

/// The commands that run a bug again: with it, and without.
fn commands(one: &Rerun<'_>) -> [String; 2] {
    let command = |subject: &Subject, ran: &Ran| {
        let scenario = ran.scenario.as_ref();
        scenario.map_or_else(String::new, |scenario| {
            command::check(subject, scenario, &one.bug.property)
        })
    };
    [command(&one.bug.broken, &one.broken), command(&one.bug.repaired, &one.repaired)]
}
