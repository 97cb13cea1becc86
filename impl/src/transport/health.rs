//! How the link to a peer is, for those who look after a node: when it breaks, why, and when it
//! heals.
//!
//! A link is two connections, one in each direction. It is up while this node has a connection to
//! the peer and hears it. It breaks when either ends, and heals when both are there again and the
//! peer was heard after the break. Each break and each heal is one line in the log, however many
//! attempts lie between them.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bellwether_stores::causes::causes;
use humantime::format_duration;
use tokio::time::Instant;

use super::limiter::Source;
use super::peer::Peer;
use super::{Context, Links};
use crate::lock::lock;
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
        let mut state = lock(&self.0);
        state.connected = true;
        state.rise()
    }

    /// The connection to the peer has ended.
    pub(super) fn disconnected(&self, cause: &Cause) -> Option<Break> {
        let mut state = lock(&self.0);
        state.connected = false;
        state.fall(cause)
    }

    /// The peer was heard.
    pub(super) fn heard(&self) -> Option<Heal> {
        let mut state = lock(&self.0);
        (state.hears, state.heard) = (true, Some(Instant::now()));
        state.rise()
    }

    /// The connection from the peer has ended.
    pub(super) fn unheard(&self, cause: &Cause) -> Option<Break> {
        lock(&self.0).fall(cause)
    }

    /// The peer could not be connected to.
    pub(super) fn attempt_failed(&self, problem: String) {
        let mut state = lock(&self.0);
        state.attempts += 1;
        state.failure = Some((Instant::now(), problem));
    }

    /// How the link is now, in words.
    pub(super) fn describe(&self) -> String {
        let state = lock(&self.0);
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
}

impl<M> Peer<M> {
    /// What is measured of the link.
    pub(super) fn measurements(&self) -> LinkMeasurements {
        let state = lock(&self.health.0);
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
    /// are down. Where a store says which node leads, it is the problem of the store, if any.
    pub(crate) fn explain_loss(&self, leader: NodeId) -> String {
        if let Some(problem) = self.store_view().and_then(|store| store.problem) {
            return problem;
        }
        let tell = |peer: &Arc<Peer<M>>| format!("link to {}: {}", peer.id, peer.health.describe());
        let peers = self.peers.now();
        if let Some(peer) = peers.get(&leader) {
            return tell(peer);
        }
        let down: Vec<_> = peers.values().filter(|peer| !lock(&peer.health.0).up).collect();
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
mod tests {
    use super::*;
    use crate::clock::tests::ManualClock;
    use crate::config::Address;
    use crate::driver::tests::id;

    const MS: Duration = Duration::from_millis(1);

    fn io(kind: ErrorKind) -> Cause {
        Cause::Io(kind.into())
    }

    async fn after(time: Duration) {
        tokio::time::advance(time).await;
    }

    /// A link that is up, and the peer of which was heard so long ago.
    async fn up(silence: Duration) -> Health {
        let health = Health::default();
        assert_eq!(health.connected(), None);
        assert_eq!(health.heard(), None, "it was not broken");
        after(silence).await;
        health
    }

    #[tokio::test(start_paused = true)]
    async fn a_break_is_one_whichever_connection_ends_first_and_however_many_attempts_fail() {
        let health = up(40 * MS).await;
        let broken = health.unheard(&io(ErrorKind::ConnectionReset)).expect("a break");
        let error = "connection reset: its process was killed or has restarted";
        assert_eq!(broken.to_string(), format!("broken: {error}; last heard 40ms ago"));
        assert_eq!(health.disconnected(&Cause::HungUp), None, "the same break");
        for _ in 0..3 {
            after(4_000 * MS).await;
            health.attempt_failed(io(ErrorKind::ConnectionRefused).to_string());
        }
        assert_eq!(health.connected(), None, "it is not heard");
        let heal = health.heard().expect("both are there");
        let text = "up again after 12s (3 attempts failed, the last: connection refused: its \
                    process is gone)";
        assert_eq!(heal.to_string(), text);
        assert_eq!(health.heard(), None, "once");
        let state = lock(&health.0);
        assert_eq!((state.breaks, state.heals, state.up), (1, 1, true));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_heard_before_a_break_heals_nothing() {
        let health = up(MS).await;
        assert!(health.disconnected(&Cause::Stuck(1_000 * MS)).is_some());
        // The machine at the other end is gone, and its old connection still seems to be there.
        assert_eq!(health.connected(), None);
        after(300 * MS).await;
        let heal = health.heard().expect("now it is heard");
        assert_eq!(heal.to_string(), "up again after 300ms", "no attempt has failed");
        assert_eq!(heal.number, 1);
        assert!(health.unheard(&Cause::HungUp).is_some_and(|broken| broken.number == 2));
        assert!(health.heard().is_some(), "the other connection has lasted");
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_that_was_never_up_breaks_and_heals_without_a_word() {
        let health = Health::default();
        health.attempt_failed("it hung up".to_owned());
        let text = "not up yet; never heard; 1 attempt failed, the last 0s ago: it hung up";
        assert_eq!(health.describe(), text);
        assert_eq!(health.connected(), None);
        assert_eq!(health.disconnected(&Cause::HungUp), None);
        assert_eq!(health.connected(), None);
        assert_eq!(health.heard(), None);
        assert!(lock(&health.0).up);
        assert_eq!(lock(&health.0).breaks, 0);
    }

    /// Killed, restarted, paused, cut off: the text says which.
    #[test]
    fn each_cause_says_what_it_means() {
        let time = Duration::from_secs(15);
        for (cause, says, ends) in [
            (Cause::HungUp, "its process has ended", true),
            (io(ErrorKind::ConnectionReset), "killed or has restarted", true),
            (io(ErrorKind::BrokenPipe), "killed or has restarted", true),
            (io(ErrorKind::ConnectionRefused), "its process is gone", true),
            (io(ErrorKind::UnexpectedEof), "its process has ended", true),
            (io(ErrorKind::TimedOut), "it is cut off or slow, or its machine is down", true),
            (io(ErrorKind::HostUnreachable), "the network is cut", true),
            (
                Cause::Silent(time),
                "nothing was heard for 15s: it is paused, cut off or slow",
                false,
            ),
            (Cause::Stuck(time), "takes in nothing for 15s: it is paused, cut off or slow", false),
            (Cause::Replaced, "it has restarted", false),
            (Cause::Nonsense("malformed frame".to_owned()), "malformed frame", false),
        ] {
            assert!(cause.to_string().contains(says), "{cause}");
            assert_eq!(cause.is_end(), ends, "{cause}");
        }
        assert_eq!(io(ErrorKind::OutOfMemory).to_string(), "out of memory");
        let manual = io::Error::new(ErrorKind::UnexpectedEof, "see https://docs.rs/rustls");
        let ended = "the other side closed the connection: its process has ended";
        assert_eq!(Cause::Io(manual).to_string(), ended);
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_is_described_by_what_is_known_of_it() {
        let health = up(612 * MS).await;
        assert_eq!(health.describe(), "up, last heard 612ms ago");
        assert!(health.unheard(&Cause::HungUp).is_some());
        after(5 * MS).await;
        let hung_up = "it hung up: its process has ended, or has closed the connection";
        let text = format!("broken for 5ms: {hung_up}; last heard 617ms ago");
        assert_eq!(health.describe(), text);
        health.attempt_failed(io(ErrorKind::ConnectionRefused).to_string());
        after(12 * MS).await;
        let text = format!(
            "broken for 17ms: {hung_up}; last heard 629ms ago; 1 attempt failed, the last 12ms \
             ago: connection refused: its process is gone"
        );
        assert_eq!(health.describe(), text);
    }

    #[tokio::test(start_paused = true)]
    async fn the_loss_of_a_leader_is_explained_by_its_link_and_of_this_node_by_those_that_are_down()
    {
        let address: Address = "10.0.0.1:7400".parse().expect("an address");
        let others = (2..=7).map(|number| (id(number), &address));
        let links = Links::<()>::new(1, others, MS, ManualClock::new());
        for peer in links.peers.now().values().filter(|peer| peer.id != id(7)) {
            assert_eq!((peer.health.connected(), peer.health.heard()), (None, None));
        }
        assert_eq!(links.explain_loss(id(3)), "link to 3: up, last heard 0s ago");
        assert_eq!(links.explain_loss(id(1)), "link to 7: not up yet; never heard");
        assert!(links.peers.now()[&id(7)].health.connected().is_none());
        assert!(links.peers.now()[&id(7)].health.heard().is_none());
        assert_eq!(links.explain_loss(id(1)), "all links are up");
        for peer in links.peers.now().values() {
            assert!(peer.health.unheard(&Cause::HungUp).is_some());
        }
        let text = links.explain_loss(id(1));
        assert!(text.starts_with("link to 2: broken for 0s: it hung up"), "{text}");
        assert!(text.contains("; link to 4: ") && !text.contains("link to 5"), "{text}");
        assert!(text.ends_with("; 3 more links are down"), "{text}");
    }

    #[test]
    fn a_time_is_told_as_exactly_as_it_matters() {
        for (time, text) in [
            (Duration::from_micros(40_900), "40ms"),
            (Duration::from_millis(9_999), "9s 999ms"),
            (Duration::from_millis(12_345), "12s"),
            (Duration::ZERO, "0s"),
        ] {
            assert_eq!(short(time).to_string(), text);
        }
    }
}
