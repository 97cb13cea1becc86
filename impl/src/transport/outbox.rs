//! Messages that wait for a connection: few, fresh, and never in the way of newer ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::clock::Clock;
use crate::lock::lock;
use crate::protocol::{NodeId, Time};
use crate::report::StoreView;

/// How many messages of one group wait for one peer. A node says at most a few things to a peer
/// between two time-outs, so more than this means that the peer is not listening.
const CAPACITY: usize = 64;

/// A bounded queue that forgets the oldest message when it is full, and those that are too old.
///
/// Losing messages is allowed: the protocol's time-outs answer for it, and what is claimed is
/// claimed again. Delivering them late is worse: an answer from an election that is over delays the
/// next one. So a message that has waited longer than `lifetime` is dropped rather than sent, and
/// of too many the newest are kept, since they say what is true now. The time that the machine
/// sleeps counts.
#[derive(Debug)]
pub(super) struct Outbox<M> {
    waiting: VecDeque<(Time, M)>,
    /// Whether a message was taken out and is not dealt with yet.
    pub(super) taken: bool,
    room: usize,
    lifetime: Duration,
    /// How many messages were dropped because they were too many or too old.
    pub(super) dropped: u64,
}

impl<M> Outbox<M> {
    /// Returns an empty queue for the messages of so many groups.
    pub(super) fn new(groups: usize, lifetime: Duration) -> Self {
        let room = CAPACITY * groups;
        Self { waiting: VecDeque::new(), taken: false, room, lifetime, dropped: 0 }
    }

    /// Queues a message.
    pub(super) fn push(&mut self, now: Time, message: M) {
        if self.waiting.len() >= self.room {
            self.waiting.pop_front();
            self.dropped += 1;
        }
        self.waiting.push_back((now, message));
    }

    /// Takes the next message that is still worth sending, with the time at which it was queued.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, M)> {
        while let Some((since, message)) = self.waiting.pop_front() {
            if now.since(since) <= self.lifetime {
                self.taken = true;
                return Some((since, message));
            }
            self.dropped += 1;
        }
        None
    }

    /// Returns whether no message waits, and those that were taken out are dealt with.
    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && !self.taken
    }
}

/// The messages of one group for the store that answers in place of a node, and how the store is.
pub(crate) struct Mailbox<M> {
    /// The id under which the core knows the store.
    pub(crate) id: NodeId,
    outbox: Mutex<Outbox<M>>,
    arrived: Notify,
    /// Told when no message waits any more, or the connection to the store has ended.
    idle: Notify,
    /// How long a message is worth an answer.
    pub(crate) lifetime: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    is_connected: AtomicBool,
    pub(crate) view: watch::Sender<StoreView>,
}

impl<M> Mailbox<M> {
    /// Returns a mailbox for messages that are worth an answer for as long as `lifetime`.
    pub(crate) fn new(
        id: NodeId,
        view: StoreView,
        lifetime: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let outbox = Mutex::new(Outbox::new(1, lifetime));
        let (is_connected, view) = (AtomicBool::new(false), watch::Sender::new(view));
        let (arrived, idle) = (Notify::new(), Notify::new());
        Self { id, outbox, arrived, idle, lifetime, clock, is_connected, view }
    }

    /// Has the store asked as soon as there is a connection, unless the message is too old by then.
    pub(crate) fn push(&self, message: M) {
        lock(&self.outbox).push(self.clock.now(), message);
        self.arrived.notify_one();
    }

    /// Returns the next message, with the moment at which it was sent, as soon as there is one. The
    /// message before is dealt with. No message is lost when the future is dropped.
    pub(crate) async fn next(&self) -> (Time, M) {
        lock(&self.outbox).taken = false;
        loop {
            if let Some(next) = lock(&self.outbox).pop(self.clock.now()) {
                return next;
            }
            self.idle.notify_waiters();
            // A push between these lines leaves its permit behind, so this returns at once.
            self.arrived.notified().await;
        }
    }

    /// Notes whether there is a connection to the store.
    pub(crate) fn set_connected(&self, is_connected: bool) {
        self.is_connected.store(is_connected, Ordering::Release);
        self.idle.notify_waiters();
    }

    /// Returns whether the store has got all that it can get now.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.is_connected.load(Ordering::Acquire) || lock(&self.outbox).is_done()
    }

    /// Returns as soon as the store has got all that it can get.
    pub(super) async fn flushed(&self) {
        until(&self.idle, || self.is_flushed()).await;
    }
}

/// Returns when something is so, which may become so whenever all that wait are told of `news`.
pub(super) async fn until(news: &Notify, is_so: impl Fn() -> bool) {
    loop {
        // What is told from here on is not missed.
        let told = news.notified();
        if is_so() {
            return;
        }
        told.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::tests::ManualClock;
    use crate::store::STORE;

    const LIFETIME: Duration = Duration::from_secs(1);

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    #[test]
    fn messages_leave_in_the_order_in_which_they_came_and_of_too_many_the_oldest_go() {
        let mut outbox = Outbox::new(1, LIFETIME);
        (0..CAPACITY).for_each(|message| outbox.push(at(0), message));
        assert_eq!(outbox.dropped, 0);
        outbox.push(at(0), CAPACITY);
        for message in 1..=CAPACITY {
            assert_eq!(outbox.pop(at(0)), Some((at(0), message)));
        }
        assert_eq!((outbox.pop(at(0)), outbox.dropped), (None, 1));
    }

    #[test]
    fn a_message_that_has_waited_too_long_is_not_sent() {
        let mut outbox = Outbox::new(1, LIFETIME);
        outbox.push(at(0), "stale");
        outbox.push(at(1), "last");
        outbox.push(at(1_001), "fresh");
        assert_eq!(outbox.pop(at(1_001)), Some((at(1), "last")));
        assert_eq!(outbox.pop(at(1_001)), Some((at(1_001), "fresh")));
        assert_eq!(outbox.dropped, 1);
    }

    fn mailbox(clock: &ManualClock) -> Mailbox<&'static str> {
        let view = StoreView::new("10.0.0.1:1".to_owned(), "lease".to_owned());
        Mailbox::new(STORE, view, LIFETIME, Arc::new(clock.clone()))
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_that_the_machine_sleeps_makes_a_message_stale() {
        let clock = ManualClock::new();
        let mailbox = mailbox(&clock);
        mailbox.push("stale");
        clock.sleep(LIFETIME + Duration::from_millis(1));
        mailbox.push("fresh");
        assert_eq!(mailbox.next().await.1, "fresh");
    }

    /// What `next` does, step by step: on another thread a push can come between its lines.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_comes_just_before_the_wait_ends_it() {
        let clock = ManualClock::new();
        let mailbox = mailbox(&clock);
        assert_eq!(lock(&mailbox.outbox).pop(clock.now()), None);
        mailbox.push("now");
        let told = tokio::time::timeout(LIFETIME, mailbox.arrived.notified());
        assert!(told.await.is_ok());
        let ((), (_, message)) = tokio::join!(async { mailbox.push("next") }, mailbox.next());
        assert_eq!(message, "now");
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_flushed_when_the_message_after_the_last_is_asked_for() {
        let mailbox = mailbox(&ManualClock::new());
        mailbox.set_connected(true);
        assert!(mailbox.is_flushed());
        mailbox.push("last");
        assert!(!mailbox.is_flushed(), "it waits");
        assert_eq!(mailbox.next().await.1, "last");
        assert!(!mailbox.is_flushed(), "it is being sent");
        let more = tokio::time::timeout(LIFETIME, mailbox.next());
        let ((), more) = tokio::join!(mailbox.flushed(), more);
        assert!(more.is_err());
        mailbox.push("one more");
        assert_eq!(mailbox.next().await.1, "one more", "the wait that was given up loses none");
        // No one waits for a store that is away.
        tokio::join!(mailbox.flushed(), async { mailbox.set_connected(false) });
    }
}
