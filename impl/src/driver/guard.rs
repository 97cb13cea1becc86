//! Whether this node leads at this moment: the question before each thing that only a leader may
//! do.
//!
//! The loop around the node writes down which epoch it leads, and until when its lease lasts. A
//! guard compares that with the clock at each question, whatever the loop is doing: a process that
//! was paused for longer than its lease is told so at once, before the loop has run again.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use super::work::WorkTracker;
use crate::clock::Clock;
use crate::fence::Token;
use crate::protocol::{Epoch, Lease, NodeId, Time};

/// A guard of one leadership of this node, for one epoch: an application asks it before each thing
/// that only a leader may do.
///
/// A guard is valid while the node leads that epoch and its lease lasts, by a clock that does not
/// stop while the machine sleeps. Once invalid it stays invalid; a later leadership has another
/// epoch, and is another [`Handle::guard`](super::Handle::guard). Asking never blocks.
///
/// Between the answer and what is done upon it, a pause may always come. So send the
/// [`token`](Guard::token) along, to something that refuses lower epochs.
#[derive(Clone, Debug)]
pub struct Guard {
    epoch: Epoch,
    leases: Arc<NodeLease>,
}

impl Guard {
    /// Returns the epoch that this guards.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the fencing token: the epoch, and this node.
    #[must_use]
    pub fn token(&self) -> Token {
        Token { epoch: self.epoch, node: self.leases.node }
    }

    /// Returns whether the node leads this epoch now, and its lease is still valid.
    #[must_use]
    pub fn is_valid_now(&self) -> bool {
        self.until().is_some()
    }

    /// Returns when the lease of this epoch will be over if it is not renewed, by the clock that
    /// the guard compares it with: on Linux the time since the machine started, `CLOCK_BOOTTIME`.
    /// Returns `None` if the guard is not valid now.
    #[must_use]
    pub fn until(&self) -> Option<Time> {
        self.leases.current().filter(|lease| lease.epoch == self.epoch).map(|lease| lease.until)
    }

    pub(super) fn work_tracker(&self) -> &WorkTracker {
        &self.leases.work_tracker
    }

    /// How long it stays valid if the lease is not renewed. None if it is not valid now.
    pub(super) fn left(&self) -> Option<Duration> {
        self.until().map(|until| until.since(self.leases.clock.now()))
    }
}

/// The lease of a node, which the loop writes and guards read. Times are nanoseconds of the clock.
#[derive(Debug)]
pub(super) struct NodeLease {
    node: NodeId,
    clock: Box<dyn Clock>,
    /// How long a lease is that has just been asked for.
    length: Duration,
    /// The epoch that the node leads; 0, which no node leads, if it does not lead.
    epoch: AtomicU64,
    /// When its lease is over.
    until: AtomicU64,
    /// What the application does meanwhile that the loop waits for.
    pub(super) work_tracker: WorkTracker,
    margin: Margin,
}

/// Writes the lease, for the loop. When it ends, however it does, the node leads no longer.
#[derive(Debug)]
pub(super) struct LeaseWriter(Arc<NodeLease>);

impl LeaseWriter {
    pub(super) fn new(node: NodeId, clock: impl Clock, length: Duration) -> (Self, Arc<NodeLease>) {
        let lease = Arc::new(NodeLease {
            node,
            clock: Box::new(clock),
            length,
            epoch: AtomicU64::default(),
            until: AtomicU64::default(),
            work_tracker: WorkTracker::default(),
            margin: Margin::default(),
        });
        (Self(Arc::clone(&lease)), lease)
    }

    /// What is to end before another node can lead.
    pub(super) fn work_tracker(&self) -> &WorkTracker {
        &self.0.work_tracker
    }

    /// The node has this lease from here on. A time is never written beside an epoch whose lease is
    /// over earlier. Returns what was left of the lease before, if that is [to be warned
    /// of](Margin::renewed).
    pub(super) fn set(&self, lease: Option<Lease>) -> Option<Duration> {
        let NodeLease { clock, length, epoch, until, margin, .. } = &*self.0;
        let held = lease.map_or(0, |lease| lease.epoch.number());
        let (mut late, before) = (None, until.load(SeqCst));
        if epoch.load(SeqCst) != held {
            epoch.store(0, SeqCst);
            until.store(0, SeqCst);
            margin.begin();
        } else if lease.is_some_and(|lease| lease.until.as_nanos() != before) {
            let left = Time::from_nanos(before).since(clock.now());
            late = Some(left).filter(|&left| margin.renewed(left, *length));
        }
        if let Some(lease) = lease {
            until.store(lease.until.as_nanos(), SeqCst);
            epoch.store(held, SeqCst);
        }
        late
    }
}

impl Drop for LeaseWriter {
    fn drop(&mut self) {
        self.set(None);
    }
}

impl NodeLease {
    /// How long the lease lasts if it is not renewed.
    pub(super) fn left(&self) -> Option<Duration> {
        self.current().map(|lease| lease.until.since(self.clock.now()))
    }

    /// What was left of the lease when it was renewed last.
    pub(super) fn margin(&self) -> Option<Duration> {
        self.current().and_then(|_| self.margin.left())
    }

    /// How often the lease was renewed with less than a third of it left.
    pub(super) fn late_renewals(&self) -> u64 {
        self.margin.late()
    }

    /// The time by the clock of the node.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn guard(self: &Arc<Self>) -> Option<Guard> {
        Some(Guard { epoch: self.current()?.epoch, leases: Arc::clone(self) })
    }

    /// The lease that the node has now. The clock is read last: no pause in here makes a lease last
    /// longer.
    fn current(&self) -> Option<Lease> {
        let until = Time::from_nanos(self.until.load(SeqCst));
        let epoch = self.epoch.load(SeqCst);
        (epoch != 0 && self.clock.now() < until).then(|| Lease { epoch: Epoch::new(epoch), until })
    }
}

/// What is left is little if it is less than this part of the lease.
const LITTLE: u32 = 3;

/// How close a leader comes to the end of its lease: what was left of it when it was renewed last,
/// and how often that was little. A leader that renews its lease with little left will lose it with
/// the next slow answer. A late renewal is warned of once, and counted each time.
#[derive(Debug, Default)]
struct Margin {
    /// In nanoseconds; 0 before the lease was renewed.
    left: AtomicU64,
    late: AtomicU64,
    /// Whether little was left the last time.
    warned: AtomicBool,
}

impl Margin {
    /// A leader has a new lease, which was never renewed.
    fn begin(&self) {
        self.left.store(0, Relaxed);
        self.warned.store(false, Relaxed);
    }

    /// The lease is renewed, `left` before its end; a lease takes `length`. True if that is to be
    /// warned of: little was left, and not the time before.
    fn renewed(&self, left: Duration, length: Duration) -> bool {
        let little = left < length / LITTLE;
        // 0 stands for a lease that was never renewed.
        let nanoseconds = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.left.store(nanoseconds, Relaxed);
        self.late.fetch_add(u64::from(little), Relaxed);
        !self.warned.swap(little, Relaxed) && little
    }

    /// What was left of the present lease when it was renewed last.
    fn left(&self) -> Option<Duration> {
        let left = self.left.load(Relaxed);
        (left != 0).then(|| Duration::from_nanos(left))
    }

    /// How often little was left.
    fn late(&self) -> u64 {
        self.late.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::tests::ManualClock;
    use crate::driver::tests::ms;

    fn new(clock: ManualClock) -> (LeaseWriter, Arc<NodeLease>) {
        LeaseWriter::new("3".parse().expect("an id"), clock, Duration::from_secs(2))
    }

    fn lease(epoch: u64, seconds: u64) -> Option<Lease> {
        let until = Time::ZERO + Duration::from_secs(seconds);
        Some(Lease { epoch: Epoch::new(epoch), until })
    }

    #[tokio::test(start_paused = true)]
    async fn a_guard_is_valid_while_the_lease_lasts_and_is_renewed() {
        let clock = ManualClock::new();
        let (lease_writer, leases) = new(clock.clone());
        assert!(leases.guard().is_none(), "it does not lead yet");
        lease_writer.set(lease(7, 2));
        let guard = leases.guard().expect("it leads");
        assert_eq!(guard.epoch(), Epoch::new(7));
        assert_eq!(guard.token().to_string(), "epoch 7 of node 3");
        clock.sleep(Duration::from_millis(1_999));
        assert!(guard.is_valid_now());
        let late = lease_writer.set(lease(7, 3));
        assert_eq!(late, Some(Duration::from_millis(1)), "of two seconds");
        assert_eq!(guard.until(), lease(7, 3).map(|lease| lease.until), "not from now on");
        assert_eq!(leases.margin(), late);
        assert_eq!(leases.late_renewals(), 1);
        assert_eq!(lease_writer.set(lease(7, 3)), None, "it is the same");
        clock.sleep(Duration::from_millis(2));
        assert!(guard.is_valid_now(), "renewed");
        // The loop has not run again: nothing but the clock says so.
        clock.sleep(Duration::from_secs(3_600));
        assert!(!guard.is_valid_now() && !guard.clone().is_valid_now());
        assert!(leases.guard().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_guard_is_for_one_epoch() {
        let (lease_writer, leases) = new(ManualClock::new());
        lease_writer.set(lease(7, 2));
        let first = leases.guard().expect("it leads");
        lease_writer.set(None);
        assert!(!first.is_valid_now(), "it leads no longer, though its lease would last");
        lease_writer.set(lease(9, 4));
        let second = leases.guard().expect("it leads again");
        assert!(second.is_valid_now() && !first.is_valid_now());
        drop(lease_writer);
        assert!(!second.is_valid_now(), "the loop has ended");
    }

    #[test]
    fn a_lease_that_is_renewed_late_is_warned_of_once_and_counted_each_time() {
        let margin = Margin::default();
        assert_eq!((margin.left(), margin.late()), (None, 0), "nothing was renewed");
        assert!(!margin.renewed(ms(800), ms(1_000)));
        assert_eq!((margin.left(), margin.late()), (Some(ms(800)), 0));
        assert!(!margin.renewed(ms(334), ms(1_000)), "a third is enough");
        assert!(margin.renewed(ms(333), ms(1_000)));
        assert!(!margin.renewed(ms(10), ms(1_000)), "it was said");
        assert_eq!((margin.left(), margin.late()), (Some(ms(10)), 2));
        assert!(!margin.renewed(ms(500), ms(1_000)));
        assert!(margin.renewed(ms(0), ms(1_000)), "it is late again");
        assert!(margin.left().is_some());
        margin.begin();
        assert_eq!((margin.left(), margin.late()), (None, 3), "another lease");
        assert!(margin.renewed(ms(1), ms(1_000)));
    }
}
