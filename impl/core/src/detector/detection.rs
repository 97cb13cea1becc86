//! What members watch each other with: heartbeats, and a detector of failures.

use std::time::Duration;

use super::error::more_than_zero;
use super::{Detector as _, Parameters, SettingsError, adaptive, fixed, phi};
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
