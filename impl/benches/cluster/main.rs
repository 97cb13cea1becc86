//! Real clusters: processes of the daemon, under faults and under the clock.
//!
//! `cargo bench -p bellwether --bench cluster -- --help` says what it can do. Without a command, as
//! `cargo test` starts it, it is a test: a few faults.

mod alone;
mod cluster;
mod controls;
mod etcd;
mod failover;
mod fault;
mod groups;
#[path = "../../tests/stores/http_server.rs"]
mod http_server;
mod lateness;
#[path = "../../tests/stores/lease_api.rs"]
mod lease_api;
mod members;
mod namespaces;
mod network;
mod probe;
mod process;
mod quiescent;
mod recorded;
mod relay;
mod report;
mod resource;
#[path = "../../tests/stores/servers.rs"]
mod servers;
mod slow;
mod soak;
mod stand_in;
#[path = "../../tests/stores/relay.rs"]
mod store_relay;
mod stores;
mod test;
mod wait;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use report::note;

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
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let result = match test::asked_for(&arguments) {
        Some(asked) => test::run(&arguments, &asked),
        None => run(&arguments),
    };
    result.unwrap_or_else(|error| {
        note(format_args!("error: {error:#}"));
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
        Command::Hammer { node, resource, etcd, alone } => {
            resource::hammer(node, &resource, etcd.as_deref(), alone.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::StandIn { port, file } => {
            stand_in::serve(port, &file)?;
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
        Command::Stores(args) => {
            wait::heed_signals()?;
            stores::run(&args)
        }
        Command::Recorded(args) => {
            contain(arguments, false)?;
            recorded::run(&args)
        }
        Command::Soak(args) => {
            contain(arguments, args.network == soak::Choice::Namespaces)?;
            soak::run(&args)
        }
        Command::KilledTogether(args) => {
            contain(arguments, false)?;
            controls::run(&args)
        }
    }
}

/// Goes on in namespaces of its own where the system allows it: then nothing is left behind, even
/// if this program is killed. Without them, what needs no network of the kernel's goes on as well.
fn contain(arguments: &[OsString], needed: bool) -> anyhow::Result<()> {
    if !namespaces::are_ours() {
        let why = namespaces::enter(arguments);
        anyhow::ensure!(!needed, "{why}");
        note(format_args!("{why}; nodes are reached on loopback."));
    }
    namespaces::settle_in()?;
    wait::heed_signals()
}
