//! The number of a leadership, and a leadership that lasts for a time.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Time;

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
