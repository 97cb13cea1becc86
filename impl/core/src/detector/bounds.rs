//! Between which durations a time-out always is.

use std::time::Duration;

/// The bounds that a detector's settings promise of its time-out, whatever arrives and whenever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The shortest time-out: silence shorter than this is never suspected. More than zero.
    pub shortest: Duration,
    /// The longest time-out: silence of this length is always suspected.
    pub longest: Duration,
}

impl Bounds {
    /// Returns whether `time_out` keeps the promise.
    #[must_use]
    pub fn contain(&self, time_out: Duration) -> bool {
        (self.shortest..=self.longest).contains(&time_out)
    }
}
