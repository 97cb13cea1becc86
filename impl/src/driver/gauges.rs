//! What is measured of a node beside its status: its links, whether its store answers, the time
//! that its storage takes, and for how long it does not run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::lock::lock;
use crate::report::{LinkMeasurements, Measurements, StorageMeasurements, StoreView};
use crate::transport::Links;

/// Where a handle reads what is measured. A clone is the same.
#[derive(Clone)]
pub(super) struct Gauges {
    links: Arc<dyn Fn() -> Vec<LinkMeasurements> + Send + Sync>,
    /// The store that is no member, if the node asks one.
    store: Option<watch::Receiver<StoreView>>,
    syncs: Arc<SyncTimes>,
    frozen_until: Arc<Mutex<Option<Instant>>>,
    /// Whether the node does not run because of maintenance.
    maintained: Arc<AtomicBool>,
}

impl Gauges {
    /// Of a node with these links, and a storage whose times are these.
    pub(super) fn new<M: Send + Sync + 'static>(links: Links<M>, syncs: Arc<SyncTimes>) -> Self {
        Self {
            store: links.store_views(),
            links: Arc::new(move || links.measurements()),
            syncs,
            frozen_until: Arc::default(),
            maintained: Arc::default(),
        }
    }

    /// The node does not run before then. Returns what was so before.
    pub(super) fn freeze(&self, until: Option<Instant>) -> Option<Instant> {
        std::mem::replace(&mut *lock(&self.frozen_until), until)
    }

    /// The node does not run because of maintenance, or it may. Returns what was so before.
    pub(super) fn set_maintained(&self, maintained: bool) -> bool {
        self.maintained.swap(maintained, Ordering::Relaxed)
    }

    /// For how long the node does not run.
    pub(super) fn frozen(&self) -> Duration {
        let until = *lock(&self.frozen_until);
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    /// How the store is that the node asks, if it asks one that is no member.
    pub(super) fn store(&self) -> Option<StoreView> {
        self.store.as_ref().map(|store| store.borrow().clone())
    }

    /// What is measured at this moment.
    pub(super) fn read(&self) -> Measurements {
        let store_connected = self.store.as_ref().map(|store| store.borrow().up);
        let (links, storage) = ((self.links)(), self.syncs.read());
        Measurements { links, storage, frozen: self.frozen(), store_connected }
    }
}

/// How long writes to the storage take until they are durable.
#[derive(Debug, Default)]
pub(super) struct SyncTimes(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// When the write under way began.
    began: Option<Instant>,
    /// When the latest write was done.
    done: Option<Instant>,
    /// How long the latest one took, whether it was done or has failed.
    last: Option<Duration>,
    longest: Duration,
    count: u64,
}

impl SyncTimes {
    /// Lets the storage write, and returns what it says.
    pub(super) fn measure<E>(&self, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let began = Instant::now();
        lock(&self.0).began = Some(began);
        let result = write();
        let done = Instant::now();
        let took = done - began;
        let mut times = lock(&self.0);
        (times.began, times.last) = (None, Some(took));
        times.longest = times.longest.max(took);
        if result.is_ok() {
            times.done = Some(done);
            times.count += 1;
        }
        result
    }

    /// What was measured; none if nothing was written.
    fn read(&self) -> Option<StorageMeasurements> {
        let times = lock(&self.0);
        let under_way = times.began.map(|began| began.elapsed());
        // None is less than any time.
        let last = times.last.max(under_way)?;
        Some(StorageMeasurements {
            syncs: times.count,
            last,
            longest: times.longest.max(last),
            age: times.done.map(|done| done.elapsed()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use crate::clock::tests::ManualClock;

    const MS: Duration = Duration::from_millis(1);

    fn take(time: Duration) -> Result<(), ()> {
        thread::sleep(time);
        Ok(())
    }

    #[test]
    fn the_times_of_writes_are_the_latest_and_the_longest() {
        let times = SyncTimes::default();
        assert_eq!(times.read(), None);
        assert_eq!(times.measure(|| take(60 * MS)), Ok(()));
        assert_eq!(times.measure(|| take(MS)), Ok(()));
        let began = Instant::now();
        assert_eq!(times.measure(|| Err("the disk is full")), Err("the disk is full"));
        let took = began.elapsed();
        let read = times.read().expect("something was written");
        assert_eq!(read.syncs, 2, "the third has failed");
        assert!(read.longest >= 60 * MS, "{read:?}");
        assert!(read.last <= took, "{read:?}, not {took:?}");
        assert!(read.age.is_some(), "{read:?}");
    }

    #[test]
    fn a_write_that_does_not_end_is_seen_while_it_lasts() {
        let times = Arc::new(SyncTimes::default());
        let (begins, begun) = channel();
        let (end, ends) = channel::<()>();
        let theirs = Arc::clone(&times);
        let write = thread::spawn(move || {
            theirs.measure(|| {
                begins.send(()).expect("the test waits");
                ends.recv()
            })
        });
        begun.recv().expect("it begins");
        thread::sleep(50 * MS);
        let read = times.read().expect("it has begun");
        assert!(read.last >= 50 * MS && read.longest >= read.last, "{read:?}");
        assert_eq!((read.syncs, read.age), (0, None));
        end.send(()).expect("it waits");
        assert!(write.join().expect("no panic").is_ok());
        assert_eq!(times.read().expect("it is done").syncs, 1);
    }

    #[tokio::test]
    async fn a_node_is_frozen_until_then() {
        let links = Links::<()>::new(1, std::iter::empty(), MS, ManualClock::new());
        let gauges = Gauges::new(links, Arc::default());
        assert_eq!(gauges.read().frozen, Duration::ZERO);
        assert_eq!(gauges.read().store_connected, None, "it asks none");
        let until = Instant::now().checked_add(60_000 * MS);
        assert_eq!(gauges.freeze(until), None);
        let left = gauges.read().frozen;
        assert!(left > 30_000 * MS && left <= 60_000 * MS, "{left:?}");
        assert_eq!(gauges.freeze(None), until);
        assert_eq!(gauges.read().frozen, Duration::ZERO);
    }
}
