//! One of the detectors, chosen while the program runs.

use super::{Detector, adaptive, fixed, phi};
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
    pub fn watch(&self, now: Time) -> Box<dyn Detector + Send> {
        match self {
            Self::Fixed(parameters) => Box::new(fixed::Fixed::watch(parameters, now)),
            Self::Adaptive(parameters) => Box::new(adaptive::Adaptive::watch(parameters, now)),
            Self::Phi(parameters) => Box::new(phi::Phi::watch(parameters, now)),
        }
    }
}
