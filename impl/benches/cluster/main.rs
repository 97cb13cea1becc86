//! Real clusters: processes of the daemon, under faults and under the clock.
//!
//! `cargo bench -p bellwether --bench cluster -- --help` says what it can do. Without a command, as
//! `cargo test` starts it, it is a test: a few faults.

mod cluster;
mod etcd;
mod failover;
mod fault;
mod groups;
mod lateness;
mod namespaces;
mod network;
mod probe;
mod quiescent;
mod relay;
mod report;
mod resource;
mod slow;
mod soak;
mod test;
mod wait;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

/// Processes of the daemon, under faults and under the clock
#[derive(Debug, Parser)]
#[command(name = "cluster", bin_name = "cargo bench -p bellwether --bench cluster --")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    /// What cargo adds
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Soak(soak::Args),
    Failover(failover::Args),
    Quiescent(quiescent::Args),
    Groups(groups::Args),
    /// The command of a leader: writes to the resource
    #[command(hide = true)]
    Hammer {
        node: u16,
        resource: String,
        etcd: Option<String>,
    },
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let result = match test::asked_for(&arguments) {
        Some(asked) => test::run(&arguments, &asked),
        None => run(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let parsed = Arguments::parse();
    let Some(command) = parsed.command else {
        Arguments::command().print_help()?;
        return Ok(ExitCode::SUCCESS);
    };
    match command {
        Command::Hammer { node, resource, etcd } => {
            resource::hammer(node, &resource, etcd.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Failover(args) => {
            wait::heed_signals()?;
            failover::run(&args)
        }
        Command::Quiescent(args) => {
            wait::heed_signals()?;
            quiescent::run(&args)
        }
        Command::Groups(args) => {
            wait::heed_signals()?;
            groups::run(&args)
        }
        Command::Soak(args) => {
            // Relays do without, but leave nothing behind there even if this program is killed.
            if !namespaces::are_ours() {
                let why = namespaces::enter(arguments);
                anyhow::ensure!(args.network != soak::Choice::Namespaces, "{why}");
                eprintln!("{why}; relays are used.");
            }
            namespaces::settle_in()?;
            wait::heed_signals()?;
            soak::run(&args)
        }
    }
}
