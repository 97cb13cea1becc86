//! Messages that wait for a connection: few, fresh, and never in the way of newer ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::lock::lock;
use crate::protocol::Time;

/// How many messages of one group wait for one peer. A node says at most a few things to a peer
/// between two time-outs, so more than this means that the peer is not listening.
pub(crate) const CAPACITY: usize = 64;

/// A bounded queue that forgets the oldest message when it is full, and those that are too old.
///
/// Losing messages is allowed: the protocol's time-outs answer for it, and what is claimed is
/// claimed again. Delivering them late is worse: an answer from an election that is over delays the
/// next one. So a message that has waited longer than `lifetime` is dropped rather than sent, and
/// of too many the newest are kept, since they say what is true now. The time that the machine
/// sleeps counts.
#[derive(Debug)]
pub(crate) struct Outbox<M> {
    waiting: Mutex<VecDeque<(Time, M)>>,
    /// Whether a message was taken out and the next one was not asked for yet.
    taken: AtomicBool,
    arrived: Notify,
    room: usize,
    lifetime: Duration,
    clock: Arc<dyn Clock>,
    dropped: AtomicU64,
}

impl<M> Outbox<M> {
    /// A queue for the messages of so many groups.
    pub(crate) fn new(groups: usize, lifetime: Duration, clock: Arc<dyn Clock>) -> Self {
        let (waiting, room) = (Mutex::default(), CAPACITY * groups);
        let (taken, dropped) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { waiting, taken, arrived: Notify::new(), room, lifetime, clock, dropped }
    }

    /// Queues a message.
    pub(crate) fn push(&self, message: M) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() >= self.room {
            waiting.pop_front();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        waiting.push_back((self.clock.now(), message));
        drop(waiting);
        self.arrived.notify_one();
    }

    /// The next message that is still worth sending, as soon as there is one. No message is lost
    /// when the future is dropped.
    pub(crate) async fn next(&self) -> M {
        self.taken.store(false, Ordering::Release);
        loop {
            if let Some(message) = self.another() {
                return message;
            }
            // A push between the two lines leaves its permit behind, so this returns at once.
            self.arrived.notified().await;
        }
    }

    /// The next message that is still worth sending, if one waits, after [`Outbox::next`] has
    /// returned one that is not dealt with yet: so that both can be sent together.
    pub(crate) fn another(&self) -> Option<M> {
        let mut waiting = lock(&self.waiting);
        while let Some((since, message)) = waiting.pop_front() {
            if self.clock.now().since(since) <= self.lifetime {
                self.taken.store(true, Ordering::Release);
                return Some(message);
            }
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        None
    }

    /// Whether no message waits, and the one that was taken out last is dealt with.
    pub(crate) fn is_done(&self) -> bool {
        let waiting = lock(&self.waiting);
        waiting.is_empty() && !self.taken.load(Ordering::Acquire)
    }

    /// How many messages were dropped because they were too many or too old.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::tests::ManualClock;

    fn outbox<M>() -> Outbox<M> {
        Outbox::new(1, Duration::from_secs(1), Arc::new(ManualClock::new()))
    }

    #[tokio::test(start_paused = true)]
    async fn messages_leave_in_the_order_in_which_they_came_and_of_too_many_the_oldest_go() {
        let outbox = outbox();
        (0..CAPACITY).for_each(|message| outbox.push(message));
        assert_eq!(outbox.dropped(), 0);
        outbox.push(CAPACITY);
        for message in 1..=CAPACITY {
            assert_eq!(outbox.next().await, message);
        }
        assert_eq!(outbox.dropped(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_has_waited_too_long_is_not_sent_whether_the_machine_slept_or_not() {
        for asleep in [false, true] {
            let clock = ManualClock::new();
            let outbox = Outbox::new(1, Duration::from_secs(1), Arc::new(clock.clone()));
            outbox.push("stale");
            let time = Duration::from_millis(1_001);
            if asleep {
                clock.sleep(time);
            } else {
                tokio::time::advance(time).await;
            }
            outbox.push("fresh");
            assert_eq!(outbox.next().await, "fresh");
            assert_eq!(outbox.dropped(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_wakes_the_one_who_waits_for_it() {
        let outbox = outbox();
        let ((), message) = tokio::join!(async { outbox.push("now") }, outbox.next());
        assert_eq!(message, "now");
    }

    /// What `next` does, step by step: on another thread a push can come between its two lines.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_comes_just_before_the_wait_ends_it() {
        let outbox = outbox();
        assert_eq!(outbox.another(), None);
        outbox.push("now");
        let told = tokio::time::timeout(Duration::from_secs(1), outbox.arrived.notified());
        assert!(told.await.is_ok());
        assert_eq!(outbox.another(), Some("now"));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_done_when_the_message_after_the_last_is_asked_for() {
        let outbox = outbox();
        assert!(outbox.is_done());
        outbox.push("last");
        assert!(!outbox.is_done(), "it waits");
        assert_eq!(outbox.next().await, "last");
        assert!(!outbox.is_done(), "it is being sent");
        let more = tokio::time::timeout(Duration::from_millis(10), outbox.next());
        assert!(more.await.is_err());
        assert!(outbox.is_done());
        outbox.push("one more");
        assert_eq!(outbox.next().await, "one more", "the wait that was given up loses none");
    }
}
