//! The daemon and its tools, one file for each subcommand: see `bellwether --help`. What they share is
//! here.

mod check_config;
mod client;
mod control;
mod demo;
#[cfg(target_os = "linux")]
mod exec;
mod health;
mod history;
mod hooks;
mod itself;
mod json;
mod keys;
mod line;
mod log;
mod members;
mod node;
mod overrides;
mod recover;
mod reload;
mod run;
mod script;
mod service;
mod status;
mod store;
mod threads;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether::internal::config;
use bellwether::internal::status::QueryError;
use bellwether::storage::StorageError;
use bellwether::{JoinError, Stopped};
use bellwether_cli::shell::{self, CompletionsArgs, ManArgs};
use clap::{CommandFactory as _, Parser, Subcommand};

use self::line::Line;

/// Elect a leader among a few known nodes.
///
/// Every node runs `bellwether run` with the same members and the same protocol.
#[derive(Debug, Parser)]
#[command(name = "bellwether", version = VERSION, max_term_width = 100, after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The version, and the commit that was built if it is known.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("BELLWETHER_COMMIT"));

const EXIT_STATUS: &str = "\
Exit status:
  0  success; for `status`: the node knows a leader, or all that were asked
  1  the node could not run, or refused; for `status`: it knows no leader, or is none (--leading)
  2  the command line or the configuration is wrong
  3  the node, or the store, that was asked cannot be reached
 75  for `exec --once`: the leadership was lost
101  the program panicked: a mistake in bellwether; the log says where
125  for `exec`: the node could not run
126  for `exec`: the command cannot be started
127  for `exec`: the command is not found
130  for `run`: a second SIGINT ended it at once
143  for `run`: a second SIGTERM ended it at once";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    #[cfg(target_os = "linux")]
    Exec(exec::Args),
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    ExecKeeper(exec::keeper::Args),
    #[cfg(target_os = "linux")]
    #[command(name = "exec-command", hide = true)]
    ExecTrampoline(exec::command::Args),
    Status(status::Args),
    History(history::HistoryArgs),
    Events(history::EventsArgs),
    Transfer(control::TransferArgs),
    StepDown(control::StepDownArgs),
    Freeze(control::FreezeArgs),
    Maintenance(control::MaintenanceArgs),
    Members(members::Args),
    Recover(recover::Args),
    Store(store::Args),
    Demo(demo::Args),
    #[command(hide = true)]
    DemoNode(demo::NodeArgs),
    CheckConfig(check_config::Args),
    Keys(keys::Args),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The exit status when the command line or the configuration is wrong.
const CONFIGURATION: u8 = 2;
/// The exit status when the node that was asked cannot be reached.
const UNREACHABLE: u8 = 3;

/// Why a command failed: the text to print, and the exit status that goes with it.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    error: anyhow::Error,
}

impl Failure {
    /// Something went wrong that no other command line would have avoided.
    pub(crate) fn runtime(error: impl Into<anyhow::Error>) -> Self {
        Self { status: 1, error: error.into() }
    }

    /// The configuration is wrong.
    pub(crate) fn configuration(error: impl Into<anyhow::Error>) -> Self {
        Self { status: CONFIGURATION, error: error.into() }
    }

    /// The node that was asked cannot be reached.
    pub(crate) fn unreachable(error: impl Into<anyhow::Error>) -> Self {
        Self { status: UNREACHABLE, error: error.into() }
    }
}

fn main() -> ExitCode {
    let line = match line::read() {
        Ok(line) => line,
        Err(status) => return status,
    };
    let result = run(&line);
    match result {
        Ok(status) => status,
        Err(Failure { status, error }) => {
            // The log has said why.
            if error.is::<Stopped>() && log::has_said_why() {
                return ExitCode::from(status);
            }
            let sources = if status == CONFIGURATION { line.sources() } else { String::new() };
            let causes: Vec<_> = error.chain().skip(1).map(ToString::to_string).collect();
            json::complain(&format!("{}{sources}", told(&error)), &causes, status);
            ExitCode::from(status)
        }
    }
}

fn run(line: &Line) -> Result<ExitCode, Failure> {
    match &line.cli.command {
        Command::Run(args) => run::run(args),
        #[cfg(target_os = "linux")]
        Command::Exec(args) => exec::run(args),
        #[cfg(target_os = "linux")]
        Command::ExecKeeper(args) => exec::keeper::run(args),
        #[cfg(target_os = "linux")]
        Command::ExecTrampoline(args) => exec::command::run(args),
        Command::Status(args) => status::run(args),
        Command::History(args) => history::history(args),
        Command::Events(args) => history::events(args),
        Command::Transfer(args) => control::transfer(args),
        Command::StepDown(args) => control::step_down(args),
        Command::Freeze(args) => control::freeze(args),
        Command::Maintenance(args) => control::maintenance(args),
        Command::Members(args) => members::run(args),
        Command::Recover(args) => recover::run(args),
        Command::Store(args) => store::run(args),
        Command::Demo(args) => demo::run(args),
        Command::DemoNode(args) => demo::run_node(args),
        Command::CheckConfig(args) => check_config::run(args, &line.given),
        Command::Keys(args) => keys::run(args),
        Command::Completions(args) => found(0, &args.script("bellwether", &Cli::command())),
        Command::Man(args) => {
            let page = args.page(shell::named(Cli::command()));
            found(0, &page.map_err(|error| Failure::runtime(anyhow!("{error:#}")))?)
        }
    }
}

/// Returns the text of an error with the remedy. Where the remedy is a key, a flag or a variable of
/// this program, the library speaks of its own functions, as other programs have other flags.
fn told(error: &anyhow::Error) -> String {
    if let Some(QueryError::Closed { .. }) = error.downcast_ref() {
        return format!("{error}, or use --wait");
    }
    let joining = error.downcast_ref::<JoinError>();
    let configuration = match joining {
        Some(JoinError::Config(error)) => Some(error),
        _ => error.downcast_ref::<config::Error>(),
    };
    match (joining, configuration) {
        (Some(JoinError::Listen { .. }), _) => {
            format!("{error} (`listen` in the file, --listen, BELLWETHER_LISTEN)")
        }
        (Some(JoinError::Storage(StorageError::Locked { .. })), _) => {
            format!("{error} (`storage.directory` in the file, --data-dir, BELLWETHER_DATA_DIR)")
        }
        (_, Some(config::Error::NoDirectory { protocol })) => format!(
            "protocol {protocol} must remember things through restarts, and nothing says where: \
             set `directory` under [storage] in the file, pass --data-dir, or set the environment \
             variable BELLWETHER_DATA_DIR"
        ),
        (_, Some(config::Error::Trace { .. })) => {
            format!("{error} (`log.trace` in the file, --trace, BELLWETHER_TRACE)")
        }
        (_, Some(config::Error::NoStore { .. })) => {
            format!("{error}, or pass --store")
        }
        _ => error.to_string(),
    }
}

/// Prints what a command has found, and ends it: the exit status is that, also if none reads it. If
/// the text cannot be written, a success is none any more.
pub(crate) fn found(status: u8, text: &str) -> Result<ExitCode, Failure> {
    match print(text) {
        Err(failure) if status == 0 => Err(failure),
        Err(failure) => Err(Failure { status, ..failure }),
        Ok(()) => Ok(ExitCode::from(status)),
    }
}

/// Writes to standard output. A reader that has hung up (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    put(text).map(drop)
}

/// Writes to standard output, and returns whether that has a reader still.
pub(crate) fn put(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    is_read(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Whether what was written has a reader.
fn is_read(written: std::io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::runtime(anyhow!(
            "cannot print all of it: {error}; send it where there is room"
        ))),
    }
}

#[cfg(test)]
mod tests;
