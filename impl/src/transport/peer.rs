//! The state of one other node, without I/O: each method takes an event and the time, and says what
//! follows from it.
//!
//! A link is two connections, one in each direction. It is up while this node has a connection to
//! the peer and hears it. It breaks when either ends, and heals when both are there again and the
//! peer was heard after the break. Each break and each heal is one line in the log, however many
//! attempts lie between them.
//!
//! Two signs together say that the process of a peer is gone: it has ended the connection on which
//! it spoke, and its address refuses another one. A single sign is none. A reset can come from a
//! router that has forgotten the connection, and a refusal from a process that is about to listen.
//! Both together can still be wrong, behind a firewall that refuses for example. So they are a
//! reason not to wait for the peer any longer, and never a proof that it does nothing.
//!
//! A connection carries frames in one direction. So a ping goes out on the connection to the peer,
//! and its answer arrives on the connection from the peer. Both pass through the queues and the
//! runtimes of both nodes, as messages do: their time is what the protocol sees, not what the
//! network alone takes.

use std::fmt;
use std::mem::take;
use std::time::Duration;

use humantime::format_duration;

use super::cause::Cause;
use super::connect::Backoff;
use super::facts::NodeFacts;
use super::frame::Frame;
use super::outbox::Outbox;
use crate::protocol::{NodeId, Time};
use crate::report::{Link, LinkMeasurements};

/// The longest description of a problem that is kept, in bytes, so that a status fits into a frame.
pub(crate) const LONGEST_PROBLEM: usize = 160;

/// From this long on, the milliseconds of a time are not told.
const LONG: Duration = Duration::from_secs(10);

/// The state of another member of the cluster.
pub(super) struct Peer<M> {
    /// The messages for it, each with its number and that of its group.
    pub(super) outbox: Outbox<Frame<M>>,
    pub(super) sent: u64,
    pub(super) received: u64,
    link: Link,
    /// What is wrong with the connection to the peer.
    problem: Option<String>,
    /// Why there was no connection to it last, and when that was found.
    error: Option<(Time, String)>,
    /// Since when there is a connection to the peer, if there is one.
    since: Time,
    backoff: Backoff,
    /// When the peer is called next, if there is no connection to it.
    call_at: Time,
    pub(super) due: Due,
    /// The process that holds the incoming connection from the peer.
    caller: Option<Caller>,
    /// How many connections from the peer were let in.
    connections: u64,
    pub(super) signs: Signs,
    pub(super) health: Health,
    pings: Pings,
}

/// How the link is, for those who look after a node.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// The peer was heard since the link broke last, and the connection from it has not ended.
    hears: bool,
    /// There is a connection to the peer and it is heard, and the log was told if that is news.
    pub(super) up: bool,
    /// When the peer was heard last.
    heard: Option<Time>,
    breaks: u64,
    heals: u64,
    /// Since when the link is broken, and why.
    broken: Option<(Time, String)>,
    /// How many attempts have failed since then; before the link was ever up, since the start.
    attempts: u64,
    /// When the latest of them failed, and why.
    failure: Option<(Time, String)>,
}

/// The pings to the peer.
#[derive(Debug)]
struct Pings {
    /// The number of the latest.
    number: u8,
    /// When the next one is due.
    due: Time,
    /// When the latest was sent, until it is answered.
    sent: Option<Time>,
    /// How long the latest answer took.
    took: Option<Duration>,
}

/// What is due on the connection to the peer besides messages: at most one of each kind.
#[derive(Debug, Default)]
pub(super) struct Due {
    pub(super) beat: bool,
    /// The peer is to be told that this node led at the same time.
    pub(super) rival: bool,
    /// What this node says of itself, if the peer was not told yet.
    pub(super) facts: Option<NodeFacts>,
    /// The ping of the peer that is to be answered, whatever the peer has sent before.
    pong: Option<u8>,
    /// Another process took the peer's place: the connection to the one before leads nowhere.
    renewed: bool,
}

/// The signs that the process of the peer is gone.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// The peer has ended its latest connection, and that had lasted.
    ended: bool,
    /// The address of the peer has refused the latest attempt.
    pub(super) refused: bool,
}

#[derive(Debug)]
struct Caller {
    incarnation: u64,
    /// The number of its connection.
    number: u64,
    since: Time,
}

/// A line for the log about a link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The link has broken. The number counts the breaks from 1, and the silence is how long the
    /// peer had not been heard.
    Broken { number: u64, error: String, silence: Duration },
    /// The link is up again after the break with this number. The failure is that of the last
    /// attempt.
    Healed { number: u64, down: Duration, attempts: u64, failure: Option<String> },
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { error, silence, .. } => {
                write!(f, "broken: {error}; last heard {} ago", short(*silence))
            }
            Self::Healed { down, attempts, failure, .. } => {
                write!(f, "up again after {}", short(*down))?;
                match failure {
                    Some(failure) => write!(f, " ({}, the last: {failure})", failed(*attempts)),
                    None => Ok(()),
                }
            }
        }
    }
}

impl<M> Peer<M> {
    /// Returns a peer to which nothing was sent, and that is to be called at once.
    pub(super) fn new(outbox: Outbox<Frame<M>>, backoff: Backoff) -> Self {
        Self {
            outbox,
            sent: 0,
            received: 0,
            link: Link::Connecting,
            problem: None,
            error: None,
            since: Time::ZERO,
            backoff,
            call_at: Time::ZERO,
            due: Due::default(),
            caller: None,
            connections: 0,
            signs: Signs::default(),
            health: Health::default(),
            pings: Pings { number: 0, due: Time::ZERO, sent: None, took: None },
        }
    }

    /// Decides whether the peer is to be called now; if not, the error is when.
    pub(super) fn call(&self, now: Time) -> Result<(), Time> {
        if now < self.call_at { Err(self.call_at) } else { Ok(()) }
    }

    /// Notes that the peer could not be connected to. Returns whether the problem is news.
    pub(super) fn attempt_failed(&mut self, now: Time, link: Link, problem: String) -> bool {
        self.health.attempts += 1;
        self.health.failure = Some((now, problem.clone()));
        self.call_at = now + self.backoff.next();
        self.set_link(now, link, Some(problem))
    }

    /// Notes that there is a connection to the peer. The peer is configured in another way if
    /// something `differs`, and is told these facts.
    pub(super) fn connected(
        &mut self,
        now: Time,
        differs: Option<String>,
        facts: NodeFacts,
    ) -> Option<News> {
        self.backoff.reset();
        self.set_link(now, Link::Connected, differs);
        (self.since, self.pings.due, self.due.facts) = (now, now, Some(facts));
        self.due.renewed = false;
        self.rise(now)
    }

    /// Notes that the connection to the peer has ended.
    pub(super) fn disconnected(
        &mut self,
        now: Time,
        cause: &Cause,
        steady: Duration,
    ) -> Option<News> {
        self.set_link(now, Link::Connecting, None);
        (self.pings.sent, self.pings.took) = (None, None);
        // Whether a process is still there is worth knowing at once.
        let is_steady = now.since(self.since) >= steady;
        self.call_at = if is_steady { now } else { now + self.backoff.next() };
        self.fall(now, cause)
    }

    /// Takes what is to be sent next on the connection to the peer, or why the connection is to be
    /// ended. If nothing is due yet, the error is until when. A ping is due again after `quiet`.
    pub(super) fn next(
        &mut self,
        now: Time,
        quiet: Duration,
    ) -> Result<Result<Frame<M>, Cause>, Time> {
        self.outbox.taken = false;
        // Before the messages: however many there are, the peer hears that this node is up.
        if take(&mut self.due.beat) {
            return Ok(Ok(Frame::Heartbeat));
        }
        if take(&mut self.due.renewed) {
            return Ok(Err(Cause::Replaced));
        }
        let message = self.another(now);
        let frame = message
            .or_else(|| take(&mut self.due.rival).then_some(Frame::Rival))
            .or_else(|| self.due.facts.take().map(Frame::NodeFacts))
            .or_else(|| self.due.pong.take().map(Frame::Pong));
        match frame {
            Some(frame) => Ok(Ok(frame)),
            None if now < self.pings.due => Err(self.pings.due),
            None => {
                self.pings.number = self.pings.number.wrapping_add(1);
                (self.pings.sent, self.pings.due) = (Some(now), now + quiet);
                Ok(Ok(Frame::Ping(self.pings.number)))
            }
        }
    }

    /// Takes the next message that is still worth sending, to be sent with the one before.
    pub(super) fn another(&mut self, now: Time) -> Option<Frame<M>> {
        self.outbox.pop(now).map(|(_, message)| message)
    }

    /// Returns whether no message is on its way to the network.
    pub(super) fn is_flushed(&self) -> bool {
        self.link != Link::Connected || self.outbox.is_done()
    }

    /// Lets a process speak as this peer, and returns the number of its connection.
    ///
    /// A process that calls again replaces its own older connection. A *different* process is let
    /// in when the other's connection is gone, or when it is the one that `answers` at the address
    /// of the peer: then the other has vanished without a word, and its connection is all that is
    /// left of it. If it is refused, the error is the incarnation of the other.
    pub(super) fn admit(&mut self, now: Time, incarnation: u64, answers: bool) -> Result<u64, u64> {
        let held = self.caller.as_ref().map(|caller| caller.incarnation);
        if let Some(other) = held.filter(|&held| held != incarnation) {
            if !answers {
                return Err(other);
            }
            self.due.renewed = true;
        }
        self.connections += 1;
        let number = self.connections;
        self.caller = Some(Caller { incarnation, number, since: now });
        self.signs = Signs::default();
        // The peer is up: it is called back now rather than after the back-off.
        self.backoff.reset();
        self.call_at = now;
        Ok(number)
    }

    /// Returns whether the connection with this number is the one that was let in last, and has not
    /// ended.
    pub(super) fn has_place(&self, number: u64) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.number == number)
    }

    /// Returns whether the peer has a connection to this node.
    pub(super) fn is_heard(&self) -> bool {
        self.caller.is_some()
    }

    /// Notes that the connection with this number from the peer has ended; without a cause if this
    /// node does not hear the peer any more. Nothing happens if a newer one has its place.
    ///
    /// The end is a sign that the peer is gone only if the connection had lasted for so long: a
    /// process that starts and fails again and again raises one alarm, and not one for each time.
    pub(super) fn left(
        &mut self,
        now: Time,
        number: u64,
        cause: Option<&Cause>,
        steady: Duration,
    ) -> Option<News> {
        let caller = self.caller.take_if(|caller| caller.number == number)?;
        let cause = cause?;
        self.signs.ended = cause.is_end() && now.since(caller.since) >= steady;
        self.fall(now, cause)
    }

    /// Returns whether the process of the peer is gone, as far as this node can see.
    pub(super) fn is_gone(&self) -> bool {
        self.caller.is_none() && self.signs.ended && self.signs.refused
    }

    /// Notes that the peer has sent something.
    pub(super) fn heard(&mut self, now: Time) -> Option<News> {
        (self.health.hears, self.health.heard) = (true, Some(now));
        self.rise(now)
    }

    /// Notes that the peer has sent this frame.
    pub(super) fn hear(&mut self, now: Time, frame: &Frame<M>) -> Option<News> {
        match *frame {
            Frame::Message(_) | Frame::Numbered(..) => self.received += 1,
            Frame::Ping(number) => self.due.pong = Some(number),
            // Only the answer to the latest ping counts.
            Frame::Pong(number) if number == self.pings.number => {
                let took = self.pings.sent.take().map(|sent| now.since(sent));
                self.pings.took = took.or(self.pings.took);
            }
            Frame::Pong(_) | Frame::Heartbeat | Frame::Rival | Frame::NodeFacts(_) => {}
        }
        self.heard(now)
    }

    /// Notes how the connection to the peer is; returns whether that is news.
    fn set_link(&mut self, now: Time, link: Link, mut problem: Option<String>) -> bool {
        if let Some(problem) = &mut problem {
            let ends = problem.char_indices().map(|(start, c)| start + c.len_utf8());
            problem.truncate(ends.take_while(|&end| end <= LONGEST_PROBLEM).last().unwrap_or(0));
        }
        if link != Link::Connected {
            let error = problem.clone().unwrap_or_else(|| "the connection has ended".to_owned());
            self.error = Some((now, error));
        }
        let is_news = self.link != link || self.problem != problem;
        (self.link, self.problem) = (link, problem);
        is_news
    }

    /// Notes the end of a connection. Returns the break of the link if it was up.
    fn fall(&mut self, now: Time, cause: &Cause) -> Option<News> {
        let health = &mut self.health;
        health.hears = false;
        if !take(&mut health.up) {
            return None;
        }
        let error = cause.to_string();
        health.breaks += 1;
        (health.attempts, health.failure) = (0, None);
        health.broken = Some((now, error.clone()));
        let silence = now.since(health.heard.unwrap_or(now));
        Some(News::Broken { number: health.breaks, error, silence })
    }

    /// Notes that the link is up, if it is. Returns its heal if it was broken before.
    fn rise(&mut self, now: Time) -> Option<News> {
        let health = &mut self.health;
        if health.up || self.link != Link::Connected || !health.hears {
            return None;
        }
        health.up = true;
        let attempts = take(&mut health.attempts);
        let failure = health.failure.take().map(|(_, problem)| problem);
        let (since, _) = health.broken.take()?;
        health.heals += 1;
        Some(News::Healed { number: health.breaks, down: now.since(since), attempts, failure })
    }

    /// Returns how the connection to the peer is, and what is wrong with it.
    pub(super) fn link(&self) -> (Link, Option<&str>) {
        (self.link, self.problem.as_deref())
    }

    /// Returns why there was no connection to the peer last, and how long ago that was found.
    pub(super) fn error(&self, now: Time) -> Option<(Duration, &str)> {
        self.error.as_ref().map(|(since, error)| (now.since(*since), error.as_str()))
    }

    /// Returns what is measured of the link to the peer, which has this id. The time there and back
    /// is that of the latest answer; or how long one is awaited, if that is longer.
    pub(super) fn measurements(&self, now: Time, node: NodeId) -> LinkMeasurements {
        let (health, waits) = (&self.health, self.pings.sent.map(|sent| now.since(sent)));
        LinkMeasurements {
            node,
            up: health.up,
            breaks: health.breaks,
            heals: health.heals,
            silence: health.heard.map(|heard| now.since(heard)),
            round_trip: self.pings.took.map(|took| took.max(waits.unwrap_or_default())),
        }
    }

    /// Returns how the link is now, in words.
    pub(super) fn describe(&self, now: Time) -> String {
        let (health, ago) = (&self.health, |at| short(now.since(at)));
        let heard = match health.heard {
            Some(heard) => format!("last heard {} ago", ago(heard)),
            None => "never heard".to_owned(),
        };
        if health.up {
            return format!("up, {heard}");
        }
        let text = match &health.broken {
            Some((since, error)) => format!("broken for {}: {error}", ago(*since)),
            None => "not up yet".to_owned(),
        };
        match &health.failure {
            Some((at, problem)) => {
                let (attempts, at) = (failed(health.attempts), ago(*at));
                format!("{text}; {heard}; {attempts}, the last {at} ago: {problem}")
            }
            None => format!("{text}; {heard}"),
        }
    }
}

/// A number of attempts, all of which have failed, in words.
fn failed(attempts: u64) -> String {
    let noun = if attempts == 1 { "attempt" } else { "attempts" };
    format!("{attempts} {noun} failed")
}

/// A time in words, without what is too small to matter.
fn short(time: Duration) -> impl fmt::Display {
    format_duration(if time < LONG {
        Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    } else {
        Duration::from_secs(time.as_secs())
    })
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const STEADY: Duration = Duration::from_secs(1);

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn io(kind: ErrorKind) -> Cause {
        Cause::Io(kind.into())
    }

    fn peer() -> Peer<()> {
        Peer::new(Outbox::new(1, STEADY), Backoff::new(STEADY, 7))
    }

    fn connect(peer: &mut Peer<()>, now: Time) -> Option<News> {
        peer.connected(now, None, NodeFacts::default())
    }

    /// A peer whose link is up, and that was heard last at the origin; and its connection.
    fn up() -> (Peer<()>, u64) {
        let mut peer = peer();
        let number = peer.admit(at(0), 1, false).expect("free");
        assert_eq!(connect(&mut peer, at(0)), None);
        assert_eq!(peer.heard(at(0)), None, "it was not broken");
        (peer, number)
    }

    fn leaves(peer: &mut Peer<()>, now: Time, number: u64, cause: &Cause) -> Option<News> {
        peer.left(now, number, Some(cause), STEADY)
    }

    /// An event at the connections of a peer.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A process with this incarnation calls, which answers at the address of the peer or not.
        Calls(u64, bool),
        /// The other side ends the oldest connection that is left.
        EndsOldest,
        /// The other side ends the newest.
        EndsNewest,
        /// This side gives the newest up.
        Drops,
    }

    const STEPS: [Step; 7] = [
        Step::Calls(1, false),
        Step::Calls(1, true),
        Step::Calls(2, false),
        Step::Calls(2, true),
        Step::EndsOldest,
        Step::EndsNewest,
        Step::Drops,
    ];

    /// After all sequences of five events, one connection at most has the place of the peer: the
    /// latest that was let in. The end of another connection changes nothing.
    #[test]
    fn whatever_happens_the_connection_that_was_let_in_last_has_the_place() {
        let length = 5;
        for number in 0..STEPS.len().pow(length) {
            let step = |place| STEPS[number / STEPS.len().pow(place) % STEPS.len()];
            let steps: Vec<Step> = (0..length).map(step).collect();
            let mut peer = peer();
            // The connections that are left, and the one that has the place, with its incarnation.
            let mut left: Vec<u64> = Vec::new();
            let mut holder: Option<(u64, u64)> = None;
            let mut ended = false;
            for &step in &steps {
                let mut is_new = false;
                let gone = match step {
                    Step::Calls(incarnation, answers) => {
                        let admitted = peer.admit(at(0), incarnation, answers);
                        let held = holder.map(|(_, incarnation)| incarnation);
                        let other = held.filter(|&held| held != incarnation);
                        assert_eq!(admitted.err(), other.filter(|_| !answers));
                        if let Ok(number) = admitted {
                            is_new = other.is_some();
                            (holder, ended) = (Some((number, incarnation)), false);
                            left.push(number);
                        }
                        None
                    }
                    Step::EndsOldest if left.is_empty() => None,
                    Step::EndsOldest => Some(left.remove(0)),
                    Step::EndsNewest | Step::Drops => left.pop(),
                };
                if let Some(number) = gone {
                    let cause = (!matches!(step, Step::Drops)).then_some(Cause::HungUp);
                    assert_eq!(peer.left(at(0), number, cause.as_ref(), Duration::ZERO), None);
                    if holder.is_some_and(|(held, _)| held == number) {
                        (holder, ended) = (None, cause.is_some());
                    }
                }
                peer.signs.refused = true;
                assert_eq!(peer.is_heard(), holder.is_some(), "{steps:?}");
                assert_eq!(peer.is_gone(), ended, "{steps:?}");
                assert_eq!(take(&mut peer.due.renewed), is_new, "{steps:?}");
                for &number in &left {
                    let has_place = holder.is_some_and(|(held, _)| held == number);
                    assert_eq!(peer.has_place(number), has_place, "{steps:?}");
                }
            }
        }
    }

    #[test]
    fn a_peer_is_gone_once_it_has_hung_up_and_its_address_refuses() {
        let (mut peer, number) = up();
        leaves(&mut peer, at(1_000), number, &Cause::HungUp);
        assert!(!peer.is_gone(), "a connection can be reset by a router");
        for refused in [true, false, true] {
            peer.signs.refused = refused;
            assert_eq!(peer.is_gone(), refused, "a process listens, or none");
        }
        peer.admit(at(1_000), 1, false).expect("free");
        assert!(!peer.is_gone(), "it has called");
    }

    /// A peer that was never heard may be about to start, and one that fails again and again raises
    /// no further alarm. The order of the signs is not known.
    #[test]
    fn only_of_a_peer_that_was_heard_for_long_the_loss_is_told() {
        for (heard, is_gone) in [(Some(1_000), true), (Some(999), false), (None, false)] {
            for refused_first in [true, false] {
                let mut peer = peer();
                let number = heard.map(|_| peer.admit(at(0), 1, false).expect("free"));
                if refused_first {
                    peer.signs.refused = true;
                    assert!(!peer.is_gone(), "it is still heard");
                }
                let now = at(heard.unwrap_or_default());
                leaves(&mut peer, now, number.unwrap_or_default(), &Cause::HungUp);
                peer.signs.refused = true;
                assert_eq!(peer.is_gone(), is_gone, "{heard:?}");
            }
        }
    }

    #[test]
    fn a_peer_is_called_after_a_wait_that_grows_and_at_once_when_it_has_called() {
        let mut peer = peer();
        assert_eq!(peer.call(at(0)), Ok(()));
        for _ in 0..10 {
            peer.attempt_failed(at(0), Link::Connecting, "it is away".to_owned());
        }
        let wait = peer.call(at(0)).expect_err("not now");
        assert!((at(250)..=at(500)).contains(&wait), "{wait:?}");
        assert_eq!(peer.call(wait), Ok(()));
        peer.admit(at(1), 1, false).expect("free");
        assert_eq!(peer.call(at(1)), Ok(()));
        peer.attempt_failed(at(1), Link::Connecting, "it is away".to_owned());
        assert!((at(26)..=at(51)).contains(&peer.call(at(1)).expect_err("the first wait")));
        // After a connection that has lasted, it is called at once.
        for (lasts, is_called) in [(999, false), (1_000, true)] {
            connect(&mut peer, at(0));
            peer.disconnected(at(lasts), &Cause::HungUp, STEADY);
            assert_eq!(peer.call(at(lasts)).is_ok(), is_called, "{lasts}");
        }
    }

    #[test]
    fn what_is_due_is_sent_in_this_order_and_once() {
        let mut peer = peer();
        (peer.due.beat, peer.due.rival) = (true, true);
        peer.outbox.push(at(0), Frame::Message(()));
        connect(&mut peer, at(10));
        assert_eq!(peer.hear(at(10), &Frame::Ping(98)), None);
        assert_eq!(peer.hear(at(10), &Frame::Ping(99)), None, "the latest is answered");
        let facts = Frame::NodeFacts(NodeFacts::default());
        let all = [
            Frame::Heartbeat,
            Frame::Message(()),
            Frame::Rival,
            facts,
            Frame::Pong(99),
            Frame::Ping(1),
        ];
        for frame in all {
            let due = peer.next(at(10), 5 * MS).expect("something is due");
            assert_eq!(due.ok(), Some(frame));
        }
        assert_eq!(peer.next(at(10), 5 * MS).err(), Some(at(15)));
        peer.admit(at(10), 1, false).expect("free");
        peer.admit(at(10), 2, true).expect("it answers");
        assert!(matches!(peer.next(at(10), 5 * MS), Ok(Err(Cause::Replaced))));
        assert!(matches!(peer.next(at(15), 5 * MS), Ok(Ok(Frame::Ping(2)))));
    }

    #[test]
    fn the_latest_answer_counts_until_one_is_awaited_for_longer() {
        let mut peer = peer();
        connect(&mut peer, at(0));
        peer.due.facts = None;
        let id = NodeId::new(3).expect("not zero");
        let round_trip = |peer: &Peer<()>, now| peer.measurements(at(now), id).round_trip;
        let answered = |peer: &mut Peer<()>, now, number| {
            peer.hear(at(now), &Frame::Pong(number));
        };
        assert!(peer.next(at(0), 50 * MS).is_ok());
        assert_eq!(round_trip(&peer, 0), None, "no answer yet");
        answered(&mut peer, 30, 1);
        assert_eq!(round_trip(&peer, 30), Some(30 * MS));
        assert!(peer.next(at(50), 50 * MS).is_ok());
        assert_eq!(round_trip(&peer, 60), Some(30 * MS));
        assert_eq!(round_trip(&peer, 150), Some(100 * MS), "the peer is paused, or cut off");
        answered(&mut peer, 150, 1);
        assert_eq!(round_trip(&peer, 151), Some(101 * MS), "the answer to an older one");
        answered(&mut peer, 150, 2);
        answered(&mut peer, 160, 2);
        assert_eq!(round_trip(&peer, 170), Some(100 * MS));
        peer.disconnected(at(170), &Cause::HungUp, STEADY);
        assert_eq!(round_trip(&peer, 170), None);
    }

    #[test]
    fn a_long_problem_is_cut_between_two_characters() {
        let mut peer = peer();
        // In each, the limit falls on another byte of a character of four.
        for before in 0..4 {
            let text = "x".repeat(before) + &"\u{1f980}".repeat(LONGEST_PROBLEM);
            assert!(peer.attempt_failed(at(0), Link::Refused, text.clone()));
            let (_, problem) = peer.link();
            let kept = problem.expect("told");
            assert!(text.starts_with(kept));
            let length = kept.len();
            assert!((LONGEST_PROBLEM - 3..=LONGEST_PROBLEM).contains(&length), "{length}");
        }
        let short = "x".repeat(LONGEST_PROBLEM);
        assert!(peer.attempt_failed(at(0), Link::Refused, short.clone()));
        assert_eq!(peer.link().1, Some(short.as_str()));
    }

    #[test]
    fn a_problem_is_news_once_and_the_last_error_stays_while_there_is_a_connection() {
        let mut peer = peer();
        assert_eq!(peer.error(at(0)), None);
        let refused = |peer: &mut Peer<()>| {
            peer.attempt_failed(at(0), Link::Refused, "it is wrong".to_owned())
        };
        assert!(refused(&mut peer) && !refused(&mut peer));
        peer.connected(at(5), Some("it differs".to_owned()), NodeFacts::default());
        assert_eq!(peer.link(), (Link::Connected, Some("it differs")));
        assert_eq!(peer.error(at(5)), Some((5 * MS, "it is wrong")));
        peer.disconnected(at(9), &Cause::HungUp, STEADY);
        assert_eq!(peer.error(at(9)), Some((Duration::ZERO, "the connection has ended")));
        assert!(refused(&mut peer));
    }

    #[test]
    fn a_break_is_one_whichever_connection_ends_first_and_however_many_attempts_fail() {
        let (mut peer, number) = up();
        let broken = leaves(&mut peer, at(40), number, &io(ErrorKind::ConnectionReset));
        let error = "connection reset: its process was killed or has restarted";
        let text = format!("broken: {error}; last heard 40ms ago");
        assert_eq!(broken.expect("a break").to_string(), text);
        assert_eq!(peer.disconnected(at(40), &Cause::HungUp, STEADY), None, "the same break");
        for now in [4_040, 8_040, 12_040] {
            let refused = io(ErrorKind::ConnectionRefused).to_string();
            peer.attempt_failed(at(now), Link::Connecting, refused);
        }
        assert_eq!(connect(&mut peer, at(12_040)), None, "it is not heard");
        let heal = peer.heard(at(12_040)).expect("both are there");
        let text = "up again after 12s (3 attempts failed, the last: connection refused: its \
                    process is gone)";
        assert_eq!(heal.to_string(), text);
        assert_eq!(peer.heard(at(12_040)), None, "once");
        let health = &peer.health;
        assert_eq!((health.breaks, health.heals, health.up), (1, 1, true));
    }

    #[test]
    fn what_was_heard_before_a_break_heals_nothing() {
        let (mut peer, number) = up();
        assert!(peer.disconnected(at(1), &Cause::Stuck(STEADY), STEADY).is_some());
        // The machine at the other end is gone, and its old connection still seems to be there.
        assert_eq!(connect(&mut peer, at(1)), None);
        let heal = peer.heard(at(301)).expect("now it is heard");
        assert_eq!(heal.to_string(), "up again after 300ms", "no attempt has failed");
        let broken = leaves(&mut peer, at(301), number, &Cause::HungUp);
        assert!(matches!(broken, Some(News::Broken { number: 2, .. })), "{broken:?}");
        assert!(peer.heard(at(301)).is_some(), "the other connection has lasted");
    }

    #[test]
    fn a_link_that_was_never_up_breaks_and_heals_without_a_word() {
        let mut peer = peer();
        peer.attempt_failed(at(0), Link::Connecting, "it hung up".to_owned());
        let text = "not up yet; never heard; 1 attempt failed, the last 0s ago: it hung up";
        assert_eq!(peer.describe(at(0)), text);
        assert_eq!(connect(&mut peer, at(0)), None);
        assert_eq!(peer.disconnected(at(0), &Cause::HungUp, STEADY), None);
        assert_eq!((connect(&mut peer, at(0)), peer.heard(at(0))), (None, None));
        assert_eq!((peer.health.up, peer.health.breaks), (true, 0));
    }

    #[test]
    fn a_link_is_described_by_what_is_known_of_it() {
        let (mut peer, number) = up();
        assert_eq!(peer.describe(at(612)), "up, last heard 612ms ago");
        assert!(leaves(&mut peer, at(612), number, &Cause::HungUp).is_some());
        let hung_up = "it hung up: its process has ended, or has closed the connection";
        let text = format!("broken for 5ms: {hung_up}; last heard 617ms ago");
        assert_eq!(peer.describe(at(617)), text);
        let refused = io(ErrorKind::ConnectionRefused).to_string();
        peer.attempt_failed(at(617), Link::Connecting, refused);
        let text = format!(
            "broken for 17ms: {hung_up}; last heard 629ms ago; 1 attempt failed, the last 12ms \
             ago: connection refused: its process is gone"
        );
        assert_eq!(peer.describe(at(629)), text);
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
