//! The detectors that are compared, each with the one setting that trades speed for mistakes.

use std::time::Duration;

use bellwether::detector::adaptive::{self, Adaptive};
use bellwether::detector::fixed::{self, Fixed};
use bellwether::detector::phi::{self, Phi};
use bellwether::detector::{Detector, SettingsError};
use bellwether::protocol::Time;

use crate::network::INTERVAL;

/// A kind of detector and its threshold; everything else as for [`INTERVAL`].
#[derive(Clone, Copy)]
pub(crate) enum Choice {
    /// The time-out.
    Fixed(Duration),
    /// The multiple of the usual interval.
    Adaptive(f64),
    /// The φ.
    Phi(f64),
}

impl Choice {
    /// Each kind as the library has it by default.
    pub(crate) fn defaults() -> [Self; 3] {
        let Settings { fixed, adaptive, phi } = Settings::default();
        [Self::Fixed(fixed.timeout), Self::Adaptive(adaptive.multiple), Self::Phi(phi.threshold)]
    }

    /// Each kind from impatient to patient.
    pub(crate) fn sweeps() -> [Vec<Self>; 3] {
        let timeouts = geometric(1.1, 1.1).map(|times| Self::Fixed(INTERVAL.mul_f64(times)));
        let multiples = geometric(1.1, 1.1).map(Self::Adaptive);
        let phis = geometric(0.5, 1.4).map(Self::Phi);
        [timeouts.collect(), multiples.collect(), phis.collect()]
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Adaptive(_) => "adaptive",
            Self::Phi(_) => "phi",
        }
    }

    /// The threshold, for people.
    pub(crate) fn setting(self) -> String {
        match self {
            Self::Fixed(timeout) => format!("time-out {} ms", timeout.as_millis()),
            Self::Adaptive(multiple) => format!("{multiple} times the usual interval"),
            Self::Phi(threshold) => format!("φ = {threshold}"),
        }
    }

    /// A detector that watches from `now` on.
    pub(crate) fn watch(self, now: Time) -> Result<Box<dyn Detector>, SettingsError> {
        let Settings { fixed: _, adaptive, phi } = Settings::default();
        Ok(match self {
            Self::Fixed(timeout) => {
                Box::new(Fixed::watch(&fixed::Settings { timeout }.check()?, now))
            }
            Self::Adaptive(multiple) => {
                let settings = adaptive::Settings { multiple, ..adaptive };
                Box::new(Adaptive::watch(&settings.check()?, now))
            }
            Self::Phi(threshold) => {
                let settings = phi::Settings { threshold, ..phi };
                Box::new(Phi::watch(&settings.check()?, now))
            }
        })
    }
}

/// Each number is the one before times the factor.
fn geometric(first: f64, factor: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(first), move |&last| Some(last * factor)).take(24)
}

struct Settings {
    fixed: fixed::Settings,
    adaptive: adaptive::Settings,
    phi: phi::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            fixed: fixed::Settings::for_interval(INTERVAL),
            adaptive: adaptive::Settings::for_interval(INTERVAL),
            phi: phi::Settings::for_interval(INTERVAL),
        }
    }
}
