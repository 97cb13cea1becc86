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
mod settings;
mod window;

use std::time::Duration;

use super::heard::Heard;
use super::{Bounds, Detector};
use crate::protocol::Time;
pub use settings::{Parameters, Settings};
use window::Window;

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
