//! The fixed time-out: silence for longer than a constant is suspicious.
//!
//! Detectors of this kind are as old as the literature. Chen, Toueg and Aguilera call it the common
//! algorithm (*On the Quality of Service of Failure Detectors*, IEEE Transactions on Computers
//! 51(5), 2002, §1.2). It assumes that a person knows how long a live process can be
//! silent, and never learns otherwise.

use std::time::Duration;

use super::settings::more_than_zero;
use super::{Bounds, Detector, Heard, SettingsError};
use crate::protocol::Time;

/// The settings of a [`Fixed`] detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The longest silence that is borne. More than zero, at most [`super::LONGEST`].
    pub timeout: Duration,
}

impl Settings {
    /// Returns the settings for a process that sends a heartbeat every `interval`: a silence of
    /// five of them is borne, as in [`Timing::DEFAULT`](crate::protocol::Timing::DEFAULT).
    #[must_use]
    pub fn for_interval(interval: Duration) -> Self {
        Self { timeout: interval.saturating_mul(5) }
    }

    /// Checks the time-out.
    ///
    /// # Errors
    ///
    /// [`SettingsError::Duration`] when the time-out is zero or longer than a day.
    pub fn check(self) -> Result<Parameters, SettingsError> {
        more_than_zero("fixed.timeout", self.timeout)?;
        Ok(Parameters(self))
    }
}

/// The [`Settings`] that were found good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters(Settings);

/// A detector that suspects a process that was silent for longer than a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    timeout: Duration,
    heard: Heard,
}

impl Fixed {
    /// Returns a detector that watches a process from `now` on.
    #[must_use]
    pub fn watch(parameters: &Parameters, now: Time) -> Self {
        Self { timeout: parameters.0.timeout, heard: Heard::nothing_since(now) }
    }
}

impl Detector for Fixed {
    fn heartbeat(&mut self, now: Time) {
        self.heard.heartbeat(now);
    }

    fn heard(&self) -> Time {
        self.heard.at()
    }

    fn time_out(&self) -> Duration {
        self.timeout
    }

    fn bounds(&self) -> Bounds {
        Bounds { shortest: self.timeout, longest: self.timeout }
    }
}
