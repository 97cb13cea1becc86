//! The other nodes, as one knows them, which come and go while it runs: the messages for each, the
//! connections to and from it, whether its process is there, and how long the way there takes.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::connect::Resolver;
use super::frame::Frame;
use super::health::Health;
use super::outbox::Outbox;
use crate::clock::Clock;
use crate::config::Address;
use crate::lock::lock;
use crate::protocol::NodeId;
use crate::report::Link;

/// How long a process may take to be gone when the next one with its id calls already.
const GRACE: Duration = Duration::from_millis(500);

/// The longest description of a problem that is kept, in bytes, so that a status fits into a frame.
pub(crate) const LONGEST_PROBLEM: usize = 160;

/// Another member of the cluster.
pub(crate) struct Peer<M> {
    pub(crate) id: NodeId,
    pub(crate) address: Address,
    pub(crate) resolver: Resolver,
    /// The messages for it, each with its number and that of its group.
    pub(crate) outbox: Outbox<Frame<M>>,
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    /// The peer called, so it is up: call it back now rather than after the back-off.
    pub(crate) called: Notify,
    /// Another process took the peer's place: the connection to the one before leads nowhere.
    pub(crate) renewed: Notify,
    /// A heartbeat is due. At most one waits.
    pub(crate) beat: Notify,
    /// The peer is to be told that this node led at the same time. At most one waits.
    pub(crate) rival: Notify,
    pub(super) presence: Presence,
    /// How the connections in both directions are.
    pub(super) health: Health,
    pub(super) round_trip: RoundTrip,
    link: Mutex<(Link, Option<String>)>,
    /// Why there was no connection to it last, and when that was found.
    error: Mutex<Option<(Instant, String)>>,
    caller: Mutex<Option<Caller>>,
    left: Notify,
    /// Cancelled when it is no peer of this node any more.
    pub(super) removed: CancellationToken,
}

/// The process that holds the incoming connection from a peer.
#[derive(Debug)]
struct Caller {
    incarnation: u64,
    replaced: CancellationToken,
}

/// The right to speak as a peer; over when dropped.
pub(crate) struct Session<M> {
    peer: Arc<Peer<M>>,
    /// Cancelled when a newer connection of the same process takes its place.
    pub(crate) replaced: CancellationToken,
}

impl<M> Peer<M> {
    fn new(id: NodeId, address: Address, outbox: Outbox<Frame<M>>, presence: Presence) -> Self {
        Self {
            id,
            resolver: Resolver::new(address.clone()),
            address,
            outbox,
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            called: Notify::new(),
            renewed: Notify::new(),
            beat: Notify::new(),
            rival: Notify::new(),
            presence,
            health: Health::default(),
            round_trip: RoundTrip::default(),
            link: Mutex::new((Link::Connecting, None)),
            error: Mutex::default(),
            caller: Mutex::new(None),
            left: Notify::new(),
            removed: CancellationToken::new(),
        }
    }

    /// How the connection to the peer is, and what is wrong with it.
    pub(crate) fn link(&self) -> (Link, Option<String>) {
        lock(&self.link).clone()
    }

    /// Notes how the connection to the peer is; true if that is news.
    pub(crate) fn set_link(&self, link: Link, mut problem: Option<String>) -> bool {
        if let Some(problem) = &mut problem {
            let ends = problem.char_indices().map(|(start, c)| start + c.len_utf8());
            problem.truncate(ends.take_while(|&end| end <= LONGEST_PROBLEM).last().unwrap_or(0));
        }
        if link != Link::Connected {
            let error = problem.clone().unwrap_or_else(|| "the connection has ended".to_owned());
            *lock(&self.error) = Some((Instant::now(), error));
        }
        let mut current = lock(&self.link);
        let next = (link, problem);
        let news = *current != next;
        *current = next;
        news
    }

    /// Why there was no connection to the peer last, and how long ago that was found.
    pub(crate) fn error(&self) -> Option<(Duration, String)> {
        lock(&self.error).as_ref().map(|(since, error)| (since.elapsed(), error.clone()))
    }

    /// Whether the peer has a connection to this node.
    pub(crate) fn is_heard(&self) -> bool {
        lock(&self.caller).is_some()
    }

    /// Lets a process speak as this peer.
    ///
    /// A process that calls again replaces its own older connection. A *different* process is let
    /// in when the other's connection is gone; it may be late, so that gets a moment. Or when it is
    /// the one that `answers` at the address of the peer: then the other has vanished without a
    /// word, and its connection is all that is left of it.
    ///
    /// If it is refused, the incarnation of the other is returned.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        incarnation: u64,
        answers: impl Future<Output = bool>,
    ) -> Result<Session<M>, u64> {
        let deadline = Instant::now() + GRACE;
        let mut answers = pin!(answers);
        let mut asked = false;
        loop {
            let left = self.left.notified();
            let other = match self.try_admit(incarnation) {
                Ok(session) => return Ok(session),
                Err(other) => other,
            };
            tokio::select! {
                () = left => {}
                found = &mut answers, if !asked => {
                    if found {
                        return Ok(self.replace(&mut lock(&self.caller), incarnation));
                    }
                    asked = true;
                }
                () = sleep_until(deadline), if asked => {
                    return Err(other);
                }
            }
        }
    }

    fn try_admit(self: &Arc<Self>, incarnation: u64) -> Result<Session<M>, u64> {
        let mut caller = lock(&self.caller);
        match &*caller {
            Some(caller) if caller.incarnation != incarnation => Err(caller.incarnation),
            _ => Ok(self.replace(&mut caller, incarnation)),
        }
    }

    /// Takes the place of the process that spoke as this peer, if one did.
    fn replace(self: &Arc<Self>, caller: &mut Option<Caller>, incarnation: u64) -> Session<M> {
        let replaced = CancellationToken::new();
        let now = Caller { incarnation, replaced: replaced.clone() };
        self.presence.heard();
        if let Some(before) = caller.replace(now) {
            before.replaced.cancel();
            if before.incarnation != incarnation {
                self.renewed.notify_one();
            }
        }
        Session { peer: Arc::clone(self), replaced }
    }
}

impl<M> Session<M> {
    /// The peer has ended the connection. See [`Presence::ended`].
    pub(super) fn ended(&self, steady: Duration) {
        // While this is held, no other connection takes its place.
        let _caller = lock(&self.peer.caller);
        if !self.replaced.is_cancelled() {
            self.peer.presence.ended(steady);
        }
    }
}

impl<M> Drop for Session<M> {
    fn drop(&mut self) {
        // While this is held, no other connection takes its place. What replaced this session is
        // not to be ended with it.
        let mut caller = lock(&self.peer.caller);
        if !self.replaced.is_cancelled() {
            *caller = None;
            self.peer.left.notify_waiters();
        }
    }
}

/// The peers at one moment.
pub(super) type Snapshot<M> = Arc<BTreeMap<NodeId, Arc<Peer<M>>>>;

/// The peers, and what all of them have in common.
///
/// A reader takes the peers of one moment. A peer that stays is the same, with its connections. A
/// peer that goes, or gets another address, is removed: what serves it ends. [`super::outgoing`]
/// calls a peer that comes.
pub(super) struct Peers<M> {
    now: watch::Sender<Snapshot<M>>,
    lifetime: Duration,
    clock: Arc<dyn Clock>,
    gone: Arc<[Notify]>,
}

impl<M> Peers<M> {
    /// None yet. A message to one is worth sending for as long as `lifetime`. Each tells `gone`,
    /// which has one for each group, when its process is gone.
    pub(super) fn new(lifetime: Duration, clock: Arc<dyn Clock>, gone: Arc<[Notify]>) -> Self {
        Self { now: watch::Sender::new(Snapshot::default()), lifetime, clock, gone }
    }

    pub(super) fn now(&self) -> Snapshot<M> {
        Arc::clone(&self.now.borrow())
    }

    /// The peers now, and each change.
    pub(super) fn changes(&self) -> watch::Receiver<Snapshot<M>> {
        self.now.subscribe()
    }

    /// The peers are these from now on. Returns those that are removed.
    pub(super) fn set(&self, others: BTreeMap<NodeId, Address>) -> Vec<Arc<Peer<M>>> {
        let mut removed: Vec<Arc<Peer<M>>> = Vec::new();
        self.now.send_modify(|now| {
            let peer = |(id, address): (NodeId, Address)| {
                let same = now.get(&id).filter(|peer| peer.address == address).cloned();
                (id, same.unwrap_or_else(|| self.peer(id, address)))
            };
            let next = Arc::new(others.into_iter().map(peer).collect());
            removed = except(now, &next).cloned().collect();
            *now = next;
        });
        removed.iter().for_each(|peer| peer.removed.cancel());
        removed
    }

    fn peer(&self, id: NodeId, address: Address) -> Arc<Peer<M>> {
        let outbox = Outbox::new(self.gone.len(), self.lifetime, Arc::clone(&self.clock));
        let presence = Presence { signs: Mutex::default(), news: Arc::clone(&self.gone) };
        Arc::new(Peer::new(id, address, outbox, presence))
    }
}

/// Those of `all` that are not among the `others`.
pub(super) fn except<'a, M>(
    all: &'a Snapshot<M>,
    others: &'a Snapshot<M>,
) -> impl Iterator<Item = &'a Arc<Peer<M>>> {
    all.values()
        .filter(move |peer| others.get(&peer.id).is_none_or(|other| !Arc::ptr_eq(other, peer)))
}

/// The signs that the process of a peer is gone: it has ended the connection on which it spoke, and
/// its address refuses another one.
///
/// A single sign is none. A reset can come from a router that has forgotten the connection, and a
/// refusal from a process that is about to listen. Both together can still be wrong, behind a
/// firewall that refuses for example. So they are a reason not to wait for the peer any longer, and
/// never a proof that it does nothing.
#[derive(Debug)]
pub(super) struct Presence {
    signs: Mutex<Signs>,
    /// Told when it is gone: one for each group.
    news: Arc<[Notify]>,
}

#[derive(Debug, Default)]
struct Signs {
    /// Since when it has had a connection to this node.
    heard: Option<Instant>,
    /// It has ended its latest connection, and that had lasted.
    ended: bool,
    /// Its address has refused the latest attempt.
    refused: bool,
}

impl Signs {
    fn is_gone(&self) -> bool {
        self.heard.is_none() && self.ended && self.refused
    }
}

impl Presence {
    /// It has opened a connection to this node.
    fn heard(&self) {
        *lock(&self.signs) = Signs { heard: Some(Instant::now()), ..Signs::default() };
    }

    /// It has ended the connection, after all that it had sent. That is a sign only if the
    /// connection had lasted for so long: a process that starts and fails again and again raises
    /// one alarm, and not one for each time.
    fn ended(&self, steady: Duration) {
        let mut signs = lock(&self.signs);
        let lasted = signs.heard.take().is_some_and(|since| since.elapsed() >= steady);
        signs.ended |= lasted;
        self.notify_if_gone(&signs);
    }

    /// Its address has refused a connection.
    pub(super) fn refused(&self) {
        let mut signs = lock(&self.signs);
        let news = !signs.refused;
        signs.refused = true;
        if news {
            self.notify_if_gone(&signs);
        }
    }

    /// A process listens at its address.
    pub(super) fn reached(&self) {
        lock(&self.signs).refused = false;
    }

    /// Whether it is gone, as far as this node can see.
    pub(super) fn is_gone(&self) -> bool {
        lock(&self.signs).is_gone()
    }

    fn notify_if_gone(&self, signs: &Signs) {
        if signs.is_gone() {
            self.news.iter().for_each(Notify::notify_one);
        }
    }
}

/// The time that a frame takes to a peer, and its answer back.
///
/// A connection carries frames in one direction. So a ping goes out on the connection to the peer,
/// and its answer arrives on the connection from the peer. Both pass through the queues and the
/// runtimes of both nodes, as messages do: it is what the protocol sees, not what the network alone
/// takes.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    state: Mutex<Pings>,
    asked: Notify,
}

/// The pings to the peer, and from it.
#[derive(Debug, Default)]
struct Pings {
    /// The number of the latest ping to the peer.
    number: u8,
    /// When it was sent, until it is answered.
    sent: Option<Instant>,
    last: Option<Duration>,
    /// The ping of the peer that is to be answered. At most one waits, whatever the peer sends.
    owed: Option<u8>,
}

impl RoundTrip {
    /// Returns the number of the next ping, which is sent now.
    pub(super) fn ping(&self) -> u8 {
        let mut state = lock(&self.state);
        state.number = state.number.wrapping_add(1);
        state.sent = Some(Instant::now());
        state.number
    }

    /// The peer has answered a ping. Only the answer to the latest one counts.
    pub(super) fn answered(&self, number: u8) {
        let mut state = lock(&self.state);
        if state.number == number
            && let Some(sent) = state.sent.take()
        {
            state.last = Some(sent.elapsed());
        }
    }

    /// The peer has sent a ping.
    pub(super) fn asked(&self, number: u8) {
        lock(&self.state).owed = Some(number);
        self.asked.notify_one();
    }

    /// Returns the number of a ping of the peer as soon as there is one to be answered. None is
    /// lost when the future is dropped.
    pub(super) async fn owed(&self) -> u8 {
        loop {
            if let Some(number) = lock(&self.state).owed.take() {
                return number;
            }
            // A ping between the two lines leaves its permit behind, so this returns at once.
            self.asked.notified().await;
        }
    }

    /// The connection to the peer has ended: what was measured is over.
    pub(super) fn reset(&self) {
        let mut state = lock(&self.state);
        (state.sent, state.last) = (None, None);
    }

    /// Returns how long the latest answer took; or how long one is awaited, if that is longer. None
    /// if there was none on this connection.
    pub(super) fn last(&self) -> Option<Duration> {
        let state = lock(&self.state);
        let waiting = state.sent.map_or(Duration::ZERO, |sent| sent.elapsed());
        Some(state.last?.max(waiting))
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt as _;

    use super::*;
    use crate::clock::tests::ManualClock;

    const MS: Duration = Duration::from_millis(1);
    const STEADY: Duration = Duration::from_secs(1);

    fn presence() -> Presence {
        Presence { signs: Mutex::default(), news: [Notify::new()].into() }
    }

    fn peer() -> Arc<Peer<()>> {
        let id = NodeId::new(3).expect("not zero");
        let address = "127.0.0.1:7003".parse().expect("an address");
        let outbox = Outbox::new(1, Duration::from_secs(1), Arc::new(ManualClock::new()));
        Arc::new(Peer::new(id, address, outbox, presence()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_process_with_one_id_is_refused_while_the_first_is_connected() {
        let peer = peer();
        let first = peer.admit(1, pending()).await.expect("free");
        assert_eq!(peer.admit(2, ready(false)).await.err(), Some(1), "taken");
        assert!(!first.replaced.is_cancelled());
        drop(first);
        assert!(peer.admit(2, pending()).await.is_ok());
    }

    /// The machine of the first went down and up again: no end of the connection was ever sent.
    #[tokio::test(start_paused = true)]
    async fn a_process_that_answers_at_the_address_of_the_peer_takes_its_place() {
        let peer = peer();
        let vanished = peer.admit(1, pending()).await.expect("free");
        let before = Instant::now();
        let restarted = peer.admit(2, ready(true)).await.expect("it is there");
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert!(vanished.replaced.is_cancelled() && !restarted.replaced.is_cancelled());
        // The end of the old connection is noticed at some time. It is not the end of the new one.
        drop(vanished);
        assert_eq!(peer.admit(3, ready(false)).await.err(), Some(2), "taken");
    }

    #[tokio::test(start_paused = true)]
    async fn a_restarted_process_gets_in_as_soon_as_its_past_is_gone() {
        let peer = peer();
        let past = peer.admit(1, pending()).await.expect("free");
        let leave = async {
            tokio::time::sleep(GRACE / 2).await;
            drop(past);
        };
        let (session, ()) = tokio::join!(peer.admit(2, ready(false)), leave);
        assert!(session.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_calls_again_replaces_its_older_connection() {
        let peer = peer();
        let older = peer.admit(1, pending()).await.expect("free");
        let newer = peer.admit(1, pending()).await.expect("its own");
        assert!(older.replaced.is_cancelled());
        drop(older);
        assert!(peer.admit(2, ready(false)).await.is_err(), "the newer connection is still there");
        drop(newer);
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
    #[tokio::test(start_paused = true)]
    async fn whatever_happens_the_connection_that_was_let_in_last_has_the_place() {
        let length = 5;
        for number in 0..STEPS.len().pow(length) {
            let step = |place| STEPS[number / STEPS.len().pow(place) % STEPS.len()];
            let steps: Vec<Step> = (0..length).map(step).collect();
            let peer = peer();
            // The connections that are left, and the one that has the place, with its incarnation.
            let mut left: Vec<(usize, Session<()>)> = Vec::new();
            let mut holder: Option<(usize, u64)> = None;
            let mut ended = false;
            for (at, &step) in steps.iter().enumerate() {
                let mut is_new = false;
                let gone = match step {
                    Step::Calls(incarnation, answers) => {
                        let admitted = peer.admit(incarnation, ready(answers)).await;
                        let held = holder.map(|(_, incarnation)| incarnation);
                        let other = held.filter(|&held| held != incarnation);
                        assert_eq!(admitted.as_ref().err(), other.as_ref().filter(|_| !answers));
                        if let Ok(session) = admitted {
                            is_new = other.is_some();
                            (holder, ended) = (Some((at, incarnation)), false);
                            left.push((at, session));
                        }
                        None
                    }
                    Step::EndsOldest if left.is_empty() => None,
                    Step::EndsOldest => Some(left.remove(0)),
                    Step::EndsNewest | Step::Drops => left.pop(),
                };
                if let Some((number, session)) = gone {
                    let is_end = !matches!(step, Step::Drops);
                    if is_end {
                        session.ended(Duration::ZERO);
                    }
                    if holder.is_some_and(|(held, _)| held == number) {
                        (holder, ended) = (None, is_end);
                    }
                }
                peer.presence.refused();
                assert_eq!(peer.is_heard(), holder.is_some(), "{steps:?}, {at}");
                assert_eq!(peer.presence.is_gone(), ended, "{steps:?}, {at}");
                let told = peer.renewed.notified().now_or_never().is_some();
                assert_eq!(told, is_new, "{steps:?}, {at}");
                for (number, session) in &left {
                    let has_place = holder.is_some_and(|(held, _)| held == *number);
                    assert_ne!(session.replaced.is_cancelled(), has_place, "{steps:?}, {at}");
                }
            }
        }
    }

    #[test]
    fn a_long_problem_is_cut_between_two_characters() {
        let peer = peer();
        // In each, the limit falls on another byte of a character of four.
        for before in 0..4 {
            let text = "x".repeat(before) + &"\u{1f980}".repeat(LONGEST_PROBLEM);
            assert!(peer.set_link(Link::Refused, Some(text.clone())));
            let (_, problem) = peer.link();
            let kept = problem.expect("told");
            assert!(text.starts_with(&kept));
            let length = kept.len();
            assert!((LONGEST_PROBLEM - 3..=LONGEST_PROBLEM).contains(&length), "{length}");
        }
        let short = "x".repeat(LONGEST_PROBLEM);
        assert!(peer.set_link(Link::Refused, Some(short.clone())));
        assert_eq!(peer.link().1, Some(short));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_error_stays_while_there_is_a_connection() {
        let peer = peer();
        assert_eq!(peer.error(), None);
        peer.set_link(Link::Refused, Some("it is wrong".to_owned()));
        tokio::time::advance(GRACE).await;
        peer.set_link(Link::Connected, Some("it differs".to_owned()));
        assert_eq!(peer.error(), Some((GRACE, "it is wrong".to_owned())));
        peer.set_link(Link::Connecting, None);
        assert_eq!(peer.error(), Some((Duration::ZERO, "the connection has ended".to_owned())));
        let long = "x".repeat(2 * LONGEST_PROBLEM);
        peer.set_link(Link::Connecting, Some(long));
        let (_, kept) = peer.error().expect("told");
        assert_eq!(kept.len(), LONGEST_PROBLEM);
    }

    #[test]
    fn the_same_problem_is_news_once() {
        let peer = peer();
        let refused = || peer.set_link(Link::Refused, Some("it is wrong".to_owned()));
        assert!(refused() && !refused());
        assert!(peer.set_link(Link::Connected, None) && refused());
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_is_gone_once_it_has_hung_up_and_its_address_refuses() {
        let presence = presence();
        presence.heard();
        tokio::time::advance(STEADY).await;
        presence.ended(STEADY);
        assert!(!presence.is_gone(), "a connection can be reset by a router");
        presence.refused();
        assert!(presence.is_gone());
        presence.reached();
        assert!(!presence.is_gone(), "a process listens again");
        presence.refused();
        assert!(presence.is_gone());
        presence.heard();
        assert!(!presence.is_gone(), "it has called");
    }

    /// A peer that was never heard may be about to start, and one that fails again and again raises
    /// no further alarm. The order of the signs is not known.
    #[tokio::test(start_paused = true)]
    async fn only_of_a_peer_that_was_heard_for_long_the_loss_is_told() {
        for (heard, is_gone) in [(Some(STEADY), true), (Some(STEADY / 2), false), (None, false)] {
            for refused_first in [true, false] {
                let presence = presence();
                if let Some(time) = heard {
                    presence.heard();
                    tokio::time::advance(time).await;
                }
                if refused_first {
                    presence.refused();
                    assert!(!presence.is_gone(), "it is still heard");
                }
                presence.ended(STEADY);
                presence.refused();
                assert_eq!(presence.is_gone(), is_gone, "{heard:?}");
                let told = tokio::time::timeout(MS, presence.news[0].notified()).await;
                assert_eq!(told.is_ok(), is_gone, "{heard:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_latest_answer_counts_until_one_is_awaited_for_longer() {
        let round_trip = RoundTrip::default();
        let first = round_trip.ping();
        assert_eq!(round_trip.last(), None, "no answer yet");
        tokio::time::advance(30 * MS).await;
        round_trip.answered(first);
        assert_eq!(round_trip.last(), Some(30 * MS));
        let second = round_trip.ping();
        tokio::time::advance(10 * MS).await;
        assert_eq!(round_trip.last(), Some(30 * MS));
        tokio::time::advance(90 * MS).await;
        assert_eq!(round_trip.last(), Some(100 * MS), "the peer is paused, or cut off");
        round_trip.answered(second);
        round_trip.answered(second);
        assert_eq!(round_trip.last(), Some(100 * MS));
        round_trip.reset();
        assert_eq!(round_trip.last(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_to_an_older_ping_does_not_count() {
        let round_trip = RoundTrip::default();
        let first = round_trip.ping();
        tokio::time::advance(5_000 * MS).await;
        let second = round_trip.ping();
        round_trip.answered(first);
        assert_eq!(round_trip.last(), None);
        tokio::time::advance(MS).await;
        round_trip.answered(second);
        assert_eq!(round_trip.last(), Some(MS));
        for _ in 0..=u8::MAX {
            let _ = round_trip.ping();
        }
        assert_eq!(round_trip.ping(), second.wrapping_add(1), "numbers are used again");
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_pings_the_latest_is_answered_once() {
        let round_trip = RoundTrip::default();
        (0..100).for_each(|number| round_trip.asked(number));
        assert_eq!(round_trip.owed().await, 99);
        let more = tokio::time::timeout(10 * MS, round_trip.owed());
        assert!(more.await.is_err());
        let (number, ()) = tokio::join!(round_trip.owed(), async { round_trip.asked(7) });
        assert_eq!(number, 7);
    }
}
