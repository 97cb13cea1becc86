//! How the link to a peer is, for those who look after a node: when it breaks, why, and when it
//! heals.
//!
//! A link is two connections, one in each direction. It is up while this node has a connection to
//! the peer and hears it. It breaks when either ends, and heals when both are there again and the
//! peer was heard after the break. Each break and each heal is one line in the log, however many
//! attempts lie between them.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use humantime::format_duration;
use tokio::time::Instant;

use super::limiter::Source;
use super::peer::Peer;
use super::{Context, Links};
use crate::causes::causes;
use crate::protocol::NodeId;
use crate::report::LinkMeasurements;

/// How many links that are down are described when this node itself leads no longer.
const DESCRIBED: usize = 3;

/// From this long on, the milliseconds of a time are not told.
const LONG: Duration = Duration::from_secs(10);

/// Why a connection has ended, or could not be made.
#[derive(Debug)]
pub(crate) enum Cause {
    /// The other side has ended it in good order.
    HungUp,
    /// The system says so.
    Io(io::Error),
    /// Nothing was heard for so long.
    Silent(Duration),
    /// For so long, the other side has taken in nothing of what was sent.
    Stuck(Duration),
    /// Another process has the place of the one at the other end.
    Replaced,
    /// What was heard makes no sense.
    Nonsense(String),
}

impl Cause {
    /// Whether the other side has ended the connection.
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::HungUp | Self::Io(_))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HungUp => {
                f.write_str("it hung up: its process has ended, or has closed the connection")
            }
            Self::Io(error) => {
                f.write_str(&causes(error))?;
                meaning(error.kind()).map_or(Ok(()), |meaning| write!(f, ": {meaning}"))
            }
            Self::Silent(time) => {
                let time = format_duration(*time);
                write!(f, "nothing was heard for {time}: it is paused, cut off or slow")
            }
            Self::Stuck(time) => {
                let time = format_duration(*time);
                write!(f, "it takes in nothing for {time}: it is paused, cut off or slow")
            }
            Self::Replaced => f.write_str("another process has its place: it has restarted"),
            Self::Nonsense(problem) => f.write_str(problem),
        }
    }
}

/// What an error of this kind says about the process at the other end.
fn meaning(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::ConnectionRefused => Some("its process is gone"),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            Some("its process was killed or has restarted")
        }
        ErrorKind::UnexpectedEof => Some("its process has ended"),
        ErrorKind::TimedOut => Some("it is cut off or slow, or its machine is down"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            Some("the network is cut, or its machine is down")
        }
        _ => None,
    }
}

/// How the link to one peer is.
#[derive(Debug, Default)]
pub(crate) struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// There is a connection to the peer.
    connected: bool,
    /// The peer was heard since the link broke last, and the connection from it has not ended.
    hears: bool,
    /// Both of these, and the log was told if that is news.
    up: bool,
    /// When the peer was heard last.
    heard: Option<Instant>,
    breaks: u64,
    heals: u64,
    /// Since when the link is broken, and why.
    broken: Option<(Instant, String)>,
    /// How many attempts have failed since then; before the link was ever up, since the start.
    attempts: u64,
    /// When the latest of them failed, and why.
    failure: Option<(Instant, String)>,
}

/// A link has broken.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Break {
    /// The number of the break, from 1.
    number: u64,
    error: String,
    /// How long the peer had not been heard.
    silence: Duration,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken: {}; last heard {} ago", self.error, short(self.silence))
    }
}

/// A link is up again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heal {
    /// The number of the break that is over.
    number: u64,
    down: Duration,
    attempts: u64,
    /// Why the last of them failed.
    failure: Option<String>,
}

impl fmt::Display for Heal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "up again after {}", short(self.down))?;
        match &self.failure {
            Some(failure) => write!(f, " ({}, the last: {failure})", failed(self.attempts)),
            None => Ok(()),
        }
    }
}

impl State {
    /// Notes the end of a connection. Returns the break of the link if it was up.
    fn fall(&mut self, cause: &Cause) -> Option<Break> {
        self.hears = false;
        if !std::mem::take(&mut self.up) {
            return None;
        }
        let (now, error) = (Instant::now(), cause.to_string());
        self.breaks += 1;
        (self.attempts, self.failure) = (0, None);
        self.broken = Some((now, error.clone()));
        let silence = now.duration_since(self.heard.unwrap_or(now));
        Some(Break { number: self.breaks, error, silence })
    }

    /// Notes that the link is up, if it is. Returns its heal if it was broken before.
    fn rise(&mut self) -> Option<Heal> {
        if self.up || !self.connected || !self.hears {
            return None;
        }
        self.up = true;
        let attempts = std::mem::take(&mut self.attempts);
        let failure = self.failure.take().map(|(_, problem)| problem);
        let (since, _) = self.broken.take()?;
        self.heals += 1;
        Some(Heal { number: self.breaks, down: since.elapsed(), attempts, failure })
    }
}

impl Health {
    /// There is a connection to the peer.
    pub(super) fn connected(&self) -> Option<Heal> {
        let mut state = self.state();
        state.connected = true;
        state.rise()
    }

    /// The connection to the peer has ended.
    pub(super) fn disconnected(&self, cause: &Cause) -> Option<Break> {
        let mut state = self.state();
        state.connected = false;
        state.fall(cause)
    }

    /// The peer was heard.
    pub(super) fn heard(&self) -> Option<Heal> {
        let mut state = self.state();
        (state.hears, state.heard) = (true, Some(Instant::now()));
        state.rise()
    }

    /// The connection from the peer has ended.
    pub(super) fn unheard(&self, cause: &Cause) -> Option<Break> {
        self.state().fall(cause)
    }

    /// The peer could not be connected to.
    pub(super) fn attempt_failed(&self, problem: String) {
        let mut state = self.state();
        state.attempts += 1;
        state.failure = Some((Instant::now(), problem));
    }

    /// Whether the link is up.
    fn is_up(&self) -> bool {
        self.state().up
    }

    /// How the link is now, in words.
    pub(super) fn describe(&self) -> String {
        let state = self.state();
        let heard = match state.heard {
            Some(heard) => format!("last heard {} ago", short(heard.elapsed())),
            None => "never heard".to_owned(),
        };
        if state.up {
            return format!("up, {heard}");
        }
        let text = match &state.broken {
            Some((since, error)) => format!("broken for {}: {error}", short(since.elapsed())),
            None => "not up yet".to_owned(),
        };
        match &state.failure {
            Some((at, problem)) => {
                let (attempts, at) = (failed(state.attempts), short(at.elapsed()));
                format!("{text}; {heard}; {attempts}, the last {at} ago: {problem}")
            }
            None => format!("{text}; {heard}"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> Peer<M> {
    /// What is measured of the link.
    pub(super) fn measurements(&self) -> LinkMeasurements {
        let state = self.health.state();
        LinkMeasurements {
            node: self.id,
            up: state.up,
            breaks: state.breaks,
            heals: state.heals,
            silence: state.heard.map(|heard| heard.elapsed()),
            round_trip: self.round_trip.last(),
        }
    }
}

impl<M> Links<M> {
    /// What the links say about the loss of this leader: that to it; if it is this node, those that
    /// are down. Where a service says which node leads, it is what is wrong with that, if anything.
    pub(crate) fn explain_loss(&self, leader: NodeId) -> String {
        if let Some(problem) = self.service_problem() {
            return problem;
        }
        let tell = |peer: &Arc<Peer<M>>| format!("link to {}: {}", peer.id, peer.health.describe());
        let peers = self.peers.now();
        if let Some(peer) = peers.get(&leader) {
            return tell(peer);
        }
        let down: Vec<_> = peers.values().filter(|peer| !peer.health.is_up()).collect();
        let mut told: Vec<String> = down.iter().copied().take(DESCRIBED).map(tell).collect();
        if down.len() > DESCRIBED {
            told.push(format!("{} more links are down", down.len() - DESCRIBED));
        }
        if told.is_empty() { "all links are up".to_owned() } else { told.join("; ") }
    }
}

impl<M> Context<M> {
    /// Logs that a link has broken, if it has.
    pub(super) fn log_break(&self, peer: &Peer<M>, broken: Option<Break>) {
        let Some(broken) = broken else { return };
        let (node, id, address) = (self.hello.node.get(), peer.id.get(), &peer.address);
        let (error, heard_ms) = (broken.error.as_str(), milliseconds(broken.silence));
        if self.admits_line(Source::Link(peer.id), &format!("break {}", broken.number)) {
            tracing::warn!(
                node, peer = id, %address, error, heard_ms, "link to {id} ({address}) is {broken}"
            );
        } else {
            tracing::debug!(node, peer = id, error, heard_ms, "link to {id} is {broken}");
        }
    }

    /// Logs that a link is up again, if it is.
    pub(super) fn log_heal(&self, peer: &Peer<M>, heal: Option<Heal>) {
        let Some(heal) = heal else { return };
        let (node, id, address) = (self.hello.node.get(), peer.id.get(), &peer.address);
        let (down_ms, attempts) = (milliseconds(heal.down), heal.attempts);
        if self.admits_line(Source::Link(peer.id), &format!("heal {}", heal.number)) {
            tracing::info!(
                node, peer = id, %address, down_ms, attempts, "link to {id} ({address}) is {heal}"
            );
        } else {
            tracing::debug!(node, peer = id, down_ms, attempts, "link to {id} is {heal}");
        }
    }
}

/// A number of attempts, all of which have failed, in words.
fn failed(attempts: u64) -> String {
    let noun = if attempts == 1 { "attempt" } else { "attempts" };
    format!("{attempts} {noun} failed")
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A time in words, without what is too small to matter.
fn short(time: Duration) -> impl fmt::Display {
    format_duration(if time < LONG {
        Duration::from_millis(milliseconds(time))
    } else {
        Duration::from_secs(time.as_secs())
    })
}

#[cfg(test)]
mod tests;
