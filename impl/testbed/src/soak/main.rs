//! Real clusters: processes of the daemon, under faults and under the clock. The daemon is the one
//! beside this program.

mod cluster;
mod controls;
mod etcd;
mod failover;
mod fault;
mod groups;
mod members;
mod network;
mod quiescent;
mod recorded;
mod report;
mod resource;
mod soak;
mod stores;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use bellwether_testbed::{lease_api, wait};
use clap::Parser;

use report::note;

/// Processes of the daemon, under faults and under the clock
#[derive(Debug, Parser)]
#[command(name = "bellwether-soak")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Soak(soak::Args),
    Failover(failover::Args),
    Quiescent(quiescent::Args),
    Groups(groups::Args),
    Recorded(recorded::Args),
    Stores(stores::Args),
    /// Kill the leader and the keeper of its command at once, and look whether the command runs on
    ///
    /// Ends with status 1 if the checks of the soak find anything, such as a command that still
    /// runs when that of the next leader starts.
    KilledTogether(controls::Args),
    /// The command of a leader: writes to the resource
    #[command(hide = true)]
    Hammer {
        node: u16,
        resource: String,
        etcd: Option<String>,
        /// A lock that all commands take
        #[arg(long)]
        alone: Option<PathBuf>,
    },
    /// Stands in for the API server of Kubernetes, with one Lease that is kept in a file
    #[command(hide = true)]
    StandIn {
        port: u16,
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    run(Arguments::parse().command).unwrap_or_else(|error| {
        note(format_args!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match &command {
        Command::Hammer { .. } | Command::StandIn { .. } => {}
        Command::Soak(args) => contain(args.network == soak::Choice::Namespaces)?,
        Command::Recorded(_) | Command::KilledTogether(_) => contain(false)?,
        _ => wait::heed_signals()?,
    }
    match command {
        Command::Hammer { node, resource, etcd, alone } => {
            resource::hammer(node, &resource, etcd.as_deref(), alone.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::StandIn { port, file } => {
            lease_api::serve(port, &file)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Failover(args) => failover::run(&args),
        Command::Quiescent(args) => quiescent::run(&args),
        Command::Groups(args) => groups::run(&args),
        Command::Stores(args) => stores::run(&args),
        Command::Recorded(args) => recorded::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::KilledTogether(args) => controls::run(&args),
    }
}

/// Goes on in namespaces of its own where the system allows it: then nothing is left behind, even
/// if this program is killed. Without them, what needs no network of the kernel's goes on as well.
fn contain(needed: bool) -> anyhow::Result<()> {
    if !network::are_ours() {
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let why = network::enter(&arguments);
        anyhow::ensure!(!needed, "{why}");
        note(format_args!("{why}; nodes are reached on loopback."));
    }
    network::settle_in()?;
    wait::heed_signals()
}
