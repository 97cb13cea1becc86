//! `bellwether run`: take part in elections until told to stop.

use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether::config::{self, Log, Overrides, Runnable, Visitor};
use bellwether::{Config, Handle};
use futures::FutureExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::health::Checker;
use super::http::Http;
use super::itself::{self, End, Lasting};
use super::overrides::OverrideArgs;
use super::part::Part;
use super::reload::{Reload, Running};
use super::{Failure, hooks, log, ready, service};

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
    overrides: OverrideArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    itself::until_the_end(|lasting| {
        let overrides = Overrides::from(&args.overrides);
        config::load(&args.config, overrides, Run(args, lasting)).map_err(Failure::configuration)?
    })
}

/// Takes part until the end, or until the node is to start anew.
struct Run<'a>(&'a Args, &'a mut Lasting<Signals>);

impl Visitor for Run<'_> {
    type Output = Result<End, Failure>;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output {
        let Self(Args { config: path, overrides }, Lasting { log: lines, signals }) = self;
        // Before anything is logged: what is missing in the configuration is told in one line.
        ready::check(&config).map_err(Failure::configuration)?;
        config.open_trace().map_err(Failure::configuration)?;
        let started = log::go_on(lines, &log, config.node())?;
        let reload = Reload::new(path.clone(), overrides.into(), &config, &log);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Failure::runtime(anyhow!("cannot start: {error}")))?;
        let part = take_part(config, started, reload, signals);
        let result = runtime.block_on(part.boxed_local()).map_err(Failure::runtime);
        // What still blocks, such as a resolver that does not answer, is not waited for.
        runtime.shutdown_timeout(log::LAST_WORDS);
        started.lines.flush(log::LAST_WORDS);
        result
    }
}

async fn take_part<C: Runnable>(
    config: Config<C>,
    started: &log::Started,
    mut reload: Reload,
    signals: &mut Option<Signals>,
) -> anyhow::Result<End> {
    let node = config.node().get();
    // Asked for first, so that a signal during the start is not lost.
    let signals = itself::listening(signals, Signals::new)?;
    let http = Http::listen(&config).await?;
    let checker = Checker::new(&config);
    let (mut part, hooks) = if config.groups().is_empty() {
        let (election, hooks) = hooks::join(config).await?;
        (Part::One(Box::new(election)), hooks)
    } else {
        let (groups, hooks) = hooks::join_groups(config).await?;
        (Part::Many(groups), hooks)
    };
    let _checks = checker.start(part.handles(), hooks.scripts.clone()).await;
    let options = http.serve(|options| part.router(options));
    service::ready();
    let mut told = pin!(service::keep_told(part.handles()));
    let handle = part.handles().into_iter().next();
    let mut anew = false;
    let mut node_is_superseded = pin!(superseded(handle));
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
                let replace = |credentials| part.replace_credentials(credentials);
                let handles = part.handles();
                let prefer = |priority| handles.iter().for_each(|node| node.set_priority(priority));
                let running = Running {
                    log: started,
                    hooks: &hooks,
                    replace_credentials: &replace,
                    set_priority: &prefer,
                };
                reload.finish(read, &running, &options);
            }
            stopped = part.stopped() => return Ok(stopped.map(|()| End::Status(0))?),
            config_epoch = node_is_superseded.as_mut() => {
                tracing::info!(node, config_epoch, "starts anew with the new list of members");
                anew = true;
                break;
            }
            () = &mut told => {}
        }
    }
    leave(part, hooks, signals, anew).await
}

/// Takes part no longer. A node that was to start anew ends for good if a signal asks it to.
async fn leave(
    part: Part,
    hooks: hooks::Running,
    signals: &mut Signals,
    anew: bool,
) -> anyhow::Result<End> {
    if anew {
        service::reloading();
    } else {
        service::stopping();
    }
    let node = part.handles().first().map(|handle| handle.leadership().now().node.get());
    let mut leaves = pin!(async {
        part.leave().await?;
        hooks.finish().await;
        anyhow::Ok(())
    });
    let mut asked_to_end = !anew;
    loop {
        tokio::select! {
            left = &mut leaves => {
                left?;
                tracing::info!(node, "left");
                return Ok(if asked_to_end { End::Status(0) } else { End::Anew });
            }
            // What it holds, the system takes back: its port, its lock, and scripts that run.
            (signal, status) = signals.last() => {
                if asked_to_end {
                    tracing::warn!(node, signal, "asked to end again: ends without waiting");
                    return Ok(End::Status(status));
                }
                tracing::info!(node, signal, "leaving");
                service::stopping();
                asked_to_end = true;
            }
        }
    }
}

/// Returns when the node is to start anew with another list of members. One with groups never is.
async fn superseded(node: Option<Handle>) -> u64 {
    match node {
        Some(node) => node.superseded().await,
        None => std::future::pending().await,
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
