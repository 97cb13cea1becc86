//! Whether the process, or its machine, stood still for so long that the others may have elected
//! another leader.

use std::time::Duration;

use crate::protocol::Time;

/// When the loop ran last, and when it was to run again.
#[derive(Debug)]
pub(super) struct Awake {
    /// For how long a leader may do nothing.
    silence: Duration,
    looked: Time,
    due: Time,
}

impl Awake {
    pub(super) fn new(silence: Duration, now: Time) -> Self {
        Self { silence, looked: now, due: now }
    }

    /// For how long a leader may do nothing.
    pub(super) fn silence(&self) -> Duration {
        self.silence
    }

    /// The loop waits for so long at most.
    pub(super) fn waits(&mut self, now: Time, longest: Duration) {
        self.due = now + longest;
    }

    /// The loop runs. True if it did nothing for longer than it may, which is no wait that it chose
    /// itself.
    pub(super) fn runs(&mut self, now: Time) -> bool {
        let (gap, late) = (now.since(self.looked), now.since(self.due));
        self.looked = now;
        gap >= self.silence && late >= self.silence / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    #[test]
    fn only_a_wait_that_was_not_chosen_is_a_pause() {
        let mut awake = Awake::new(Duration::from_millis(400), at(0));
        awake.waits(at(0), Duration::from_millis(100));
        assert!(!awake.runs(at(130)), "a little late");
        awake.waits(at(130), Duration::from_secs(1));
        assert!(!awake.runs(at(1_150)), "it had nothing to do for a second");
        awake.waits(at(1_150), Duration::from_millis(100));
        assert!(awake.runs(at(1_550)), "400 ms in which it was to do something");
        assert!(!awake.runs(at(1_551)), "it is told once");
    }

    #[test]
    fn a_step_that_takes_too_long_is_a_pause() {
        let mut awake = Awake::new(Duration::from_millis(400), at(0));
        awake.waits(at(0), Duration::from_millis(100));
        assert!(!awake.runs(at(100)));
        // What it did then took so long; the next wait has not begun.
        assert!(awake.runs(at(600)));
    }
}
