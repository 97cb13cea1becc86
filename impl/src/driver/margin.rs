//! How close a leader comes to the end of its lease: what is left of it when it is renewed.
//!
//! A leader that renews its lease with little left will lose it with the next slow answer. So it is
//! warned of once, and counted each time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What is left is little if it is less than this part of the lease.
const LITTLE: u32 = 3;

/// What was left of the lease when it was renewed last, and how often that was little.
#[derive(Debug, Default)]
pub(super) struct Margin {
    /// In nanoseconds; 0 before the lease was renewed.
    left: AtomicU64,
    late: AtomicU64,
    /// Whether little was left the last time.
    warned: AtomicBool,
}

impl Margin {
    /// A leader has a new lease, which was never renewed.
    pub(super) fn begin(&self) {
        self.left.store(0, Relaxed);
        self.warned.store(false, Relaxed);
    }

    /// The lease is renewed, `left` before its end; a lease takes `length`. True if that is to be
    /// warned of: little was left, and not the time before.
    pub(super) fn renewed(&self, left: Duration, length: Duration) -> bool {
        let little = left < length / LITTLE;
        // 0 stands for a lease that was never renewed.
        let nanoseconds = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.left.store(nanoseconds, Relaxed);
        self.late.fetch_add(u64::from(little), Relaxed);
        !self.warned.swap(little, Relaxed) && little
    }

    /// What was left of the present lease when it was renewed last.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = self.left.load(Relaxed);
        (left != 0).then(|| Duration::from_nanos(left))
    }

    /// How often little was left.
    pub(super) fn late(&self) -> u64 {
        self.late.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
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
