//! True time, which no node sees, and the clocks of nodes, which run at rates of their own.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

use bellwether_core::protocol::Time;

const MILLION: u128 = 1_000_000;

/// Nanoseconds of true time since the simulation began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanoseconds))
    }
}

/// Seconds, to the microsecond.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0 / 1_000;
        write!(f, "{:3}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

/// The clock of a node.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Since when it runs at this rate.
    since: Moment,
    /// The time that the clock showed then.
    shown: u64,
    /// By how much it is faster than true time, in parts per million.
    ppm: i64,
}

impl Clock {
    /// A clock that shows `shown` nanoseconds at the beginning, and runs at the right rate.
    #[must_use]
    pub fn new(shown: u64) -> Self {
        Self { since: Moment(0), shown, ppm: 0 }
    }

    fn rate(&self) -> u128 {
        (1_000_000 + self.ppm).max(1) as u128
    }

    /// Returns the time that the clock shows.
    #[must_use]
    pub fn read(&self, at: Moment) -> Time {
        let passed = u128::from(at.0.saturating_sub(self.since.0)) * self.rate() / MILLION;
        Time::from_nanos(self.shown.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    /// The first moment at which it shows `time`, or later.
    #[must_use]
    pub fn when(&self, time: Time) -> Moment {
        let left = u128::from(time.as_nanos().saturating_sub(self.shown));
        let passed = (left * MILLION).div_ceil(self.rate());
        Moment(self.since.0.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    /// Makes the clock run at another rate from here on.
    pub fn set_rate(&mut self, at: Moment, ppm: i64) {
        *self = Self { since: at, shown: self.read(at).as_nanos(), ppm };
    }

    /// Makes the clock lose this much: a clock that stops while the process does.
    pub fn lose(&mut self, at: Moment, lost: Duration) {
        let shown = self.read(at).as_nanos().saturating_sub(lost.as_nanos() as u64);
        *self = Self { since: at, shown, ppm: self.ppm };
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Moment};
    use bellwether_core::protocol::Time;

    #[test]
    fn a_deadline_has_passed_at_the_moment_that_the_clock_names_and_not_before() {
        for ppm in [-10_000, -1, 0, 1, 9_999] {
            let mut clock = Clock::new(1_000_000_007);
            clock.set_rate(Moment(333), ppm);
            for left in [1, 2, 1_000, 123_456_789] {
                let deadline = Time::from_nanos(clock.read(Moment(777)).as_nanos() + left);
                let at = clock.when(deadline);
                assert!(clock.read(at) >= deadline, "{ppm} {left}");
                assert!(clock.read(Moment(at.0 - 1)) < deadline, "{ppm} {left}");
            }
        }
    }

    #[test]
    fn a_change_of_the_rate_moves_no_clock() {
        let mut clock = Clock::new(5);
        let before = clock.read(Moment(1_000_000));
        clock.set_rate(Moment(1_000_000), 10_000);
        assert_eq!(clock.read(Moment(1_000_000)), before);
        assert_eq!(clock.read(Moment(2_000_000)).since(before).as_nanos(), 1_010_000);
    }
}
