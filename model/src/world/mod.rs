//! What surrounds the processes: network, faults and timing.
//!
//! A [`World`] is `n` processes of one protocol and three dials: how often faults may strike
//! ([`Faults`]), what the network does to order ([`Network`]), and when timers may expire
//! ([`Timing`]). It is a [`stateright::Model`]: [`actions`](stateright::Model::actions) are what may
//! happen next, anywhere, in every order.
//!
//! This module decides what *can* happen; whether it *should* is for [`crate::property`].

mod action;
mod dials;
mod model;
mod network;
mod state;
mod step;
mod view;

pub use action::Action;
pub use dials::{Dials, Faults, Heals, Network, Start, Timing, WorldError};
pub use network::Envelope;
pub use state::State;
pub use step::Outcome;
pub use view::View;

use crate::property::Property;
use crate::protocol::{Id, MAX_NODES, Protocol};

/// `n` processes of one protocol in one surrounding.
#[derive(Clone, Debug)]
pub struct World<P: Protocol> {
    protocol: P,
    dials: Dials,
    properties: Vec<Property<P>>,
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
        Ok(World { protocol, dials, properties: Vec::new() })
    }

    /// The same world, carrying these properties: stateright's searches and its Explorer look for
    /// violations of the safety properties among them.
    #[must_use]
    pub fn with_properties(self, properties: Vec<Property<P>>) -> Self {
        World { properties, ..self }
    }

    /// The protocol and its rules.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    /// The surrounding.
    pub fn dials(&self) -> Dials {
        self.dials
    }

    /// The properties that this world carries.
    pub fn carried(&self) -> &[Property<P>] {
        &self.properties
    }

    /// The ids of all processes, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        Id::all(self.dials.nodes)
    }
}
