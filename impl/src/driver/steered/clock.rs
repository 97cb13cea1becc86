//! A clock that stands still until it is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::Clock;
use crate::protocol::Time;

/// The clock. A clone is the same clock.
#[derive(Clone, Debug)]
pub(super) struct SteeredClock(Arc<State>);

#[derive(Debug)]
struct State {
    now: AtomicU64,
    /// How often it was read.
    reads: AtomicU64,
}

impl SteeredClock {
    pub(super) fn new(now: Time) -> Self {
        Self(Arc::new(State { now: AtomicU64::new(now.as_nanos()), reads: AtomicU64::new(0) }))
    }

    /// Sets the clock.
    pub(super) fn set(&self, now: Time) {
        self.0.now.store(now.as_nanos(), Relaxed);
    }

    /// How often it was read: a loop that does something reads it.
    pub(super) fn reads(&self) -> u64 {
        self.0.reads.load(Relaxed)
    }
}

impl Clock for SteeredClock {
    fn now(&self) -> Time {
        self.0.reads.fetch_add(1, Relaxed);
        Time::from_nanos(self.0.now.load(Relaxed))
    }
}
