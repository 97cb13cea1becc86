//! When a process was heard last, on a clock that never goes back.

use std::time::Duration;

use crate::protocol::Time;

/// The end of the last known sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    at: Time,
    /// `false` while `at` is only when watching began.
    ever: bool,
}

impl Heard {
    pub(super) fn nothing_since(now: Time) -> Self {
        Self { at: now, ever: false }
    }

    pub(super) fn at(&self) -> Time {
        self.at
    }

    /// A heartbeat arrives. Returns the interval since the one before, if there was one: what
    /// passed between the start of watching and the first heartbeat says nothing of the interval.
    pub(super) fn heartbeat(&mut self, now: Time) -> Option<Duration> {
        let interval = self.ever.then(|| now.since(self.at));
        *self = Self { at: self.at.max(now), ever: true };
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_between_heartbeats_only_and_never_negative() {
        let at = Time::from_nanos;
        let mut heard = Heard::nothing_since(at(100));
        assert_eq!(heard.heartbeat(at(700)), None, "only one heartbeat so far");
        assert_eq!(heard.heartbeat(at(900)), Some(Duration::from_nanos(200)));
        assert_eq!(heard.heartbeat(at(900)), Some(Duration::ZERO), "a duplicate");
        assert_eq!(heard.heartbeat(at(300)), Some(Duration::ZERO), "the clock went back");
        assert_eq!(heard.at(), at(900));
    }
}
