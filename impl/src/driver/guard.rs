//! Whether this node leads at this moment: the question before each thing that only a leader may
//! do.
//!
//! The loop around the node writes down which epoch it leads, and until when its lease lasts. A
//! guard compares that with the clock at each question, whatever the loop is doing: a process that
//! was paused for longer than its lease is told so at once, before the loop has run again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use super::work::Works;
use crate::clock::Clock;
use crate::protocol::{Epoch, Lease, Time};

/// The leadership of one epoch: what an application asks before each thing that only a leader may
/// do.
///
/// A guard is valid while the node leads that epoch and its lease lasts, by a clock that does not
/// stop while the machine sleeps. Once invalid it stays invalid; a later leadership has another
/// epoch, and is another [`Handle::guard`](super::Handle::guard). Asking never blocks.
///
/// Between the answer and what is done upon it, a pause may always come. So send the
/// [`epoch`](Guard::epoch) along as a fencing token, to something that refuses lower ones.
#[derive(Clone, Debug)]
pub struct Guard {
    epoch: Epoch,
    lessor: Lessor,
}

impl Guard {
    /// The epoch that it guards: the fencing token.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether the node leads this epoch now, and its lease lasts.
    #[must_use]
    pub fn is_valid_now(&self) -> bool {
        self.until().is_some()
    }

    /// When the lease of this epoch will be over if it is not renewed, by the clock that the
    /// guard compares it with: on Linux the time since the machine started, `CLOCK_BOOTTIME`. None
    /// if the guard is not valid now.
    #[must_use]
    pub fn until(&self) -> Option<Time> {
        self.lessor.lasting().filter(|lease| lease.epoch == self.epoch).map(|lease| lease.until)
    }
}

impl Guard {
    pub(super) fn works(&self) -> &Works {
        self.lessor.works()
    }

    /// How long it stays valid if the lease is not renewed. None if it is not valid now.
    pub(super) fn left(&self) -> Option<Duration> {
        self.until().map(|until| until.since(self.lessor.clock.now()))
    }
}

/// What the loop and the guards share. Times are nanoseconds of the clock.
#[derive(Debug, Default)]
struct Written {
    /// The epoch that the node leads; 0, which no node leads, if it does not lead.
    epoch: AtomicU64,
    /// When its lease is over.
    until: AtomicU64,
    /// What the application does meanwhile that the loop waits for.
    works: Works,
}

/// The side of the loop. When it ends, however it does, the node leads no longer.
#[derive(Debug)]
pub(super) struct Lessee(Arc<Written>);

/// The side of the application.
#[derive(Clone, Debug)]
pub(super) struct Lessor {
    written: Arc<Written>,
    clock: Arc<dyn Clock>,
}

impl Lessee {
    pub(super) fn new(clock: impl Clock) -> (Self, Lessor) {
        let written = Arc::<Written>::default();
        (Self(Arc::clone(&written)), Lessor { written, clock: Arc::new(clock) })
    }

    /// What is to end before another node can lead.
    pub(super) fn works(&self) -> &Works {
        &self.0.works
    }

    /// The node has this lease from here on. A time is never written beside an epoch whose lease is
    /// over earlier.
    pub(super) fn hold(&self, lease: Option<Lease>) {
        let Written { epoch, until, .. } = &*self.0;
        let held = lease.map_or(0, |lease| lease.epoch.number());
        if epoch.load(SeqCst) != held {
            epoch.store(0, SeqCst);
            until.store(0, SeqCst);
        }
        if let Some(lease) = lease {
            until.store(lease.until.as_nanos(), SeqCst);
            epoch.store(held, SeqCst);
        }
    }
}

impl Drop for Lessee {
    fn drop(&mut self) {
        self.hold(None);
    }
}

impl Lessor {
    /// What the loop waits for.
    pub(super) fn works(&self) -> &Works {
        &self.written.works
    }

    /// How long the lease lasts if it is not renewed.
    pub(super) fn left(&self) -> Option<Duration> {
        self.lasting().map(|lease| lease.until.since(self.clock.now()))
    }

    pub(super) fn guard(&self) -> Option<Guard> {
        Some(Guard { epoch: self.lasting()?.epoch, lessor: self.clone() })
    }

    /// The lease that the node has now. The clock is read last: no pause in here makes a lease last
    /// longer.
    fn lasting(&self) -> Option<Lease> {
        let Written { epoch, until, .. } = &*self.written;
        let until = Time::from_nanos(until.load(SeqCst));
        let epoch = epoch.load(SeqCst);
        (epoch != 0 && self.clock.now() < until).then(|| Lease { epoch: Epoch::new(epoch), until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::tests::ManualClock;

    fn lease(epoch: u64, seconds: u64) -> Option<Lease> {
        let until = Time::ZERO + Duration::from_secs(seconds);
        Some(Lease { epoch: Epoch::new(epoch), until })
    }

    #[tokio::test(start_paused = true)]
    async fn a_guard_is_valid_while_the_lease_lasts_and_is_renewed() {
        let clock = ManualClock::new();
        let (lessee, lessor) = Lessee::new(clock.clone());
        assert!(lessor.guard().is_none(), "it does not lead yet");
        lessee.hold(lease(7, 2));
        let guard = lessor.guard().expect("it leads");
        assert_eq!(guard.epoch(), Epoch::new(7));
        clock.sleep(Duration::from_millis(1_999));
        assert!(guard.is_valid_now());
        lessee.hold(lease(7, 3));
        clock.sleep(Duration::from_millis(2));
        assert!(guard.is_valid_now(), "renewed");
        // The loop has not run again: nothing but the clock says so.
        clock.sleep(Duration::from_secs(3_600));
        assert!(!guard.is_valid_now() && !guard.clone().is_valid_now());
        assert!(lessor.guard().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_guard_is_for_one_epoch() {
        let (lessee, lessor) = Lessee::new(ManualClock::new());
        lessee.hold(lease(7, 2));
        let first = lessor.guard().expect("it leads");
        lessee.hold(None);
        assert!(!first.is_valid_now(), "it leads no longer, though its lease would last");
        lessee.hold(lease(9, 4));
        let second = lessor.guard().expect("it leads again");
        assert!(second.is_valid_now() && !first.is_valid_now());
        drop(lessee);
        assert!(!second.is_valid_now(), "the loop has ended");
    }
}
