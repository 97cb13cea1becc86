//! The heartbeats and the detector of failures by which members watch each other, as they are
//! chosen while the program runs, and what can be wrong with the settings of any detector.

use std::ops::RangeInclusive;
use std::time::Duration;

use thiserror::Error;

use super::{Bounds, Detector, LONGEST, adaptive, fixed, phi};
use crate::protocol::Time;

/// The settings by which nodes watch each other.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Detection {
    /// The interval between the heartbeats of a node, by which it tells the others that it is up.
    /// The same on every node.
    pub heartbeat: Duration,
    /// The time that a node waits after its own start for the first heartbeat of another.
    pub start: Duration,
    /// The detector that decides when silence is suspicious.
    pub detector: Settings,
}

/// The choice of a detector, with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Settings {
    /// A fixed time-out.
    Fixed(fixed::Settings),
    /// An adaptive time-out.
    Adaptive(adaptive::Settings),
    /// A φ-accrual detector.
    Phi(phi::Settings),
}

impl Default for Detection {
    /// A node that is silent for half a second is suspected.
    fn default() -> Self {
        let heartbeat = Duration::from_millis(100);
        let detector = Settings::Fixed(fixed::Settings::for_interval(heartbeat));
        Self { heartbeat, start: heartbeat * 10, detector }
    }
}

impl Settings {
    /// Checks the settings of the detector.
    ///
    /// # Errors
    ///
    /// The first setting that makes no sense.
    pub fn check(self) -> Result<Parameters, SettingsError> {
        match self {
            Self::Fixed(settings) => settings.check().map(Parameters::Fixed),
            Self::Adaptive(settings) => settings.check().map(Parameters::Adaptive),
            Self::Phi(settings) => settings.check().map(Parameters::Phi),
        }
    }
}

impl Detection {
    /// Checks all settings. Returns the parameters of the detector.
    ///
    /// # Errors
    ///
    /// The first setting that makes no sense: what [`Settings::check`] says,
    /// [`SettingsError::Duration`] when the heartbeat or the start is zero or longer than a day,
    /// and [`SettingsError::SlowHeartbeat`] when every node would be suspected between two
    /// heartbeats.
    pub fn check(&self) -> Result<Parameters, SettingsError> {
        let Self { heartbeat, start, detector } = *self;
        more_than_zero("heartbeat", heartbeat)?;
        more_than_zero("start", start)?;
        let parameters = detector.check()?;
        let shortest = parameters.watch(Time::ZERO).time_out();
        if shortest <= heartbeat {
            return Err(SettingsError::SlowHeartbeat { heartbeat, shortest });
        }
        Ok(parameters)
    }
}

/// The choice of a detector, with settings that were found good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameters {
    /// The parameters of a [`fixed`] time-out.
    Fixed(fixed::Parameters),
    /// The parameters of an [`adaptive`] time-out.
    Adaptive(adaptive::Parameters),
    /// The parameters of a [φ-accrual](phi) detector.
    Phi(phi::Parameters),
}

impl Parameters {
    /// Returns a detector that watches a process from `now` on.
    #[must_use]
    pub fn watch(&self, now: Time) -> Chosen {
        match self {
            Self::Fixed(parameters) => Chosen::Fixed(fixed::Fixed::watch(parameters, now)),
            Self::Adaptive(parameters) => {
                Chosen::Adaptive(adaptive::Adaptive::watch(parameters, now))
            }
            Self::Phi(parameters) => Chosen::Phi(phi::Phi::watch(parameters, now)),
        }
    }
}

/// A detector of the kind that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Chosen {
    /// Of a [`fixed`] time-out.
    Fixed(fixed::Fixed),
    /// Of an [`adaptive`] time-out.
    Adaptive(adaptive::Adaptive),
    /// A [φ-accrual](phi) detector.
    Phi(phi::Phi),
}

impl Chosen {
    fn detector(&self) -> &dyn Detector {
        match self {
            Self::Fixed(detector) => detector,
            Self::Adaptive(detector) => detector,
            Self::Phi(detector) => detector,
        }
    }
}

impl Detector for Chosen {
    fn heartbeat(&mut self, now: Time) {
        match self {
            Self::Fixed(detector) => detector.heartbeat(now),
            Self::Adaptive(detector) => detector.heartbeat(now),
            Self::Phi(detector) => detector.heartbeat(now),
        }
    }

    fn heard(&self) -> Time {
        self.detector().heard()
    }

    fn time_out(&self) -> Duration {
        self.detector().time_out()
    }

    fn bounds(&self) -> Bounds {
        self.detector().bounds()
    }
}

/// The problem with the settings of a detector, in one sentence, with the remedy.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The duration is zero where it must not be, or absurdly long.
    #[error(
        "{field} is {value:?}: use {} and at most 24h",
        if *zero_allowed { "0s or more" } else { "more than 0s" }
    )]
    Duration {
        /// The key of the setting, such as `phi.pause`.
        field: &'static str,
        /// The value of the setting.
        value: Duration,
        /// Whether zero would do.
        zero_allowed: bool,
    },
    /// The setting is not a number, or one that makes no sense there.
    #[error("{field} is {value}: use a number from {least} to {most}, such as {usual}")]
    Number {
        /// The key of the setting, such as `phi.threshold`.
        field: &'static str,
        /// The value of the setting.
        value: f64,
        /// The smallest value that would do.
        least: f64,
        /// The largest value that would do.
        most: f64,
        /// The value that the literature uses.
        usual: f64,
    },
    /// The window is too small to have a deviation, or absurdly large.
    #[error("phi.window is {value}: use {least} to {most} intervals, such as 1000")]
    Window {
        /// The value of the setting.
        value: usize,
        /// The smallest value that would do.
        least: usize,
        /// The largest value that would do.
        most: usize,
    },
    /// The expected interval is not between its limits.
    #[error(
        "{detector}.interval ({interval:?}) must be between {detector}.shortest ({shortest:?}) and \
         {detector}.longest ({longest:?}); try {:?} and {:?}",
        *interval / 2, interval.saturating_mul(5)
    )]
    NotBetween {
        /// The name of the detector, such as `phi`.
        detector: &'static str,
        /// The interval that is expected.
        interval: Duration,
        /// The shortest interval that counts: intervals count as at least this.
        shortest: Duration,
        /// The longest interval that counts: intervals count as at most this.
        longest: Duration,
    },
    /// The interval between heartbeats is no shorter than the silence that is suspected.
    #[error(
        "heartbeat ({heartbeat:?}) must be shorter than the silence that is suspected \
         ({shortest:?}), or every node is suspected between two heartbeats; try {:?}",
        *shortest / 5
    )]
    SlowHeartbeat {
        /// The interval between the heartbeats of a node.
        heartbeat: Duration,
        /// The shortest silence that is suspected.
        shortest: Duration,
    },
}

pub(super) fn more_than_zero(field: &'static str, value: Duration) -> Result<(), SettingsError> {
    if value.is_zero() || value > LONGEST {
        return Err(SettingsError::Duration { field, value, zero_allowed: false });
    }
    Ok(())
}

pub(super) fn zero_or_more(field: &'static str, value: Duration) -> Result<(), SettingsError> {
    if value > LONGEST {
        return Err(SettingsError::Duration { field, value, zero_allowed: true });
    }
    Ok(())
}

/// Refuses NaN too: it is in no range.
pub(super) fn number_within(
    field: &'static str,
    value: f64,
    range: &RangeInclusive<f64>,
    usual: f64,
) -> Result<(), SettingsError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = (*range.start(), *range.end());
    Err(SettingsError::Number { field, value, least, most, usual })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    #[test]
    fn the_defaults_are_good_for_any_interval_up_to_hours() {
        let are_good = |interval| {
            let fixed = Settings::Fixed(fixed::Settings::for_interval(interval));
            let adaptive = Settings::Adaptive(adaptive::Settings::for_interval(interval));
            let phi = Settings::Phi(phi::Settings::for_interval(interval));
            [fixed, adaptive, phi].map(|settings| settings.check().is_ok())
        };
        for interval in [Duration::from_nanos(10), INTERVAL, Duration::from_secs(4 * 3_600)] {
            assert_eq!(are_good(interval), [true; 3], "{interval:?}");
        }
        for interval in [Duration::ZERO, Duration::MAX] {
            assert_eq!(are_good(interval), [false; 3], "{interval:?}");
        }
    }

    #[test]
    fn durations_are_neither_absent_nor_absurd() {
        let usual = phi::Settings::for_interval(INTERVAL);
        let (zero, too_long) = (Duration::ZERO, LONGEST + Duration::from_nanos(1));
        let fixed = fixed::Settings { timeout: zero }.check().map(|_| ());
        for (checked, key) in [
            (fixed, "fixed.timeout"),
            (phi::Settings { shortest: zero, ..usual }.check().map(|_| ()), "phi.shortest"),
            (phi::Settings { interval: zero, ..usual }.check().map(|_| ()), "phi.interval"),
            (phi::Settings { longest: too_long, ..usual }.check().map(|_| ()), "phi.longest"),
            (phi::Settings { deviation: zero, ..usual }.check().map(|_| ()), "phi.deviation"),
            (phi::Settings { pause: too_long, ..usual }.check().map(|_| ()), "phi.pause"),
        ] {
            let is_told =
                matches!(checked, Err(SettingsError::Duration { field, .. }) if field == key);
            assert!(is_told, "{key}: {checked:?}");
        }
        assert!(phi::Settings { pause: zero, ..usual }.check().is_ok());
    }

    #[test]
    fn numbers_are_numbers_and_in_range() {
        let usual = phi::Settings::for_interval(INTERVAL);
        for threshold in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.4, 1000.1] {
            let checked = phi::Settings { threshold, ..usual }.check();
            assert!(matches!(checked, Err(SettingsError::Number { field: "phi.threshold", .. })));
        }
        for multiple in [f64::NAN, 1.0, -3.0, f64::INFINITY] {
            let settings = adaptive::Settings::for_interval(INTERVAL);
            let checked = adaptive::Settings { multiple, ..settings }.check();
            let key = "adaptive.multiple";
            assert!(matches!(checked, Err(SettingsError::Number { field, .. }) if field == key));
        }
        for window in [0, 1, 10_001, usize::MAX] {
            let checked = phi::Settings { window, ..usual }.check();
            assert!(matches!(checked, Err(SettingsError::Window { value, .. }) if value == window));
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_a_remedy() {
        let usual = phi::Settings::for_interval(INTERVAL);
        let error = phi::Settings { shortest: INTERVAL * 2, ..usual }.check().expect_err("refused");
        assert!(error.to_string().ends_with("try 50ms and 500ms"), "{error}");
        let usual = adaptive::Settings::for_interval(INTERVAL);
        let checked = adaptive::Settings { longest: INTERVAL / 2, ..usual }.check();
        let between =
            matches!(checked, Err(SettingsError::NotBetween { detector: "adaptive", .. }));
        assert!(between, "{checked:?}");

        let mut detection = Detection::default();
        assert!(detection.check().is_ok());
        detection.heartbeat = INTERVAL * 5;
        let error = detection.check().expect_err("refused");
        assert!(matches!(error, SettingsError::SlowHeartbeat { .. }), "{error}");
        assert!(error.to_string().ends_with("try 100ms"), "{error}");
        (detection.heartbeat, detection.start) = (INTERVAL, Duration::ZERO);
        let checked = detection.check();
        assert!(matches!(checked, Err(SettingsError::Duration { field: "start", .. })));
    }
}
