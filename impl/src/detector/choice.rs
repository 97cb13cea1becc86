//! One of the detectors, chosen while the program runs.

use super::{Detector, adaptive, fixed, phi};
use crate::protocol::Time;

/// Which detector, with settings that were found good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameters {
    /// Of a [`fixed`] time-out.
    Fixed(fixed::Parameters),
    /// Of an [`adaptive`] time-out.
    Adaptive(adaptive::Parameters),
    /// Of a [φ-accrual](phi) detector.
    Phi(phi::Parameters),
}

impl Parameters {
    /// A detector that watches a process from `now` on.
    #[must_use]
    pub fn watch(&self, now: Time) -> Box<dyn Detector + Send> {
        match self {
            Self::Fixed(parameters) => Box::new(fixed::Fixed::watch(parameters, now)),
            Self::Adaptive(parameters) => Box::new(adaptive::Adaptive::watch(parameters, now)),
            Self::Phi(parameters) => Box::new(phi::Phi::watch(parameters, now)),
        }
    }
}
