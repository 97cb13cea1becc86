//! What surrounds the processes: network, faults and timing.
//!
//! A [`World`] is `n` processes of one protocol and three dials: how often faults may strike
//! ([`Faults`]), what the network does to order ([`Network`]), and when timers may expire
//! ([`Timing`]). It is a [`stateright::Model`] (see [`crate::check`]): its actions are what may happen
//! next, anywhere, in every order.
//!
//! This module decides what *can* happen; whether it *should* is for [`crate::property`].

mod action;
mod budget;
mod clock;
mod dials;
mod error;
mod network;
pub mod packed;
mod state;
mod step;
mod timed;

pub use crate::protocol::Envelope;
pub use action::Action;
pub use budget::Budget;
pub use dials::{DeliveryFairness, Dials, Faults, Heals, Network, Start, Timing};
pub use error::WorldError;
pub use state::State;
pub use step::Outcome;
pub use timed::{Delay, Durations, MAX_TICKS, Timed};

use crate::protocol::{Id, MAX_NODES, Protocol};
use clock::Clock;
use std::fmt;

/// `n` processes of one protocol in one surrounding.
#[derive(Clone)]
pub struct World<P: Protocol> {
    protocol: P,
    dials: Dials,
    /// In a timed world, how time is measured.
    clock: Option<Clock>,
    asked: Vec<stateright::Property<World<P>>>,
}

impl<P: Protocol> World<P> {
    /// Processes that follow `protocol` in the surrounding that `dials` describe.
    ///
    /// # Errors
    /// If a dial is out of range, or two contradict each other.
    pub fn new(protocol: P, dials: Dials) -> Result<Self, WorldError> {
        if !(2..=MAX_NODES).contains(&dials.nodes) {
            return Err(WorldError::Nodes { nodes: dials.nodes });
        }
        if dials.faults.duplicates > 0 && dials.network == Network::Set {
            return Err(WorldError::DuplicatesMerge);
        }
        if dials.faults.suspicions > 0 && dials.timing == Timing::Asynchronous {
            return Err(WorldError::SuspicionsUnbounded);
        }
        if dials.capacity == Some(0) {
            return Err(WorldError::NoCapacity);
        }
        let clock = dials.timing.timed().map(|timed| Clock::of(&protocol, timed)).transpose()?;
        Ok(World { protocol, dials, clock, asked: Vec::new() })
    }

    /// The same world, in which stateright's searches and its Explorer look for these.
    #[must_use]
    pub fn asking(self, asked: Vec<stateright::Property<World<P>>>) -> Self {
        World { asked, ..self }
    }

    /// The protocol and its rules.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    /// The surrounding.
    pub fn dials(&self) -> Dials {
        self.dials
    }

    /// What stateright's searches and its Explorer look for.
    pub fn asked(&self) -> &[stateright::Property<World<P>>] {
        &self.asked
    }

    /// The ids of all processes, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        Id::all(self.dials.nodes)
    }
}

impl<P: Protocol> fmt::Debug for World<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}; {}", self.protocol, self.dials)
    }
}
