//! Between which durations a time-out always is.

use std::time::Duration;

/// What a detector's settings promise about its time-out, whatever arrives and whenever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Silence shorter than this is never suspected. More than zero.
    pub shortest: Duration,
    /// Silence of this length is always suspected.
    pub longest: Duration,
}

impl Bounds {
    /// Whether `time_out` keeps the promise.
    #[must_use]
    pub fn contain(&self, time_out: Duration) -> bool {
        (self.shortest..=self.longest).contains(&time_out)
    }
}
