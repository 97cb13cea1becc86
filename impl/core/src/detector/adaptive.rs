//! The adaptive time-out: silence for longer than some multiple of the usual interval is
//! suspicious.
//!
//! The rule is that of TigerBeetle's fault detector (`src/vsr/fault_detector.zig`, read in 2026):
//! the usual interval is a running average in which the newest has the weight of one fifth, each
//! interval counts as neither shorter nor longer than two limits, and three times the usual is too
//! long. It makes no assumption on how intervals are distributed, only that twice the usual one,
//! which is what a lost heartbeat makes, and some more is to be borne. Two things are ours: the
//! average begins with the interval that is expected instead of the longest, and the time from the
//! start of watching to the first heartbeat is not an interval.
//!
//! What TCP does to its retransmission time-out (V. Jacobson, *Congestion Avoidance and Control*,
//! SIGCOMM 1988, §2) is a relative: it adds a multiple of the mean deviation where this one
//! multiplies the mean.

use std::time::Duration;

use super::settings::{more_than_zero, number_within};
use super::{Bounds, Detector, Heard, SettingsError};
use crate::protocol::Time;

/// The settings of an [`Adaptive`] detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The interval between heartbeats that is expected before two were heard.
    pub interval: Duration,
    /// The shortest interval that counts: a shorter one counts as this, so that a burst or
    /// duplicates do not make the detector impatient. More than zero.
    pub shortest: Duration,
    /// The longest interval that counts: a longer one counts as this, so that a long silence does
    /// not make the detector patient beyond measure. At most [`super::LONGEST`].
    pub longest: Duration,
    /// The number of usual intervals for which silence is borne: 1.1 to 1000.
    pub multiple: f64,
}

impl Settings {
    /// Returns the settings for a process that sends a heartbeat every `interval`: intervals count
    /// as half to five times of it, and three times the usual one is too long.
    #[must_use]
    pub fn for_interval(interval: Duration) -> Self {
        let (shortest, longest) = (interval / 2, interval.saturating_mul(5));
        Self { interval, shortest, longest, multiple: 3.0 }
    }

    /// Checks each setting, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first setting that makes no sense: [`SettingsError::Duration`],
    /// [`SettingsError::NotBetween`] or [`SettingsError::Number`].
    pub fn check(self) -> Result<Parameters, SettingsError> {
        let Self { interval, shortest, longest, multiple } = self;
        more_than_zero("adaptive.shortest", shortest)?;
        more_than_zero("adaptive.interval", interval)?;
        more_than_zero("adaptive.longest", longest)?;
        if !(shortest..=longest).contains(&interval) {
            let detector = "adaptive";
            return Err(SettingsError::NotBetween { detector, interval, shortest, longest });
        }
        number_within("adaptive.multiple", multiple, &(1.1..=1000.0), 3.0)?;
        Ok(Parameters(self))
    }
}

/// The [`Settings`] that were found good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters(Settings);

/// A detector that suspects a process that was silent for longer than a multiple of the usual
/// interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    settings: Settings,
    heard: Heard,
    usual: Duration,
}

impl Adaptive {
    /// Returns a detector that watches a process from `now` on.
    #[must_use]
    pub fn watch(&Parameters(settings): &Parameters, now: Time) -> Self {
        Self { settings, heard: Heard::nothing_since(now), usual: settings.interval }
    }

    /// Returns the running average of the intervals.
    #[must_use]
    pub fn usual(&self) -> Duration {
        self.usual
    }

    fn times(&self, interval: Duration) -> Duration {
        // At most 1000 days: neither factor can overflow.
        interval.mul_f64(self.settings.multiple)
    }
}

impl Detector for Adaptive {
    /// The newest interval has the weight of one fifth.
    fn heartbeat(&mut self, now: Time) {
        if let Some(interval) = self.heard.heartbeat(now) {
            let interval = interval.clamp(self.settings.shortest, self.settings.longest);
            self.usual = (self.usual * 4 + interval) / 5;
        }
    }

    fn heard(&self) -> Time {
        self.heard.at()
    }

    fn time_out(&self) -> Duration {
        self.times(self.usual)
    }

    fn bounds(&self) -> Bounds {
        let Settings { shortest, longest, .. } = self.settings;
        Bounds { shortest: self.times(shortest), longest: self.times(longest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    /// Ten heartbeats, each `interval` after the one before.
    fn heard_every(detector: &mut Adaptive, interval: Duration) {
        for _ in 0..10 {
            detector.heartbeat(detector.heard() + interval);
        }
    }

    #[test]
    fn the_average_follows_the_intervals_within_the_limits() {
        let parameters = Settings::for_interval(milliseconds(100)).check().expect("good settings");
        let mut detector = Adaptive::watch(&parameters, Time::ZERO);
        assert_eq!(detector.time_out(), milliseconds(300));
        detector.heartbeat(Time::ZERO + milliseconds(290));
        assert_eq!(detector.usual(), milliseconds(100), "one heartbeat is no interval");
        detector.heartbeat(detector.heard() + milliseconds(200));
        assert_eq!(detector.usual(), milliseconds(120));
        for (interval, limit) in [(1, 50), (10_000, 500)] {
            (0..12).for_each(|_| heard_every(&mut detector, milliseconds(interval)));
            let off = detector.usual().abs_diff(milliseconds(limit));
            assert!(off < Duration::from_nanos(5), "{:?}", detector.usual());
        }
    }
}
