//! A command that runs, as the node sees it: through its keeper.

use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use bellwether::{Guard, NodeId, Work};
use bellwether_core::protocol::Time;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;

use super::super::script::Scripts;
use super::super::{itself, service};
use super::descendants::Killing;
use super::group::Group;
use super::{Args, CANNOT, LOOK, SignalAction, Signals, by_signal, keeper, nanoseconds};

/// How much longer than it may need the keeper is waited for, before it is taken for stopped.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// How long to wait at first until what was killed has ended.
const KILLED: Duration = Duration::from_millis(2);

/// How a command ended; every process that it had started has ended, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With this exit status.
    ByItself(u8),
    /// With this exit status, after this program was asked to end.
    AsAsked(u8),
    /// Because this node leads no longer, or is about to.
    Lost,
    /// It was not started: too little of the lease was left by then.
    NotStarted,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::ByItself(code) => write!(f, "has ended with exit status {code}"),
            Ended::AsAsked(code) => write!(f, "has ended as asked, with exit status {code}"),
            Ended::Lost => f.write_str("was ended, as the leadership is lost"),
            Ended::NotStarted => f.write_str("was not started: too little of the lease was left"),
        }
    }
}

/// A command and its keeper.
pub(super) struct Running {
    node: NodeId,
    keeper: Child,
    answers: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
    /// The hooks of the node, which are no part of the command.
    scripts: Scripts,
    /// The cgroup that the command is in.
    group: Option<PathBuf>,
    /// Until when the keeper believes that the lease lasts.
    until: u64,
    grace: Duration,
    /// How long before the end of the lease the keeper is not waited for any more.
    margin: u64,
    stop_timeout: Duration,
    /// The signal by which this program was asked to end.
    asked: Option<i32>,
    lost: bool,
    /// When a keeper that was told to end the command must have done so.
    hopeless: Option<Instant>,
}

impl Running {
    /// Starts the command of the leader with this name.
    pub(super) fn start(
        args: &Args,
        node: NodeId,
        name: &str,
        guard: &Guard,
        scripts: Scripts,
        group: Option<&Group>,
    ) -> anyhow::Result<Self> {
        let (ours, theirs) = Socket::pair().map_err(|e| anyhow!("no socket: {e}"))?;
        ours.set_nonblocking(true)?;
        // A guard that is not valid any more has no instant left: the keeper then starts nothing.
        let until = guard.until().map_or(0, Time::as_nanos);
        let group = group.map(|group| group.path().to_owned());
        let mut command = itself::command().map_err(|e| anyhow!("cannot find myself: {e}"))?;
        command.arg("exec-keeper");
        for (name, value) in [
            ("--until", until),
            ("--least", nanoseconds(args.least())),
            ("--grace", nanoseconds(args.grace)),
            ("--margin", nanoseconds(args.margin)),
        ] {
            command.arg(name).arg(value.to_string());
        }
        if let Some(group) = &group {
            command.arg("--group").arg(group);
        }
        command.arg("--").args(&args.command);
        command
            .env("BELLWETHER_EPOCH", guard.epoch().number().to_string())
            .env("BELLWETHER_LEADER", name)
            .env("BELLWETHER_LEASE_UNTIL", until.to_string());
        for name in service::VARIABLES {
            command.env_remove(name);
        }
        command.stdin(Stdio::from(OwnedFd::from(theirs))).process_group(0);
        let keeper = command.spawn().map_err(|e| anyhow!("cannot start the keeper: {e}"))?;
        let (answers, orders) = UnixStream::from_std(ours)?.into_split();
        Ok(Self {
            node,
            keeper,
            answers: BufReader::new(answers).lines(),
            orders,
            scripts,
            group,
            until,
            grace: args.grace,
            margin: nanoseconds(args.margin) / 2,
            stop_timeout: args.stop_timeout,
            asked: None,
            lost: false,
            hopeless: None,
        })
    }

    /// Renews the lease of the command as long as the node leads, and forwards signals, until the
    /// command has ended. SIGHUP also asks for a reload, which nothing here waits for.
    pub(super) async fn watch(
        mut self,
        work: &Work,
        signals: &mut Signals,
        reload: &Notify,
    ) -> anyhow::Result<Ended> {
        let mut tick = tokio::time::interval(LOOK);
        let answer = loop {
            tokio::select! {
                line = self.answers.next_line() => break line.ok().flatten(),
                asked = signals.next() => match asked {
                    SignalAction::End(signal) => self.end(signal).await,
                    SignalAction::Reload => {
                        reload.notify_one();
                        self.forward(Signal::HUP.as_raw(), signals).await;
                    }
                    SignalAction::Forward(signal) => self.forward(signal, signals).await,
                },
                () = work.asked_to_end(), if !self.lost => {}
                _ = tick.tick() => {}
            }
            self.renew(work).await;
            if self.keeper_is_gone() {
                let node = self.node.get();
                tracing::warn!(
                    node,
                    "the keeper of the command does not answer: killing the command"
                );
                break None;
            }
        };
        self.clean_up(answer.is_none()).await?;
        let code = |word: &str| answer.as_ref()?.strip_prefix(word)?.trim().parse::<u8>().ok();
        let (ended, started) = (code("ended"), code("late").is_none());
        Ok(match self.asked {
            Some(signal) if !started => Ended::AsAsked(by_signal(signal)),
            Some(_) => Ended::AsAsked(ended.or(code("lost")).unwrap_or(CANNOT)),
            None if !started => Ended::NotStarted,
            None => match ended {
                Some(code) if !self.lost => Ended::ByItself(code),
                _ => Ended::Lost,
            },
        })
    }

    /// Tells the keeper until when the lease lasts, and that the command is to end because the node
    /// is about to lead no longer, or leads no longer.
    async fn renew(&mut self, work: &Work) {
        let until = work.guard().until().map(Time::as_nanos);
        if let Some(until) = until.filter(|&until| until > self.until) {
            self.until = until;
            self.order(&format!("until {until}")).await;
        }
        if !self.lost && work.is_asked_to_end() {
            self.lost = true;
            // Of a lease that is over, no time is left.
            let grace = until.map_or(Duration::ZERO, |_| self.grace);
            let signal = Signal::TERM.as_raw();
            self.order(&format!("stop {signal} {}", nanoseconds(grace))).await;
            self.give_up_after(grace);
        }
    }

    async fn forward(&mut self, signal: i32, signals: &Signals) {
        if signals.forwards(signal) {
            self.order(&format!("signal {signal}")).await;
        }
    }

    async fn end(&mut self, signal: i32) {
        service::stopping();
        self.asked = Some(signal);
        let after = self.stop_timeout;
        self.order(&format!("stop {signal} {}", nanoseconds(after))).await;
        self.give_up_after(after);
    }

    fn give_up_after(&mut self, after: Duration) {
        let at = Instant::now() + after + ANSWER_TIMEOUT;
        self.hopeless = Some(self.hopeless.map_or(at, |earlier| earlier.min(at)));
    }

    /// Whether the keeper should have ended the command, and has not. What is left of the margin is
    /// the time to do that here.
    fn keeper_is_gone(&self) -> bool {
        let latest = self.until.saturating_sub(self.margin);
        keeper::now() >= latest || self.hopeless.is_some_and(|at| Instant::now() >= at)
    }

    /// A keeper that is gone needs no order; its answer, or that there is none, tells.
    async fn order(&mut self, line: &str) {
        let _ = self.orders.write_all(format!("{line}\n").as_bytes()).await;
    }

    /// Waits for the keeper, or kills it, and then kills what it has left behind.
    async fn clean_up(&mut self, kill: bool) -> anyhow::Result<()> {
        if kill {
            let _ = self.keeper.kill();
        }
        self.keeper.wait().map_err(|e| anyhow!("cannot wait for the keeper: {e}"))?;
        let mut killing = Killing::new(KILLED, self.group.clone());
        loop {
            let (none_is_left, complaint) = killing.kill_all_but(&self.scripts.all());
            if let Some(complaint) = complaint {
                tracing::warn!(node = self.node.get(), "{complaint}");
            }
            if none_is_left {
                return Ok(());
            }
            tokio::time::sleep(killing.pause()).await;
        }
    }
}
