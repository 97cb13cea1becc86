//! `bellwether run`: take part in elections until told to stop.

use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether::internal::config::{self, Log, Origin, Overrides, Runnable, Visitor};
use bellwether::{Config, Election, Handle};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::health::Checker;
use super::node::{self, Http};
use super::reload::{self, Reload, Running};
use super::{Failure, hooks, log, service};

/// Take part in elections until SIGTERM or SIGINT
///
/// Logs to standard error; every change of leader or epoch is one line. Settings count in this
/// order: flags, environment, file, defaults. SIGHUP reads the file again: `log.level`, `priority`
/// and `[hooks]` may change, and so may what is in the files of secrets, keys, certificates and the
/// token.
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
    overrides: Overrides,

    /// Start a new cluster without the voters that are away; refused if this node has a state
    #[arg(long)]
    #[arg(help_heading = "Node")]
    #[arg(hide_short_help = true)]
    new_cluster: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    reload::listen(&[])?;
    config::load(&args.config, args.overrides.clone(), Run(args)).map_err(Failure::configuration)?
}

/// Takes part until the end.
struct Run<'a>(&'a Args);

impl Visitor for Run<'_> {
    type Output = Result<ExitCode, Failure>;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output {
        let Args { config: path, overrides, new_cluster } = self.0;
        // Before anything is logged: what is missing in the configuration is told in one line.
        let config = node::startable(config, *new_cluster).map_err(Failure::configuration)?;
        let started = log::start(&log, config.node())?;
        let reload = Reload::new(Origin::File(path.clone()), overrides.clone(), &config, &log);
        started.conduct(take_part(config, &started, reload)).map_err(Failure::runtime)
    }
}

async fn take_part<C: Runnable>(
    config: Config<C>,
    started: &log::Started,
    mut reload: Reload,
) -> anyhow::Result<u8> {
    let node = config.node().get();
    // Asked for first, so that a signal during the start is not lost.
    let mut signals =
        Signals::new().map_err(|error| anyhow!("cannot listen for signals: {error}"))?;
    let is_asked = reload::came();
    let http = Http::listen(&config).await?;
    let checker = Checker::new(&config);
    let (mut election, hooks) = hooks::join(config).await?;
    let handles: Vec<Handle> = election.groups().values().cloned().collect();
    let _checks = checker.start(handles.clone(), hooks.scripts.clone()).await;
    let options = http.serve(&election);
    service::ready();
    let mut told = pin!(service::keep_told(handles.clone()));
    if is_asked {
        reload.ask();
    }
    loop {
        tokio::select! {
            signal = signals.next() => match signal {
                SignalAction::ToReload => reload.ask(),
                SignalAction::ToEnd(signal) => {
                    tracing::info!(node, signal, "leaving");
                    break;
                }
            },
            read = reload.read() => {
                let replace = |credentials| election.replace_credentials(credentials);
                let prefer = |priority| handles.iter().for_each(|node| node.set_priority(priority));
                let running = Running {
                    log: started,
                    hooks: &hooks,
                    replace_credentials: &replace,
                    set_priority: &prefer,
                };
                reload.finish(read, &running, &options);
            }
            stopped = election.stopped() => return Ok(stopped.map(|()| 0)?),
            () = &mut told => {}
        }
    }
    leave(election, hooks, signals).await
}

/// Takes part no longer.
async fn leave(
    election: Election,
    hooks: hooks::Running,
    mut signals: Signals,
) -> anyhow::Result<u8> {
    service::stopping();
    let node = election.leadership().now().node.get();
    let leaves = async {
        election.leave().await?;
        hooks.finish().await;
        anyhow::Ok(())
    };
    tokio::select! {
        left = leaves => {
            left?;
            tracing::info!(node, "left");
            Ok(0)
        }
        // What it holds, the system takes back: its port, its lock, and scripts that run.
        (signal, status) = signals.last() => {
            tracing::warn!(node, signal, "asked to end again: ends without waiting");
            Ok(status)
        }
    }
}

/// What a signal asks of this program.
enum SignalAction {
    ToReload,
    /// By the signal of this name.
    ToEnd(&'static str),
}

/// The signals that mean something here.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> SignalAction {
        let Self { terminate, interrupt, hangup } = self;
        tokio::select! {
            (signal, _) = last(terminate, interrupt) => SignalAction::ToEnd(signal),
            _ = hangup.recv() => SignalAction::ToReload,
        }
    }

    /// The next that asks to end, and the exit status of a node that does so at once.
    async fn last(&mut self) -> (&'static str, u8) {
        last(&mut self.terminate, &mut self.interrupt).await
    }
}

async fn last(terminate: &mut Signal, interrupt: &mut Signal) -> (&'static str, u8) {
    tokio::select! {
        _ = terminate.recv() => ("SIGTERM", 128 + 15),
        _ = interrupt.recv() => ("SIGINT", 128 + 2),
    }
}
