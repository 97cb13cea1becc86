//! What a φ-accrual detector is told, and what can be wrong with it.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::normal::deviations_at;
use crate::detector::error::{SettingsError, more_than_zero, number_within, zero_or_more};

/// The settings of a [`Phi`](super::Phi) detector.
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
    /// not make the detector patient beyond measure. At most [`LONGEST`](crate::detector::LONGEST).
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
        Ok(Parameters { settings: self, deviations: deviations_at(threshold) })
    }
}

/// The [`Settings`] that were found good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    pub(super) settings: Settings,
    /// How many deviations beyond the mean φ reaches the threshold.
    pub(super) deviations: f64,
}
