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
pub use timed_args::{DelayArg, DurationArgs, TickRange, TimedArgs};
pub use world_args::{
    FairnessArg, HealsArg, NetworkArg, ProtocolArgs, StartArg, TimingArg, UsageError, WorldArgs,
    world,
};

use clap::{Parser, Subcommand};
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

/// Runs the command line; what it returns is the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Check(args) => check::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Bounds(args) => bounds::run(&args),
        Command::Claims(args) => claims::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Survey(args) => survey::run(&args),
        Command::List(args) => list::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Completions(args) => completions::run(&args),
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

/// Does something with the protocol that was named.
fn dispatch<V>(name: &str, visitor: V) -> anyhow::Result<u8>
where
    V: crate::protocol::Visitor<Output = anyhow::Result<u8>>,
{
    crate::protocol::with_protocol(name, visitor)
        .unwrap_or_else(|| Err(UsageError::Protocol { name: name.to_owned() }.into()))
}
