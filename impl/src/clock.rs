//! The clock that gives the cores their `now`, and messages that wait their age.

use std::fmt::Debug;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::protocol::Time;

/// What tells the time.
pub(crate) trait Clock: Debug + Send + Sync + 'static {
    /// The time since some moment that does not change.
    fn now(&self) -> Time;
}

/// A clock that never goes back and, on Linux, does not stop while the machine sleeps: a leader
/// that wakes up knows how long it was gone. Elsewhere it may stop during sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl SystemClock {
    #[cfg(target_os = "linux")]
    const ID: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const ID: ClockId = ClockId::Monotonic;
}

impl Clock for SystemClock {
    /// The time since the machine started.
    fn now(&self) -> Time {
        let now = clock_gettime(Self::ID);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or(0);
        Time::ZERO + Duration::new(seconds, nanoseconds)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::time::Instant;

    use super::*;

    /// Goes with the runtime's time, which a test can pause, and on its own while the machine
    /// sleeps. All clones are one clock.
    #[derive(Clone, Debug)]
    pub(crate) struct ManualClock {
        start: Instant,
        asleep: Arc<AtomicU64>,
    }

    impl ManualClock {
        /// A clock at zero.
        pub(crate) fn new() -> Self {
            Self { start: Instant::now(), asleep: Arc::default() }
        }

        /// The machine sleeps: the runtime's time stops, and this clock does not.
        pub(crate) fn sleep(&self, time: Duration) {
            let time = u64::try_from(time.as_nanos()).expect("not so long");
            self.asleep.fetch_add(time, Ordering::Relaxed);
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> Time {
            let asleep = Duration::from_nanos(self.asleep.load(Ordering::Relaxed));
            Time::ZERO + self.start.elapsed() + asleep
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_clock_does_not_stop_while_the_machine_sleeps() {
        assert_eq!(SystemClock::ID, ClockId::Boottime);
        // The system tells the time since its start as well, the time asleep included.
        let uptime = || {
            let text = std::fs::read_to_string("/proc/uptime").expect("Linux");
            let seconds = text.split_whitespace().next().expect("two numbers");
            Time::ZERO + Duration::from_secs_f64(seconds.parse().expect("a number"))
        };
        let (before, now, after) = (uptime(), SystemClock.now(), uptime());
        let tick = Duration::from_millis(10);
        assert!(before <= now && now <= after + tick, "{before:?}, {now:?}, {after:?}");
    }

    #[test]
    fn the_clock_does_not_go_back() {
        let mut last = SystemClock.now();
        for _ in 0..1_000 {
            let now = SystemClock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
