//! The command line: one file for each subcommand but `man`.

mod exit;
mod failover;
mod replay;
mod run;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use bellwether_cli::{brief, first_words, pages};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::exit::{Exit, Stop, complain, refuses};

/// No invariant was broken, or the command did what it was asked.
pub const HOLDS: u8 = 0;
/// An invariant was broken.
pub const VIOLATED: u8 = 1;
/// The arguments are wrong.
pub const USAGE: u8 = 2;
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
    let stop = Stop::on_signals();
    let read = brief(Cli::command()).try_get_matches();
    let cli = match read.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            let status = u8::try_from(error.exit_code()).unwrap_or(USAGE);
            if error.use_stderr() && refuses(&anyhow!(first_words(&error))) {
                return ExitCode::from(status);
            }
            return Exit::with(status, &stop).told(error.print()).code();
        }
    };
    let done = match cli.command {
        Command::Run(args) => run::run(&args, &stop),
        Command::Replay(args) => replay::run(&args, &stop),
        Command::Failover(args) => failover::run(&args, &stop),
        Command::Man(args) => man(&args, Cli::command(), &stop),
    };
    match done {
        Ok(exit) => exit.code(),
        Err(error) => {
            if !refuses(&error) {
                complain(&error);
            }
            ExitCode::from(USAGE)
        }
    }
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

/// Print the manual page, or write those of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether-sim man | man -l -
  bellwether-sim man --out ~/.local/share/man/man1")]
struct ManArgs {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The manual, one page for each command.
fn man(args: &ManArgs, program: clap::Command, stop: &Stop) -> anyhow::Result<Exit> {
    let pages = pages(program)?;
    if let Some(folder) = &args.out {
        let cannot = || format!("cannot write into {}; give --out another", folder.display());
        std::fs::create_dir_all(folder).with_context(cannot)?;
    }
    let exit = Exit::with(HOLDS, stop);
    Ok(match &args.out {
        Some(folder) => exit.saved(save(folder, &pages)),
        None => exit.tell(pages.first().map(|(_, page)| page.as_str()).unwrap_or_default()),
    })
}

fn save(folder: &Path, pages: &[(String, String)]) -> anyhow::Result<()> {
    for (name, page) in pages {
        let file = folder.join(name);
        std::fs::write(&file, page).with_context(|| {
            format!("cannot write {}; give --out a folder that has room", file.display())
        })?;
    }
    Ok(())
}
