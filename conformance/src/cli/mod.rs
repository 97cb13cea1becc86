//! The command line: one file for each subcommand.

mod completions;
mod list;
mod lockstep;
mod replay;

use crate::error::Error;
use crate::mapping::{self, Visitor};
use anyhow::Context;
use bellwether_model::cli::with_durations;
use bellwether_model::protocol::REGISTRY;
use bellwether_model::trace::Trace;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::ExitCode;

/// The program does what the model does, or the command did what it was asked.
pub const CONFORMS: u8 = 0;
/// The program does something else.
pub const DIVERGES: u8 = 1;
/// The arguments, a file or the surroundings do not allow what was asked.
pub const USAGE: u8 = 2;
/// The walk was cut short, so nothing is claimed.
pub const CUT_SHORT: u8 = 3;

/// Hold the production program against the formal model, transition by transition
#[derive(Debug, Parser)]
#[command(name = "bellwether-conformance", version, max_term_width = 100, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "\
Exit status: 0 the program does what the model does; 1 it does something else; 2 wrong usage,
configuration or trace; 3 the walk was cut short, so nothing is claimed.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Take every transition of a bounded world in model and program, and compare
    Lockstep(lockstep::LockstepArgs),
    /// Drive the program through a saved trace of the model, and compare every step
    Replay(replay::ReplayArgs),
    /// Show the protocols that have a mapping, and the rules that their programs implement
    List(list::ListArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

/// The command line with a flag for each duration of the protocols.
fn command() -> clap::Command {
    with_durations(Cli::command(), REGISTRY)
}

/// Runs the command line; what it returns is the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let matches = command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let done = match cli.command {
        Command::Lockstep(args) => lockstep::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::List(args) => list::run(&args),
        Command::Completions(args) => completions::run(&args),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_closed_pipe(&error) => ExitCode::from(CONFORMS),
        Err(error) => {
            anstream::eprintln!("{ERROR}error:{ERROR:#} {error:#}");
            ExitCode::from(USAGE)
        }
    }
}

const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
const BOLD: anstyle::Style = anstyle::Style::new().bold();
const GOOD: anstyle::Style = anstyle::AnsiColor::Green.on_default().bold();

/// The program that reads our output, `head` for one, has seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Does something with the mapping of the protocol that was named.
fn dispatch<T>(name: &str, visitor: impl Visitor<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    mapping::with_mapping(name, visitor).unwrap_or_else(|| {
        let known = mapping::NAMES.join(", ");
        Err(Error::Protocol { name: name.to_owned(), known }.into())
    })
}

/// Whether a trace can be saved there, found out before the work rather than after it.
fn writable(out: &Path) -> anyhow::Result<()> {
    let existed = out.exists();
    let tried = File::options().append(true).create(true).open(out);
    tried.with_context(|| {
        format!("cannot write {}; give --out a file in a folder that can be written", out.display())
    })?;
    if !existed {
        fs::remove_file(out)?;
    }
    Ok(())
}

fn save(trace: &Trace, out: &Path) -> anyhow::Result<()> {
    let write = || trace.write(BufWriter::new(File::create(out)?));
    write().with_context(|| format!("writing {}", out.display()))
}
