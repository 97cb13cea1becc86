//! The clock that gives the cores their `now`.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::protocol::Time;

/// A clock that never goes back and, on Linux, does not stop while the machine sleeps: a leader
/// that wakes up knows how long it was gone. Elsewhere it may stop during sleep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock;

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

impl Clock {
    /// The time since the machine started.
    pub(crate) fn now(self) -> Time {
        let now = clock_gettime(CLOCK);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or(0);
        Time::ZERO + Duration::new(seconds, nanoseconds)
    }
}
