//! `bellwether run`: take part in elections until told to stop.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether::config::{self, Log, Overrides, Runnable, Visitor};
use bellwether::{Config, Election};

use super::overrides::OverrideArgs;
use super::{Failure, log};

/// Take part in elections until SIGTERM or SIGINT
///
/// Logs to standard error; every change of role or leader is one line. Settings count in this
/// order: flags, environment, file, defaults.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether run --config orders.toml --node 3
  BELLWETHER_CONFIG=orders.toml BELLWETHER_NODE=3 bellwether run
  bellwether run --config orders.toml --node 3 --log-format json --set lease=4s,promise=5s
  bellwether run --config orders.toml --node 3 --protocol stoller --data-dir /var/lib/orders

A configuration:
  cluster = \"orders\"
  [members]
  1 = \"10.0.0.1:7000\"
  2 = \"10.0.0.2:7000\"
  3 = \"10.0.0.3:7000\"
  [storage]
  directory = \"/var/lib/orders\"
  [security]
  mode = \"secret\"
  secret_file = \"/etc/orders.secret\"

The protocol is quorum unless another is chosen: a majority grants one leader its lease. With every
other one two nodes can lead at the same time; the daemon then warns at the start.


`bellwether check-config FILE --node ID` prints all keys with their values.")]
pub(crate) struct Args {
    /// The configuration file
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CONFIG")]
    config: PathBuf,

    #[command(flatten)]
    overrides: OverrideArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let overrides = Overrides::from(&args.overrides);
    config::load(&args.config, overrides, Run).map_err(Failure::configuration)??;
    Ok(ExitCode::SUCCESS)
}

/// Takes part until the end.
struct Run;

impl Visitor for Run {
    type Output = Result<(), Failure>;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output {
        // Before anything is logged: what is missing in the configuration is told in one line.
        config.directory().map_err(Failure::configuration)?;
        config.credentials().map_err(Failure::configuration)?;
        let lines = log::start(log, config.node())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Failure::runtime(anyhow!("cannot start: {error}")))?;
        let result = runtime.block_on(take_part(config)).map_err(Failure::runtime);
        // What still blocks, such as a resolver that does not answer, is not waited for.
        runtime.shutdown_timeout(log::LAST_WORDS);
        lines.flush(log::LAST_WORDS);
        result
    }
}

async fn take_part<C: Runnable>(config: Config<C>) -> anyhow::Result<()> {
    let node = config.node().get();
    // Asked for first, so that a signal during the start is not lost.
    let signal = stop_signal().map_err(|error| anyhow!("cannot listen for signals: {error}"))?;
    let mut election = Election::join(config).await?;
    tokio::select! {
        signal = signal => tracing::info!(node, signal, "leaving"),
        stopped = election.stopped() => return Ok(stopped?),
    }
    election.leave().await?;
    tracing::info!(node, "left");
    Ok(())
}

/// Resolves to the name of the signal that asks this program to end.
#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = &'static str>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}

/// Resolves to the name of the signal that asks this program to end.
#[cfg(not(unix))]
fn stop_signal() -> std::io::Result<impl Future<Output = &'static str>> {
    Ok(async {
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            Err(_) => std::future::pending().await,
        }
    })
}
