//! One of the detectors, chosen while the program runs.

use std::time::Duration;

use super::{Bounds, Detector, adaptive, fixed, phi};
use crate::protocol::Time;

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
