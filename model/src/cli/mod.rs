//! The command line: one file for each subcommand.

mod bounds;
mod check;
mod claims;
mod completions;
mod explore;
mod limit_args;
mod list;
mod progress;
mod shown;
mod survey;
mod text;
mod timed_args;
mod trace;
mod tune;
mod world_args;

pub use limit_args::LimitArgs;
pub use progress::Bar;
pub use timed_args::{DelayArg, DurationArgs, TickRange, TimedArgs, with_durations};
pub use world_args::{
    FairnessArg, HealsArg, NetworkArg, ProtocolArgs, StartArg, TimingArg, UsageError, WorldArgs,
    world,
};

use crate::erased::Registry;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Every checked property holds, or the command did what it was asked.
pub const HOLDS: u8 = 0;
/// A checked property is violated.
pub const VIOLATED: u8 = 1;
/// The arguments, a file or the surroundings do not allow what was asked.
pub const USAGE: u8 = 2;
/// The search was cut short, so nothing is claimed.
pub const CUT_SHORT: u8 = 3;

/// Check leader elections: every interleaving of crashes, recoveries, message orders and time-outs
#[derive(Debug, Parser)]
#[command(name = "bellwether-model", version, max_term_width = 100, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "\
Examples:
  bellwether-model list bully
  bellwether-model check bully
  bellwether-model explore bully --recoveries 1
  bellwether-model tune bully --variant baseline --delay 1..3
  bellwether-model survey
  bellwether-model claims --source chapter
('help COMMAND' shows more)

Exit status: 0 every checked property holds; 1 one is violated; 2 wrong usage or configuration;
3 the search was cut short, so nothing is claimed.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Decide a protocol's properties in a world, and show what violates them
    Check(check::CheckArgs),
    /// Find the shortest time-outs that keep a property, for given message delays
    Tune(tune::TuneArgs),
    /// Compute what executions cost at most: messages, time-outs, elections, leaderships
    Bounds(bounds::BoundsArgs),
    /// Check the literature: run the checks that confirm or refute what it says
    Claims(claims::ClaimsArgs),
    /// Browse a world's states and counterexamples in stateright's web Explorer
    Explore(explore::ExploreArgs),
    /// Decide every protocol in the worlds that matter, as one matrix
    Survey(survey::SurveyArgs),
    /// Show the protocols; of one, its variants, rules and properties
    List(list::ListArgs),
    /// Print or draw a saved trace again
    Trace(trace::TraceArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

/// A command line: what it is called, and the protocols that it knows.
#[derive(Clone, Copy)]
pub struct Tool {
    /// The name of the program.
    pub name: &'static str,
    /// The protocols.
    pub registry: Registry,
}

/// The command line with a flag for each duration of the protocols.
fn command(tool: Tool) -> clap::Command {
    with_durations(Cli::command(), tool.registry)
}

/// Runs the command line; what it returns is the exit status.
#[must_use]
pub fn main(tool: Tool) -> ExitCode {
    let matches = command(tool).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let done = match cli.command {
        Command::Check(args) => check::run(tool, &args),
        Command::Tune(args) => tune::run(tool, &args),
        Command::Bounds(args) => bounds::run(tool, &args),
        Command::Claims(args) => claims::run(&args),
        Command::Explore(args) => explore::run(tool, &args),
        Command::Survey(args) => survey::run(tool, &args),
        Command::List(args) => list::run(tool, &args),
        Command::Trace(args) => trace::run(tool, &args),
        Command::Completions(args) => completions::run(tool, &args),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_closed_pipe(&error) => ExitCode::from(HOLDS),
        Err(error) => {
            let (bold, plain) = (ERROR.render(), ERROR.render_reset());
            anstream::eprintln!("{bold}error:{plain} {error:#}");
            ExitCode::from(USAGE)
        }
    }
}

const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// Whether the reader of the output, such as `head`, has closed the pipe: that is no failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
