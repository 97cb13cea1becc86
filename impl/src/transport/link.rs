//! The links to the other nodes, which come and go while the node runs: the state of each, and what
//! wakes the tasks that wait for a change of it.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::cause::Cause;
use super::connect::{Backoff, Resolver};
use super::frame::Frame;
use super::outbox::{Outbox, until};
use super::peer::{News, Peer};
use crate::clock::Clock;
use crate::config::Address;
use crate::lock::lock;
use crate::protocol::{NodeId, Time};

/// How long a process may take to be gone when the next one with its id calls already.
const GRACE: Duration = Duration::from_millis(500);

/// The link to another member of the cluster.
pub(super) struct PeerLink<M> {
    pub(super) id: NodeId,
    pub(super) address: Address,
    pub(super) resolver: Resolver,
    state: Mutex<Peer<M>>,
    clock: Arc<dyn Clock>,
    /// Told when the process of the peer is gone: one for each group.
    gone: Arc<[Notify]>,
    /// Told when the task that calls the peer, and sends, may have something to do.
    wake: Notify,
    /// Told when no message waits any more, or the connection to the peer has ended.
    idle: Notify,
    /// Told when another connection from the peer, or none, has the place of the one before.
    place: Notify,
    /// Cancelled when the node is no peer of this one any more.
    pub(super) removed: CancellationToken,
}

impl<M> PeerLink<M> {
    /// The state of the peer. What changes it and is to be noticed, is [told](Self::tell).
    pub(super) fn state(&self) -> MutexGuard<'_, Peer<M>> {
        lock(&self.state)
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Tells the peer's state of an event, and all that wait that something has changed.
    pub(super) fn tell<T>(&self, event: impl FnOnce(&mut Peer<M>, Time) -> T) -> T {
        let mut state = self.state();
        let was_gone = state.is_gone();
        let follows = event(&mut state, self.now());
        if state.is_gone() && !was_gone {
            self.gone.iter().for_each(Notify::notify_one);
        }
        drop(state);
        self.wake.notify_one();
        self.idle.notify_waiters();
        self.place.notify_waiters();
        follows
    }

    /// Notes that something is due on the connection to the peer, as soon as there is one.
    pub(super) fn owe(&self, note: impl FnOnce(&mut Peer<M>, Time)) {
        note(&mut self.state(), self.now());
        self.wake.notify_one();
    }

    /// Notes that the peer has sent this frame.
    pub(super) fn hear(&self, frame: &Frame<M>) -> Option<News> {
        let news = self.state().hear(self.now(), frame);
        if let Frame::Ping(_) = frame {
            self.wake.notify_one();
        }
        news
    }

    /// Returns what is due as soon as something is. The error of `next` is how long nothing is.
    /// Nothing is lost when the future is dropped.
    pub(super) async fn due<T>(&self, next: impl Fn(&mut Peer<M>, Time) -> Result<T, Time>) -> T {
        loop {
            let now = self.now();
            let until = match next(&mut self.state(), now) {
                Ok(due) => return due,
                Err(until) => until,
            };
            self.idle.notify_waiters();
            // What comes between these lines leaves its permit behind, so this returns at once.
            let _ = timeout(until.since(now), self.wake.notified()).await;
        }
    }

    /// Returns as soon as no message is on its way to the network.
    pub(super) async fn flushed(&self) {
        until(&self.idle, || self.state().is_flushed()).await;
    }

    /// Lets a process speak as this peer. If another one has the place, that gets a moment to be
    /// gone; and the process is let in at once if it `answers` at the address of the peer.
    ///
    /// If it is refused, the incarnation of the other is returned.
    pub(super) async fn admit(
        self: &Arc<Self>,
        incarnation: u64,
        answers: impl Future<Output = bool>,
    ) -> Result<Session<M>, u64> {
        let session = |number| Session { link: Arc::clone(self), number };
        let admit = |answers| self.tell(|peer, now| peer.admit(now, incarnation, answers));
        if let Ok(number) = admit(false) {
            return Ok(session(number));
        }
        let deadline = Instant::now() + GRACE;
        let asked = async {
            let is_there = answers.await;
            if !is_there {
                sleep_until(deadline).await;
            }
            is_there
        };
        let is_there = tokio::select! {
            () = until(&self.place, || !self.state().is_heard()) => false,
            is_there = asked => is_there,
        };
        admit(is_there).map(session)
    }
}

/// The right to speak as a peer; over when dropped.
pub(super) struct Session<M> {
    link: Arc<PeerLink<M>>,
    number: u64,
}

impl<M> Session<M> {
    /// Returns whether no newer connection has the place of this one.
    pub(super) fn has_place(&self) -> bool {
        self.link.state().has_place(self.number)
    }

    /// Returns as soon as a newer connection has the place of this one.
    pub(super) async fn replaced(&self) {
        until(&self.link.place, || !self.has_place()).await;
    }

    /// Notes that the connection has ended. See [`Peer::left`].
    pub(super) fn ended(&self, cause: &Cause, steady: Duration) -> Option<News> {
        self.link.tell(|peer, now| peer.left(now, self.number, Some(cause), steady))
    }
}

impl<M> Drop for Session<M> {
    fn drop(&mut self) {
        self.link.tell(|peer, now| peer.left(now, self.number, None, Duration::ZERO));
    }
}

/// The peers at one moment.
pub(super) type Snapshot<M> = Arc<BTreeMap<NodeId, Arc<PeerLink<M>>>>;

/// The peers, and what all of them have in common.
///
/// A reader takes the peers of one moment. A peer that stays is the same, with its connections. A
/// peer that goes, or gets another address, is removed: what serves it ends. [`super::outgoing`]
/// calls a peer that comes.
pub(super) struct Peers<M> {
    now: watch::Sender<Snapshot<M>>,
    lifetime: Duration,
    clock: Arc<dyn Clock>,
    pub(super) gone: Arc<[Notify]>,
    /// How many handshakes were refused.
    pub(super) refused: AtomicU64,
    /// How many frames made no sense.
    pub(super) bad_frames: AtomicU64,
}

impl<M> Peers<M> {
    /// Returns no peers yet, of a node with so many groups. A message to a peer is worth sending
    /// for as long as `lifetime`.
    pub(super) fn new(groups: usize, lifetime: Duration, clock: impl Clock) -> Self {
        let gone = (0..groups).map(|_| Notify::new()).collect();
        let (now, clock) = (watch::Sender::new(Snapshot::default()), Arc::new(clock));
        let (refused, bad_frames) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { now, lifetime, clock, gone, refused, bad_frames }
    }

    pub(super) fn now(&self) -> Snapshot<M> {
        Arc::clone(&self.now.borrow())
    }

    /// Returns the peers now, and each change.
    pub(super) fn changes(&self) -> watch::Receiver<Snapshot<M>> {
        self.now.subscribe()
    }

    /// The peers are these from now on. Returns those that are removed.
    pub(super) fn set(&self, others: BTreeMap<NodeId, Address>) -> Vec<Arc<PeerLink<M>>> {
        let mut removed: Vec<Arc<PeerLink<M>>> = Vec::new();
        self.now.send_modify(|now| {
            let peer = |(id, address): (NodeId, Address)| {
                let same = now.get(&id).filter(|peer| peer.address == address).cloned();
                (id, same.unwrap_or_else(|| self.link(id, address)))
            };
            let next = Arc::new(others.into_iter().map(peer).collect());
            removed = except(now, &next).cloned().collect();
            *now = next;
        });
        removed.iter().for_each(|peer| peer.removed.cancel());
        removed
    }

    fn link(&self, id: NodeId, address: Address) -> Arc<PeerLink<M>> {
        let outbox = Outbox::new(self.gone.len(), self.lifetime);
        // Another seed on each node, so that nodes that lost a peer together do not call together.
        let backoff = Backoff::new(self.lifetime, rand::random());
        Arc::new(PeerLink {
            id,
            resolver: Resolver::new(address.clone()),
            address,
            state: Mutex::new(Peer::new(outbox, backoff)),
            clock: Arc::clone(&self.clock),
            gone: Arc::clone(&self.gone),
            wake: Notify::new(),
            idle: Notify::new(),
            place: Notify::new(),
            removed: CancellationToken::new(),
        })
    }
}

/// Those of `all` that are not among the `others`.
pub(super) fn except<'a, M>(
    all: &'a Snapshot<M>,
    others: &'a Snapshot<M>,
) -> impl Iterator<Item = &'a Arc<PeerLink<M>>> {
    all.values()
        .filter(move |peer| others.get(&peer.id).is_none_or(|other| !Arc::ptr_eq(other, peer)))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt as _;

    use super::super::facts::NodeFacts;
    use super::*;
    use crate::clock::tests::ManualClock;

    fn link() -> Arc<PeerLink<()>> {
        let peers = Peers::new(1, Duration::from_secs(1), ManualClock::new());
        let id = NodeId::new(3).expect("not zero");
        peers.link(id, "127.0.0.1:7003".parse().expect("an address"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_process_is_let_in_at_once_if_it_answers_and_refused_after_a_moment() {
        let link = link();
        let first = link.admit(1, pending()).await.expect("free");
        let before = Instant::now();
        assert_eq!(link.admit(2, ready(false)).await.err(), Some(1), "taken");
        assert!(before.elapsed() >= GRACE && first.has_place());
        let before = Instant::now();
        let restarted = link.admit(2, ready(true)).await.expect("it is there");
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert!(!first.has_place() && restarted.has_place());
        first.replaced().await;
        // The end of the old connection is noticed at some time. It is not the end of the new one.
        drop(first);
        assert_eq!(link.admit(3, ready(false)).await.err(), Some(2), "taken");
    }

    #[tokio::test(start_paused = true)]
    async fn a_restarted_process_gets_in_as_soon_as_its_past_is_gone() {
        let link = link();
        let past = link.admit(1, pending()).await.expect("free");
        let leave = async {
            tokio::time::sleep(GRACE / 2).await;
            drop(past);
        };
        let before = Instant::now();
        let (session, ()) = tokio::join!(link.admit(2, ready(false)), leave);
        assert!(session.is_ok() && before.elapsed() < GRACE);
    }

    /// A refusal comes before the end of the connection or after it.
    #[tokio::test(start_paused = true)]
    async fn each_group_is_told_once_that_a_peer_is_gone() {
        for refused_first in [true, false] {
            let link = link();
            let session = link.admit(1, pending()).await.expect("free");
            let refuse = || link.tell(|peer, _| peer.signs.refused = true);
            if refused_first {
                refuse();
            }
            assert_eq!(session.ended(&Cause::HungUp, Duration::ZERO), None, "it was not up");
            refuse();
            refuse();
            assert!(link.state().is_gone());
            let told = || link.gone[0].notified().now_or_never().is_some();
            assert!(told() && !told());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_due_is_told_when_it_comes_and_when_its_time_comes() {
        let link = link();
        link.due(|peer, now| peer.call(now)).await;
        link.tell(|peer, now| peer.connected(now, None, NodeFacts::default()));
        let next = || link.due(|peer, now| peer.next(now, GRACE));
        let start = Instant::now();
        for frame in [Frame::NodeFacts(NodeFacts::default()), Frame::Ping(1), Frame::Ping(2)] {
            assert_eq!(next().await.ok(), Some(frame));
        }
        let waited = start.elapsed();
        assert!(waited >= GRACE);
        let beat = async { link.owe(|peer, _| peer.due.beat = true) };
        let (frame, ()) = tokio::join!(next(), beat);
        assert_eq!((frame.ok(), start.elapsed()), (Some(Frame::Heartbeat), waited));
        // On another thread, what is due can come between the look and the wait.
        link.owe(|peer, _| peer.due.beat = true);
        assert!(timeout(GRACE, link.wake.notified()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_is_flushed_when_what_comes_after_the_last_message_is_asked_for() {
        let link = link();
        link.owe(|peer, now| peer.outbox.push(now, Frame::Message(())));
        link.flushed().await;
        link.tell(|peer, now| peer.connected(now, None, NodeFacts::default()));
        let next = || link.due(|peer, now| peer.next(now, GRACE));
        assert_eq!(next().await.ok(), Some(Frame::Message(())));
        let sends = async {
            tokio::time::sleep(GRACE).await;
            while timeout(GRACE / 2, next()).await.is_ok() {}
        };
        let start = Instant::now();
        let flushed = async {
            link.flushed().await;
            start.elapsed()
        };
        let (took, ()) = tokio::join!(flushed, sends);
        assert!(took >= GRACE, "it is being sent");
        link.owe(|peer, now| peer.outbox.push(now, Frame::Message(())));
        let end = async { link.tell(|peer, now| peer.disconnected(now, &Cause::HungUp, GRACE)) };
        tokio::join!(link.flushed(), end);
    }
}
