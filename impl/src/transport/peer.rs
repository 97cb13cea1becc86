//! What one node knows about another: the messages for it, the connections to and from it.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::connect::Resolver;
use super::frame::Frame;
use super::health::Health;
use super::outbox::Outbox;
use super::presence::Presence;
use super::round_trip::RoundTrip;
use crate::config::Address;
use crate::protocol::NodeId;
use crate::report::Link;

/// How long a process may take to be gone when the next one with its id calls already.
const GRACE: Duration = Duration::from_millis(500);

/// The longest description of a problem that is kept, in bytes, so that a status fits into a frame.
pub(crate) const LONGEST_PROBLEM: usize = 160;

/// Another member of the cluster.
#[derive(Debug)]
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
#[derive(Debug)]
pub(crate) struct Session<M> {
    peer: Arc<Peer<M>>,
    /// Cancelled when a newer connection of the same process takes its place.
    pub(crate) replaced: CancellationToken,
}

impl<M> Peer<M> {
    pub(crate) fn new(
        id: NodeId,
        address: Address,
        outbox: Outbox<Frame<M>>,
        presence: Presence,
    ) -> Self {
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
        self.link.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how the connection to the peer is; true if that is news.
    pub(crate) fn set_link(&self, link: Link, mut problem: Option<String>) -> bool {
        if let Some(problem) = &mut problem {
            let ends = problem.char_indices().map(|(start, c)| start + c.len_utf8());
            problem.truncate(ends.take_while(|&end| end <= LONGEST_PROBLEM).last().unwrap_or(0));
        }
        if link != Link::Connected {
            let error = problem.clone().unwrap_or_else(|| "the connection has ended".to_owned());
            *self.last_error() = Some((Instant::now(), error));
        }
        let mut current = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (link, problem);
        let news = *current != next;
        *current = next;
        news
    }

    /// Why there was no connection to the peer last, and how long ago that was found.
    pub(crate) fn error(&self) -> Option<(Duration, String)> {
        self.last_error().as_ref().map(|(since, error)| (since.elapsed(), error.clone()))
    }

    fn last_error(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the peer has a connection to this node.
    pub(crate) fn is_heard(&self) -> bool {
        self.caller().is_some()
    }

    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
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
                        return Ok(self.replace(&mut self.caller(), incarnation));
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
        let mut caller = self.caller();
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

    fn caller(&self) -> MutexGuard<'_, Option<Caller>> {
        self.caller.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> Session<M> {
    /// The peer has ended the connection. See [`Presence::ended`].
    pub(super) fn ended(&self, steady: Duration) {
        // While this is held, no other connection takes its place.
        let _caller = self.peer.caller();
        if !self.replaced.is_cancelled() {
            self.peer.presence.ended(steady);
        }
    }
}

impl<M> Drop for Session<M> {
    fn drop(&mut self) {
        // What replaced this session is not to be ended with it.
        if !self.replaced.is_cancelled() {
            *self.peer.caller() = None;
            self.peer.left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::clock::tests::ManualClock;

    fn peer() -> Arc<Peer<()>> {
        let id = NodeId::new(3).expect("not zero");
        let address = "127.0.0.1:7003".parse().expect("an address");
        let outbox = Outbox::new(Duration::from_secs(1), Arc::new(ManualClock::new()));
        Arc::new(Peer::new(id, address, outbox, Presence::default()))
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
            assert!(
                (LONGEST_PROBLEM - 3..=LONGEST_PROBLEM).contains(&kept.len()),
                "{}",
                kept.len()
            );
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
}
