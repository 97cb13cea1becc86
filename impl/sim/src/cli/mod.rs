//! The command line: one file for each subcommand.

mod failover;
mod replay;
mod run;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Parser, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};

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
nothing is claimed of the others.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Replay(replay::Args),
    Failover(failover::Args),
}

/// Runs the command line; what it returns is the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let stop = when_stopped();
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(&args, &stop),
        Command::Replay(args) => replay::run(&args),
        Command::Failover(args) => failover::run(&args),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_closed_pipe(&error) => ExitCode::from(HOLDS),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(USAGE)
        }
    }
}

/// Set by the first Ctrl-C or SIGTERM; the second ends the program at once.
fn when_stopped() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for (signal, status) in [(SIGINT, 130), (SIGTERM, 143)] {
        // In this order: what is registered first sees the flag as it was before the signal. Where
        // signals cannot be had, the first time ends the program.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, status, stop.clone());
        let _ = signal_hook::flag::register(signal, stop.clone());
    }
    stop
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// The program that reads our output, `head` for one, has seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
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
