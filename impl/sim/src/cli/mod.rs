//! The command line: one file for each subcommand but `man`, which is as in every program.

mod failover;
mod replay;
mod run;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use bellwether_cli::brief;
use bellwether_cli::exit::{Exit, tell_when_stopped};
use bellwether_cli::failure::{asks_for_json, ends, refuse};
use bellwether_cli::shell::{self, ManArgs};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// No invariant was broken, or the command did what it was asked.
pub const HOLDS: u8 = 0;
/// An invariant was broken.
pub const VIOLATED: u8 = 1;
/// Not all runs were made, so nothing is claimed of the others.
pub const CUT_SHORT: u8 = 3;

/// Run the real cores of Bellwether on a virtual network, with faults from a seed
///
/// Every run follows from its code, such as quorum:5:all:00c0ffee: protocol, nodes, faults, seed.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "\
Exit status: 0 no invariant was broken; 1 one was; 2 wrong usage; 3 not all runs were made, so
nothing is claimed of the others. What cannot be printed or saved turns 0 into 2 and changes no
other status. A reader that has gone changes none.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Replay(replay::Args),
    Failover(failover::Args),
    Man(ManArgs),
}

/// Runs the command line; what it returns is the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let matches = match brief(shell::named(Cli::command())).try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return refuse(&error, None, asks_for_json()),
    };
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    tell_when_stopped();
    ends(match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Failover(args) => failover::run(&args),
        Command::Man(args) => {
            args.page(shell::named(Cli::command())).map(|page| Exit::with(HOLDS).tell(&page))
        }
    })
}

/// A bar on standard error if that is a terminal.
fn bar(length: u64) -> indicatif::ProgressBar {
    if !io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(length);
    let style = "{bar:30} {pos} of {len} runs, {per_sec}, {eta} left";
    if let Ok(style) = indicatif::ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}
