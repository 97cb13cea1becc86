//! `bellwether exec-keeper`: the process that ends a command in time, whatever happens to the node.
//!
//! The node can be stopped (SIGSTOP), and can end. So another process watches the clock: it starts
//! the command, hears from the node until when the lease lasts, and ends the command before that
//! unless it hears of a later instant. If this process ends as well, the kernel ends the command.
//! Orders and the answer are lines on its standard input, a socket:
//!
//! | line | meaning |
//! |---|---|
//! | `until NS` | the lease lasts until this instant |
//! | `signal N` | forward this signal |
//! | `stop N NS` | send this signal, and kill after so long |
//! | `ended CODE` | the answer: the command has ended, by itself or as it was asked to |
//! | `lost CODE` | the answer: it was ended as the lease was running out |
//! | `late 0` | the answer: it was not started, as too little of the lease was left |
//!
//! Instants are nanoseconds of a clock that goes on while the machine sleeps.

use std::ffi::OsString;
use std::io::BufRead;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::time::{ClockId, clock_gettime};
use tokio::signal::unix::{SignalKind, signal};

use super::command::{self, CANNOT_START};
use super::descendants::{self, Killing};
use crate::{Failure, itself, log};

/// How long between two looks at the clock and at the command.
const LOOK: Duration = Duration::from_millis(5);

/// Keep a command while a lease lasts; `bellwether exec` starts this
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Until when the lease lasts, in nanoseconds of `CLOCK_BOOTTIME`
    #[arg(long)]
    until: u64,

    /// How much of it must be left to start the command, in nanoseconds
    #[arg(long)]
    least: u64,

    /// How long before it is killed the command is asked to end, in nanoseconds
    #[arg(long)]
    grace: u64,

    /// How long before the end of the lease it is killed, in nanoseconds
    #[arg(long)]
    margin: u64,

    /// The folder of the cgroup that the command is to be in
    #[arg(long)]
    group: Option<PathBuf>,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Nanoseconds of `CLOCK_BOOTTIME`.
pub(super) fn now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    itself::take_name();
    descendants::adopt().map_err(Failure::runtime)?;
    let _deaf = deaf().map_err(Failure::runtime)?;
    if args.until < now().saturating_add(args.least) {
        answer("late 0");
        return Ok(ExitCode::SUCCESS);
    }
    let started = || -> std::io::Result<_> {
        let orders = orders()?;
        let mut command = command::started(args.group.as_deref())?;
        Ok((orders, command.args(&args.command).process_group(0).spawn()?))
    };
    let (orders, child) = match started() {
        Ok(started) => started,
        Err(error) => {
            log::complain(&format!("cannot start what is to run the command: {error}"));
            answer(&format!("ended {CANNOT_START}"));
            return Ok(ExitCode::from(CANNOT_START));
        }
    };
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let child = child.ok_or_else(|| Failure::runtime(anyhow::anyhow!("no process number")))?;
    let keeper = Keeper {
        child,
        code: None,
        until: args.until,
        grace: args.grace,
        margin: args.margin,
        end: None,
        killing: Killing::new(LOOK, args.group.clone()),
    };
    let (lost, code) = keeper.keep(&orders);
    answer(&format!("{} {code}", if lost { "lost" } else { "ended" }));
    Ok(ExitCode::from(code))
}

/// Takes no notice of the signals that are sent to whole groups of services: the node, which gets
/// them too, says what is to be done.
fn deaf() -> std::io::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let _heard = signal(kind)?;
    }
    drop(entered);
    Ok(runtime)
}

/// Tells the node. If it is gone, no process is left to be told.
fn answer(line: &str) {
    let _ = rustix::io::write(std::io::stdin(), format!("{line}\n").as_bytes());
}

/// What the node asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeeperCommand {
    Until(u64),
    Forward(Signal),
    Stop(Signal, u64),
}

impl KeeperCommand {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let word = words.next()?;
        let mut number = || words.next()?.parse::<u64>().ok();
        let named = |raw: u64| Signal::from_named_raw(i32::try_from(raw).ok()?);
        Some(match word {
            "until" => KeeperCommand::Until(number()?),
            "signal" => KeeperCommand::Forward(named(number()?)?),
            "stop" => KeeperCommand::Stop(named(number()?)?, number()?),
            _ => return None,
        })
    }
}

/// What the node says, as it comes; the channel closes when the node is gone.
fn orders() -> std::io::Result<Receiver<KeeperCommand>> {
    let (to, from) = channel();
    thread::Builder::new().spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if let Some(order) = KeeperCommand::parse(&line)
                && to.send(order).is_err()
            {
                return;
            }
        }
    })?;
    Ok(from)
}

/// Why the command and what it left behind are being ended.
#[derive(Clone, Copy, Debug)]
struct End {
    lost: bool,
    kill_at: u64,
}

/// A command that runs. All times are nanoseconds.
struct Keeper {
    child: Pid,
    code: Option<u8>,
    until: u64,
    grace: u64,
    margin: u64,
    end: Option<End>,
    killing: Killing,
}

impl Keeper {
    /// Returns when no process is left; whether the lease was running out, and the exit status.
    fn keep(mut self, orders: &Receiver<KeeperCommand>) -> (bool, u8) {
        loop {
            let child = self.child;
            let gone = descendants::reap(|ended, code| {
                if ended == child {
                    self.code = Some(code);
                }
            });
            if gone {
                let lost = self.end.is_some_and(|end| end.lost);
                return (lost, self.code.unwrap_or(u8::MAX));
            }
            self.look(now());
            match orders.recv_timeout(self.killing.pause()) {
                Ok(order) => self.obey(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The node is gone. What it led it leads no more.
                    self.end(Signal::TERM, true, self.grace);
                    thread::sleep(self.killing.pause());
                }
            }
        }
    }

    fn obey(&mut self, order: KeeperCommand) {
        match order {
            KeeperCommand::Until(until) => self.until = until,
            KeeperCommand::Forward(signal) => self.signal(signal),
            KeeperCommand::Stop(signal, after) => self.end(signal, false, after),
        }
    }

    fn look(&mut self, now: u64) {
        if now.saturating_add(self.grace + self.margin) >= self.until {
            self.end(Signal::TERM, true, self.grace);
        } else if self.code.is_some() {
            self.end(Signal::TERM, false, self.grace);
        }
        let latest = self.until.saturating_sub(self.margin);
        if self.end.is_some_and(|end| now >= end.kill_at.min(latest)) {
            self.signal(Signal::KILL);
            if let Some(complaint) = self.killing.kill_all() {
                log::complain(&complaint);
            }
        }
    }

    /// Asks everything to end that is left, once, and has it killed after so long.
    fn end(&mut self, signal: Signal, lost: bool, after: u64) {
        let kill_at = now().saturating_add(after);
        match &mut self.end {
            Some(end) => end.kill_at = end.kill_at.min(kill_at),
            None => {
                self.end = Some(End { lost, kill_at });
                self.signal(signal);
                if self.code.is_some() {
                    descendants::signal_children(signal);
                }
                // One that is stopped would not hear of it.
                self.signal(Signal::CONT);
            }
        }
    }

    /// Sends a signal to the group of the command; no more once it has been reaped, as its number
    /// may then be another's.
    fn signal(&self, signal: Signal) {
        if self.code.is_none() {
            let _ = kill_process_group(self.child, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_lines() {
        assert_eq!(KeeperCommand::parse("until 17"), Some(KeeperCommand::Until(17)));
        assert_eq!(KeeperCommand::parse("signal 1"), Some(KeeperCommand::Forward(Signal::HUP)));
        assert_eq!(KeeperCommand::parse("stop 15 20"), Some(KeeperCommand::Stop(Signal::TERM, 20)));
        for nonsense in ["", "until", "until x", "signal 9999", "stop 15", "go 1"] {
            assert_eq!(KeeperCommand::parse(nonsense), None, "{nonsense}");
        }
    }
}
