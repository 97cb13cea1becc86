//! Time as the cores see it, and leaderships that last for a time: their numbers, their leases, and
//! whether the leases and promises of two nodes fit together.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

use humantime::format_duration;
use serde::{Deserialize, Serialize};

/// A time, in nanoseconds since an arbitrary origin, which the embedding program reads off a clock.
/// Only differences mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// Returns the time this many nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// Returns the number of nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the duration from `earlier` to this time; zero if this is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at the end of time, 584 years after the origin.
impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanoseconds))
    }
}

/// The number of a leadership: every later leader has a higher one. A resource that refuses
/// everything from an epoch lower than the highest that it has seen is safe from a leader that is
/// late: it is the fencing token of what a leader does.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch(u64);

impl Epoch {
    /// Returns the epoch with this number; 0 is before the first.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number of the epoch.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Returns the epoch after this one. At an epoch in every nanosecond there are numbers for 584
    /// years.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A leadership that ends by itself unless it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The epoch of the leadership.
    pub epoch: Epoch,
    /// The time at which the lease is over, by the clock of the node that leads.
    pub until: Time,
}

/// The terms of a node's leases: how long it counts a lease that others promise it, and how long it
/// keeps a promise. Two nodes may lead at the same time if the lease of one can outlast a promise
/// of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseTerms {
    /// The time for which a leader counts its lease.
    pub lease: Duration,
    /// The time for which a node keeps a promise.
    pub promise: Duration,
    /// The largest error of a clock's rate, in parts per million.
    pub drift_ppm: u64,
}

impl LeaseTerms {
    /// The shortest promise that outlasts every lease that rests on it: a lease is
    /// `promise · (1 − ρ)/(1 + ρ)` at most, with ρ the drift. Clocks that are wrong by everything
    /// allow none.
    pub(crate) fn least_promise(&self) -> Duration {
        const MILLION: u128 = 1_000_000;
        let ppm = u128::from(self.drift_ppm);
        let nanoseconds = match MILLION.checked_sub(ppm) {
            None | Some(0) => u128::MAX,
            Some(slow) => self.lease.as_nanos().saturating_mul(MILLION + ppm).div_ceil(slow),
        };
        u64::try_from(nanoseconds).map_or(Duration::MAX, Duration::from_nanos)
    }

    /// Returns whether no lease of either node can outlast a promise of the other. Of two drifts
    /// the larger counts.
    #[must_use]
    pub fn fit(&self, other: &Self) -> bool {
        let drift_ppm = self.drift_ppm.max(other.drift_ppm);
        let [own, theirs] = [self, other].map(|terms| Self { drift_ppm, ..*terms });
        own.promise >= theirs.least_promise() && theirs.promise >= own.least_promise()
    }
}

impl fmt::Display for LeaseTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [lease, promise] = [self.lease, self.promise].map(format_duration);
        write!(f, "leases of {lease} and promises of {promise}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(lease: u64, promise: u64, drift_ppm: u64) -> LeaseTerms {
        let [lease, promise] = [lease, promise].map(Duration::from_millis);
        LeaseTerms { lease, promise, drift_ppm }
    }

    fn fit(one: LeaseTerms, other: LeaseTerms) -> bool {
        assert_eq!(one.fit(&other), other.fit(&one), "it has no direction");
        one.fit(&other)
    }

    #[test]
    fn a_lease_may_outlast_no_promise_of_another_node() {
        let (short, long) = (terms(1_000, 1_200, 10_000), terms(4_000, 5_000, 10_000));
        assert!(fit(short, short) && fit(long, long));
        assert!(!fit(short, long), "4 s rest on 1.2 s");
        // Each step of a change in either direction.
        let between = terms(1_000, 5_000, 10_000);
        assert!(fit(short, between) && fit(between, long));
    }

    #[test]
    fn of_two_drifts_the_larger_counts() {
        let tight = terms(549, 550, 0);
        assert!(fit(tight, tight));
        assert!(fit(tight, terms(545, 1_000, 0)));
        assert!(!fit(tight, terms(545, 1_000, 10_000)), "545 ms, slow by a hundredth");
        assert!(!fit(terms(1, 1_000, u64::MAX), terms(1, 1_000, 0)), "what is nonsense");
        let longest = LeaseTerms { lease: Duration::MAX, ..tight };
        assert!(!fit(longest, tight), "and does not overflow");
    }
}
