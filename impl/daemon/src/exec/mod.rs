//! `bellwether exec`: run a command while this node leads, and only then.
//!
//! Two processes watch over the command. The node takes part in elections, and tells the
//! [keeper] until when its lease lasts. The keeper starts the command, and ends it before the lease
//! does. If the node is stopped or ends, the keeper ends the command; if the keeper is, the node
//! does. If both are killed at once, the kernel ends the [command], and the next start of the node
//! what is left in its [cgroup](group). Only both stopped at once leave it to a fence that refuses
//! old epochs.
//!
//! A lease that is given up is no exception: to the node the command is [`Work`], so it tells no
//! other node of it before the command is reaped.

pub(super) mod command;
mod descendants;
mod group;
pub(super) mod keeper;
mod running;

use std::ffi::OsString;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use bellwether::http::Options;
use bellwether::internal::config::{self, Log, Runnable, Visitor};
use bellwether::{Config, Election, Work};
use clap::ValueEnum;
use humantime::format_duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use self::group::Group;
use self::running::{Ended, Running};
use super::health::Checker;
use super::node::{self, Http};
use super::overrides::OriginArgs;
use super::reload::{self, Reload};
use super::script::Scripts;
use super::{Failure, hooks, log, service};

/// The exit status when the node itself cannot go on.
const CANNOT: u8 = 125;

/// The exit status when the leadership is lost, with `--once`; `EX_TEMPFAIL` of sysexits.h.
const LOST: u8 = 75;

/// How long between two looks at the lease.
const LOOK: Duration = Duration::from_millis(10);

/// How long to wait before a command is started again that ran only for a moment.
const BACKOFF: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Run a command while this node leads, and only then
///
/// The command is started when the node leads with enough of its lease left, in a process group of
/// its own and without standard input. When the lease is about to run out, or to be given up, it is
/// sent SIGTERM and, after --grace, SIGKILL; so is every process that it has started. A node that
/// hands over says so to the others once the command has ended, so no other node leads before.
/// BELLWETHER_EPOCH, BELLWETHER_LEADER and BELLWETHER_LEASE_UNTIL (nanoseconds of CLOCK_BOOTTIME;
/// renewed while it runs) are in its environment.
///
/// Processes that share a database, and need not know each other, need no file: --store and --name
/// say which lease decides who leads.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether exec --store sqlite:orders.db --name orders -- ./work
  bellwether exec --config orders.toml --node 3 -- ./work --queue orders
  bellwether exec --config orders.toml --node 3 --restart always -- ./work
  bellwether exec --config orders.toml --node 3 --set lease=4s,promise=5s --grace 2s -- ./work

SIGTERM, SIGINT and SIGQUIT are forwarded, and end this program once the command has ended. SIGHUP
reads the configuration of the node again, as with `run`, and is forwarded; SIGUSR1 and SIGUSR2 are
forwarded. --no-forward keeps these three from the command.

Exit status: that of the command, or 128 and the number of the signal that ended it, or this program
while it waited; 75 the leadership was lost, with --once; 125 the node cannot go on; 126 the command
cannot be started; 127 it is not found; 2 the command line or the configuration is wrong.")]
pub(crate) struct Args {
    #[command(flatten)]
    origin: OriginArgs,

    /// Start a new cluster without the voters that are away; refused if this node has a state
    #[arg(long, conflicts_with = "name")]
    #[arg(help_heading = "Node")]
    #[arg(hide_short_help = true)]
    new_cluster: bool,

    /// How long before it is killed the command is asked to end, when the lease runs out, or the
    /// node is to hand over; less if less of the lease is left
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = config::duration)]
    #[arg(help_heading = "Command")]
    grace: Duration,

    /// How long before the end of the lease it is killed
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = config::duration)]
    #[arg(help_heading = "Command")]
    #[arg(hide_short_help = true)]
    margin: Duration,

    /// How much of the lease must be left for the command to be started, at least; never less than
    /// --grace and --margin together
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = config::duration)]
    #[arg(help_heading = "Command")]
    #[arg(hide_short_help = true)]
    min_lease: Duration,

    /// How long before it is killed the command is asked to end, when this program is asked to end
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = config::duration)]
    #[arg(help_heading = "Command")]
    #[arg(hide_short_help = true)]
    stop_timeout: Duration,

    /// When to start the command again that has ended by itself
    #[arg(long, value_name = "WHEN", default_value = "never")]
    #[arg(help_heading = "Command")]
    restart: Restart,

    /// End when the leadership is lost, instead of waiting for the next
    #[arg(long)]
    #[arg(help_heading = "Command")]
    once: bool,

    /// Keep this signal from the command; may be repeated
    #[arg(long, value_name = "SIGNAL", value_delimiter = ',', ignore_case = true)]
    #[arg(help_heading = "Command")]
    #[arg(hide_short_help = true)]
    no_forward: Vec<Kept>,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// When a command that has ended by itself is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Restart {
    /// End with its exit status
    Never,
    /// If its exit status was not 0
    OnFailure,
    /// Always
    Always,
}

/// A signal that the command need not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kept {
    /// SIGHUP: it reads the configuration of the node again all the same
    #[value(name = "HUP")]
    Hangup,
    /// SIGUSR1
    #[value(name = "USR1")]
    First,
    /// SIGUSR2
    #[value(name = "USR2")]
    Second,
}

impl Kept {
    fn raw(self) -> i32 {
        let kind = match self {
            Kept::Hangup => SignalKind::hangup(),
            Kept::First => SignalKind::user_defined1(),
            Kept::Second => SignalKind::user_defined2(),
        };
        kind.as_raw_value()
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    reload::listen(&[SignalKind::user_defined1(), SignalKind::user_defined2()])?;
    let (origin, overrides) = (args.origin.origin(), args.origin.overrides());
    origin.load(overrides, Exec(args)).map_err(Failure::configuration)?
}

struct Exec<'a>(&'a Args);

impl Visitor for Exec<'_> {
    type Output = Result<ExitCode, Failure>;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output {
        let args = self.0;
        if !config.groups().is_empty() {
            let problem = "groups: `exec` runs a command for one election: remove [groups], or use \
                           `run`, with hooks for each group";
            return Err(Failure::configuration(anyhow!(problem)));
        }
        let config = node::startable(config, args.new_cluster).map_err(Failure::configuration)?;
        args.check(C::NAME, C::shortest_lease(config.core())).map_err(Failure::configuration)?;
        args.command.first().map_or(Ok(()), |program| command::check(program))?;
        let cannot = |failure| Failure { status: CANNOT, ..failure };
        let started = log::start(&log, config.node()).map_err(cannot)?;
        let (origin, overrides) = (args.origin.origin(), args.origin.overrides());
        let reload = Reload::new(origin, overrides, &config, &log);
        let ended = started.conduct(take_part(args, config, &started, reload));
        ended.map_err(|error| Failure { status: CANNOT, error })
    }
}

impl Args {
    /// How much of a lease a command needs.
    fn least(&self) -> Duration {
        self.min_lease.max(self.grace + self.margin)
    }

    /// Whether a leader with the shortest lease that the timing promises has time for a command.
    fn check(&self, protocol: &str, shortest: Option<Duration>) -> anyhow::Result<()> {
        let shortest = shortest.ok_or_else(|| {
            anyhow!(
                "`exec` ends a command before the lease of its leader does, and with the protocol \
                 {protocol} a leader has none; run the protocol quorum or lease"
            )
        })?;
        let least = self.least();
        if least > shortest {
            let [least, shortest] = [least, shortest].map(format_duration);
            return Err(anyhow!(
                "a command needs {least} of the lease (--min-lease, or --grace and --margin \
                 together), and before each renewal only {shortest} of it are left (`lease` less \
                 `round`, or `hold` less `renew`); make `lease` and `promise` longer, or `hold` \
                 and `keep`, or those shorter"
            ));
        }
        Ok(())
    }
}

async fn take_part<C: Runnable>(
    args: &Args,
    config: Config<C>,
    started: &log::Started,
    mut again: Reload,
) -> anyhow::Result<u8> {
    let mut signals =
        Signals::new(&args.no_forward).map_err(|e| anyhow!("cannot listen for signals: {e}"))?;
    let asked = Notify::new();
    if reload::came() {
        asked.notify_one();
    }
    descendants::adopt().map_err(|e| anyhow!("cannot take over orphans: {e}"))?;
    let group = group::of_node(&config).await?;
    let name = config.label().map_or_else(|| config.node().to_string(), str::to_owned);
    let http = Http::listen(&config).await?;
    let checker = Checker::new(&config);
    let (mut election, hooks) = hooks::join(config).await?;
    let _checks = checker.start(vec![election.handle()], hooks.scripts.clone()).await;
    let options = http.serve(&election);
    service::ready();
    let told = service::keep_told(vec![election.handle()]);
    let replace = |credentials: config::Credentials| election.replace_credentials(credentials);
    let prefer = |priority| election.handle().set_priority(priority);
    let running = reload::Running {
        log: started,
        hooks: &hooks,
        replace_credentials: &replace,
        set_priority: &prefer,
    };
    let (scripts, group) = (&hooks.scripts, group.as_ref());
    let code = tokio::select! {
        code = commands(args, &election, &name, scripts, group, &mut signals, &asked) => code?,
        () = reloads(&mut again, &asked, &running, &options) => unreachable!("it goes on"),
        () = told => unreachable!("it goes on"),
    };
    let code = match code {
        Some(code) => code,
        None => {
            election.stopped().await?;
            CANNOT
        }
    };
    service::stopping();
    election.leave().await?;
    hooks.finish().await;
    Ok(code)
}

/// Reads the configuration again whenever that is asked for. Never returns.
async fn reloads(
    again: &mut Reload,
    asked: &Notify,
    running: &reload::Running<'_>,
    options: &Options,
) {
    loop {
        tokio::select! {
            () = asked.notified() => again.ask(),
            read = again.read() => again.finish(read, running, options),
        }
    }
}

/// Runs the command whenever the node leads, until this program is to end: with which status; none
/// if the node has stopped.
async fn commands(
    args: &Args,
    election: &Election,
    name: &str,
    scripts: &Scripts,
    group: Option<&Group>,
    signals: &mut Signals,
    reload: &Notify,
) -> anyhow::Result<Option<u8>> {
    let node = election.leadership().now().node;
    let mut backoff = BACKOFF[0];
    loop {
        let work = match wait(election, signals, args.least(), reload).await {
            Ok(work) => work,
            Err(status) => return Ok(status),
        };
        let epoch = work.guard().epoch().number();
        tracing::info!(node = node.get(), epoch, "starting the command");
        let began = Instant::now();
        // What came before the command was there is not for it.
        signals.forget();
        let running = Running::start(args, node, name, work.guard(), scripts.clone(), group)?;
        let ended = running.watch(&work, signals, reload).await?;
        // Every process of it is reaped. From here on another node may lead.
        drop(work);
        tracing::info!(node = node.get(), epoch, "the command {ended}");
        match ended {
            Ended::AsAsked(code) => return Ok(Some(code)),
            Ended::Lost if args.once => return Ok(Some(LOST)),
            Ended::Lost | Ended::NotStarted => {}
            Ended::ByItself(code) => {
                let again = match args.restart {
                    Restart::Never => false,
                    Restart::OnFailure => code != 0,
                    Restart::Always => true,
                };
                if !again {
                    return Ok(Some(code));
                }
                if began.elapsed() > BACKOFF[1] {
                    backoff = BACKOFF[0];
                }
                let over = Instant::now() + backoff;
                loop {
                    tokio::select! {
                        () = tokio::time::sleep_until(over.into()) => break,
                        asked = signals.while_waiting() => match asked {
                            SignalAction::End(signal) => return Ok(Some(by_signal(signal))),
                            _ => reload.notify_one(),
                        },
                    }
                }
                backoff = BACKOFF[1].min(backoff * 2);
            }
        }
    }
}

/// The exit status of a program that a signal has ended.
fn by_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Waits until the node leads, and so much of its lease is left. The error is the status with which
/// this program is to end; none if the node has stopped.
async fn wait(
    election: &Election,
    signals: &mut Signals,
    least: Duration,
    reload: &Notify,
) -> Result<Work, Option<u8>> {
    let leadership = election.leadership();
    let mut tick = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            asked = signals.while_waiting() => match asked {
                SignalAction::End(signal) => return Err(Some(by_signal(signal))),
                _ => reload.notify_one(),
            },
        }
        if leadership.is_over() {
            return Err(None);
        }
        let enough = |until: u64| until.saturating_sub(keeper::now()) >= nanoseconds(least);
        if let Some(work) = election.begin_work()
            && work.guard().until().is_some_and(|until| enough(until.as_nanos()))
        {
            return Ok(work);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The signals that are forwarded.
struct Signals {
    /// Those that ask this program to end.
    last: [(i32, Signal); 3],
    /// SIGHUP, which asks it to reload, and others.
    others: [(i32, Signal); 3],
    /// Those that the command does not get.
    kept: Vec<i32>,
}

/// What a signal asks for.
enum SignalAction {
    /// To end, by this signal.
    End(i32),
    /// To read the configuration again.
    Reload,
    /// To forward this one.
    Forward(i32),
}

impl Signals {
    fn new(kept: &[Kept]) -> std::io::Result<Self> {
        let listen = |kind: SignalKind| std::io::Result::Ok((kind.as_raw_value(), signal(kind)?));
        let all = |[a, b, c]: [SignalKind; 3]| -> std::io::Result<_> {
            Ok([listen(a)?, listen(b)?, listen(c)?])
        };
        let last = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()];
        let others =
            [SignalKind::hangup(), SignalKind::user_defined1(), SignalKind::user_defined2()];
        let kept = kept.iter().map(|signal| signal.raw()).collect();
        Ok(Self { last: all(last)?, others: all(others)?, kept })
    }

    /// Forgets those that are for a command alone, and have come before there was one.
    fn forget(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        for (_, signal) in &mut self.others[1..] {
            while let Poll::Ready(Some(())) = signal.poll_recv(&mut context) {}
        }
    }

    /// The next signal that asks something of this program itself. The others are for a command
    /// that runs.
    async fn while_waiting(&mut self) -> SignalAction {
        let Self { last, others: [hangup, ..], .. } = self;
        tokio::select! {
            signal = first(last) => SignalAction::End(signal),
            _ = hangup.1.recv() => SignalAction::Reload,
        }
    }

    /// The next signal, and what it asks for.
    async fn next(&mut self) -> SignalAction {
        let Self { last, others, .. } = self;
        tokio::select! {
            signal = first(last) => SignalAction::End(signal),
            signal = first(others) => match signal == SignalKind::hangup().as_raw_value() {
                true => SignalAction::Reload,
                false => SignalAction::Forward(signal),
            },
        }
    }

    /// Whether the command gets this one.
    fn forwards(&self, signal: i32) -> bool {
        !self.kept.contains(&signal)
    }
}

async fn first(signals: &mut [(i32, Signal); 3]) -> i32 {
    let [a, b, c] = signals;
    tokio::select! {
        _ = a.1.recv() => a.0,
        _ = b.1.recv() => b.0,
        _ = c.1.recv() => c.0,
    }
}
