//! The φ-accrual detector: silence is suspicious once it would be too great a coincidence if the
//! process were up.
//!
//! N. Hayashibara, X. Défago, R. Yared, T. Katayama, *The φ Accrual Failure Detector*, SRDS 2004.
//! Its §4 takes the intervals between heartbeats for normally distributed, with mean μ and
//! deviation σ of the last ones, and says of a silence of length t
//!
//! > φ = −log₁₀ P(the next interval is longer than t)
//!
//! so that suspecting from φ = 1 on is wrong once in ten times, from 2 on once in a hundred, and so
//! on, *if* intervals are normally distributed. Delays seldom are: their tails are heavier, and
//! mistakes are more frequent than 10^−φ. φ is a scale, not a probability.
//!
//! Exact here: the tail of the normal distribution, at any distance, where Akka approximates it by
//! a logistic curve. And the moment of suspicion: φ reaches the threshold when the silence is
//! μ + z·σ, with z the number of deviations at which the tail is 10^−threshold, so that it
//! need not be asked again and again.
//!
//! Not in the paper, and needed in practice: a least deviation, a pause that is tolerated on top,
//! and something to believe before there are intervals: two of them, a quarter shorter and a
//! quarter longer than the one expected. They leave the window like all others. These three are
//! Akka's (`akka.remote.PhiAccrualFailureDetector`). The limits on what counts as an interval are
//! ours: they are what makes the promised bounds finite. Later versions of Akka do not remember the
//! intervals that made them suspect; a process that slows down for good would then be suspected
//! again and again for ever, so they are remembered here.

mod normal;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::settings::{more_than_zero, number_within, zero_or_more};
use super::{Bounds, Detector, Heard, SettingsError};
use crate::protocol::Time;

/// The settings of a [`Phi`] detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The φ from which on the process is suspected: 0.5 to 1000. At φ the chance of a mistake is
    /// 10^−φ, if intervals are as the detector believes. Hayashibara et al. measure 0.5 to 16; 8
    /// and 12 are common.
    pub threshold: f64,
    /// The number of intervals that are remembered: 2 to 10,000. Hayashibara et al. use 1000 (§5).
    /// A short window follows a change sooner; a long one remembers rare delays.
    pub window: usize,
    /// The interval between heartbeats that is expected before two were heard.
    pub interval: Duration,
    /// The shortest interval that counts: a shorter one counts as this, so that a burst or
    /// duplicates do not make the detector impatient. More than zero.
    pub shortest: Duration,
    /// The longest interval that counts: a longer one counts as this, so that a long silence does
    /// not make the detector patient beyond measure. At most [`super::LONGEST`].
    pub longest: Duration,
    /// The smallest deviation that counts: regular heartbeats are no promise of regular heartbeats.
    /// More than zero.
    pub deviation: Duration,
    /// The silence that is borne on top, such as for a pause of the process. May be zero.
    pub pause: Duration,
}

impl Settings {
    /// The range of [`Settings::threshold`].
    pub const THRESHOLD: RangeInclusive<f64> = 0.5..=1000.0;
    /// The range of [`Settings::window`].
    pub const WINDOW: RangeInclusive<usize> = 2..=10_000;

    /// Returns the settings for a process that sends a heartbeat every `interval`: φ is 8 over 1000
    /// intervals, which count as a tenth to five times of the one expected; the deviation is at
    /// least a tenth of it, and one heartbeat may be lost.
    #[must_use]
    pub fn for_interval(interval: Duration) -> Self {
        Self {
            threshold: 8.0,
            window: 1000,
            interval,
            shortest: interval / 10,
            longest: interval.saturating_mul(5),
            deviation: interval / 10,
            pause: interval,
        }
    }

    /// Checks each setting, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first setting that makes no sense: [`SettingsError::Number`],
    /// [`SettingsError::Window`], [`SettingsError::Duration`] or [`SettingsError::NotBetween`].
    pub fn check(self) -> Result<Parameters, SettingsError> {
        let Self { threshold, window, interval, shortest, longest, deviation, pause } = self;
        number_within("phi.threshold", threshold, &Self::THRESHOLD, 8.0)?;
        if !Self::WINDOW.contains(&window) {
            let (least, most) = Self::WINDOW.into_inner();
            return Err(SettingsError::Window { value: window, least, most });
        }
        more_than_zero("phi.shortest", shortest)?;
        more_than_zero("phi.interval", interval)?;
        more_than_zero("phi.longest", longest)?;
        if !(shortest..=longest).contains(&interval) {
            let detector = "phi";
            return Err(SettingsError::NotBetween { detector, interval, shortest, longest });
        }
        more_than_zero("phi.deviation", deviation)?;
        zero_or_more("phi.pause", pause)?;
        Ok(Parameters { settings: self, deviations: normal::deviations_at(threshold) })
    }
}

/// The [`Settings`] that were found good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    settings: Settings,
    /// How many deviations beyond the mean φ reaches the threshold.
    deviations: f64,
}

/// A detector that suspects a process from a certain φ on.
#[derive(Clone, Debug, PartialEq)]
pub struct Phi {
    parameters: Parameters,
    heard: Heard,
    intervals: Window,
}

impl Phi {
    /// Returns a detector that watches a process from `now` on.
    #[must_use]
    pub fn watch(parameters: &Parameters, now: Time) -> Self {
        let Settings { window, interval, .. } = parameters.settings;
        let (heard, intervals) = (Heard::nothing_since(now), Window::new(window));
        let mut phi = Self { parameters: *parameters, heard, intervals };
        phi.remember(interval - interval / 4);
        phi.remember(interval.saturating_add(interval / 4));
        phi
    }

    /// Returns φ, which is how suspicious the silence is at `now`. It is finite and not negative,
    /// and grows with the square of the silence.
    #[must_use]
    pub fn phi(&self, now: Time) -> f64 {
        let silence = now.since(self.heard.at()).as_nanos() as f64;
        normal::phi_of((silence - self.usual()) / self.deviation())
    }

    fn remember(&mut self, interval: Duration) {
        let Settings { shortest, longest, .. } = self.parameters.settings;
        self.intervals.push(interval.clamp(shortest, longest));
    }

    /// The silence that is expected, the pause included, in nanoseconds.
    fn usual(&self) -> f64 {
        self.intervals.mean() + nanoseconds(self.parameters.settings.pause)
    }

    /// In nanoseconds.
    fn deviation(&self) -> f64 {
        self.intervals.deviation().max(nanoseconds(self.parameters.settings.deviation))
    }
}

impl Detector for Phi {
    fn heartbeat(&mut self, now: Time) {
        if let Some(interval) = self.heard.heartbeat(now) {
            self.remember(interval);
        }
    }

    fn heard(&self) -> Time {
        self.heard.at()
    }

    fn time_out(&self) -> Duration {
        duration(self.usual() + self.parameters.deviations * self.deviation())
    }

    fn bounds(&self) -> Bounds {
        let Parameters { settings, deviations: z } = self.parameters;
        let [a, b, least, pause] =
            [settings.shortest, settings.longest, settings.deviation, settings.pause]
                .map(nanoseconds);
        // Intervals between a and b with mean μ have a deviation of at most √((b − μ)(μ − a))
        // (R. Bhatia, C. Davis, *A Better Bound on the Variance*, American Mathematical Monthly
        // 107(4), 2000). The largest μ + z·σ under that is:
        let spread = a + (b - a) * (1.0 + (1.0 + z * z).sqrt()) / 2.0;
        Bounds {
            shortest: duration(a + pause + z * least - ROUNDING),
            longest: duration(spread.max(b + z * least) + pause + ROUNDING),
        }
    }
}

/// What the bounds allow for the rounding of a few operations, in nanoseconds: no time-out exceeds
/// 70 days, and up to 104 an `f64` tells nanoseconds apart.
const ROUNDING: f64 = 4.0;

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

/// At least a nanosecond: no time-out is zero.
fn duration(nanoseconds: f64) -> Duration {
    Duration::from_nanos((nanoseconds.round() as u64).max(1))
}

/// A sliding window of intervals, each at most [`super::LONGEST`].
///
/// Sums are whole numbers, so nothing is lost when an interval leaves the window, however long it
/// has been sliding. The largest, 10,000 times the sum of squares of 10,000 days in nanoseconds,
/// is 8·10³⁵: a `u128` holds 400 times that.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    size: usize,
    nanoseconds: VecDeque<u64>,
    sum: u128,
    sum_of_squares: u128,
}

impl Window {
    /// An empty window that remembers `size` intervals.
    fn new(size: usize) -> Self {
        Self { size, nanoseconds: VecDeque::new(), sum: 0, sum_of_squares: 0 }
    }

    /// Adds an interval, and forgets the oldest if there is no room.
    fn push(&mut self, interval: Duration) {
        if self.nanoseconds.len() == self.size
            && let Some(oldest) = self.nanoseconds.pop_front()
        {
            self.sum -= u128::from(oldest);
            self.sum_of_squares -= u128::from(oldest).pow(2);
        }
        let newest = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.push_back(newest);
        self.sum += u128::from(newest);
        self.sum_of_squares += u128::from(newest).pow(2);
    }

    /// The mean, in nanoseconds; zero if there are no intervals.
    fn mean(&self) -> f64 {
        self.sum as f64 / self.count() as f64
    }

    /// The standard deviation of the intervals in the window (not an estimate from a sample: so it
    /// is at most half the distance between the shortest and the longest), in nanoseconds.
    fn deviation(&self) -> f64 {
        // Not negative: that is the inequality of Cauchy and Schwarz, and the numbers are exact.
        let scaled = self.count() * self.sum_of_squares - self.sum.pow(2);
        (scaled as f64).sqrt() / self.count() as f64
    }

    fn count(&self) -> u128 {
        self.nanoseconds.len().max(1) as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::LONGEST;

    #[test]
    fn the_oldest_interval_is_forgotten() {
        let mut window = Window::new(4);
        for seconds in [1000, 1, 2, 3, 4] {
            window.push(Duration::from_secs(seconds));
        }
        assert_eq!(window.mean(), 2.5e9);
        assert!((window.deviation() - 1.25_f64.sqrt() * 1e9).abs() < 1.0);
    }

    #[test]
    fn nothing_is_lost_or_overflows_at_the_limits() {
        let mut window = Window::new(10_000);
        assert_eq!((window.mean(), window.deviation()), (0.0, 0.0));
        for _ in 0..10_000 {
            window.push(LONGEST);
        }
        assert_eq!((window.mean(), window.deviation()), (LONGEST.as_nanos() as f64, 0.0));
        for nanoseconds in 0..10_000 {
            window.push(Duration::from_nanos(nanoseconds % 2));
        }
        assert_eq!((window.mean(), window.deviation()), (0.5, 0.5));
    }
}
