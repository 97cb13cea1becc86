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
mod condition;
mod dials;
mod drift;
mod error;
mod missing;
mod network;
pub mod packed;
mod state;
mod step;
mod timed;

pub use crate::protocol::Envelope;
pub use action::Action;
pub use budget::Budget;
pub use condition::Condition;
pub use dials::{DeliveryFairness, Dials, Faults, Heals, Names, Network, Start, Timing};
pub use drift::Drift;
pub use error::WorldError;
pub use missing::Missing;
pub use state::State;
pub use step::Outcome;
pub use timed::{Delay, Durations, MAX_TICKS, Timed};

use crate::protocol::{Id, MAX_NODES, Protocol, Standing};
use crate::temporal::Temporal;
use clock::Clock;
use std::fmt;

/// A formula and its name.
pub type Named<P> = (&'static str, Temporal<Condition<P>>);

/// `n` processes of one protocol in one surrounding.
#[derive(Clone)]
pub struct World<P: Protocol> {
    protocol: P,
    dials: Dials,
    /// In a timed world, how time is measured.
    clock: Option<Clock>,
    /// Those that lead at the beginning, one bit each.
    led_first: u8,
    asked: Vec<Named<P>>,
}

impl<P: Protocol> World<P> {
    /// Processes that follow `protocol` in the surrounding that `dials` describe.
    ///
    /// # Errors
    /// If a dial is out of range, or two contradict each other.
    pub fn new(protocol: P, dials: Dials) -> Result<Self, WorldError> {
        let most = MAX_NODES - P::SERVICES;
        if !(2..=most).contains(&dials.nodes) {
            return Err(WorldError::Nodes { nodes: dials.nodes, most });
        }
        dials.missing.check(dials.nodes + P::SERVICES)?;
        if dials.faults.duplicates > 0 && dials.network == Network::Set {
            return Err(WorldError::DuplicatesMerge);
        }
        if dials.faults.suspicions > 0 && dials.timing == Timing::Asynchronous {
            return Err(WorldError::SuspicionsUnbounded);
        }
        if dials.faults.pauses > 0 && dials.timing.timed().is_none() {
            return Err(WorldError::PausesUntimed { timing: dials.timing.kind() });
        }
        if dials.capacity == Some(0) {
            return Err(WorldError::NoCapacity);
        }
        let timed = dials.timing.timed();
        let clock = timed.map(|timed| Clock::of(&protocol, timed, dials.nodes)).transpose()?;
        let mut world = World { protocol, dials, clock, led_first: 0, asked: Vec::new() };
        let initial = world.initial();
        let leads = |id: &Id| initial.standing(*id) == Some(Standing::Leads);
        world.led_first = initial.members().filter(leads).fold(0, |led, id| led | 1 << id.index());
        Ok(world)
    }

    /// The same world, in which stateright's searches and its Explorer look for these. Liveness is
    /// not among what they can look for.
    #[must_use]
    pub fn asking(self, asked: Vec<Named<P>>) -> Self {
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
    pub fn asked(&self) -> &[Named<P>] {
        &self.asked
    }

    /// The ids of all processes, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        Id::all(self.processes())
    }

    /// The number of all processes: those that elect, and [services](Protocol::SERVICES).
    pub(crate) fn processes(&self) -> usize {
        self.dials.nodes + P::SERVICES
    }

    /// The ids of those that may crash, ascending.
    fn mortals(&self) -> impl Iterator<Item = Id> + use<P> {
        let services = if self.protocol.services_crash() { P::SERVICES } else { 0 };
        Id::all(self.dials.nodes + services)
    }

    /// The pairs between which there is a link that can be cut.
    fn pairs(&self) -> impl Iterator<Item = (Id, Id)> + use<'_, P> {
        let pairs =
            self.ids().flat_map(|a| self.ids().filter(move |&b| b > a).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| !self.dials.missing.between(a, b))
    }

    /// Whether there is a boundary that an execution may leave.
    pub(crate) fn is_bounded(&self) -> bool {
        P::BOUNDED || self.dials.capacity.is_some()
    }

    /// Whether states that differ only in names are one.
    #[must_use]
    pub fn renames(&self) -> bool {
        P::RENAMES && self.dials.names == Names::Renamed
    }

    /// The same world with everything called what the processes call it. What can happen in it is
    /// the same, in the same order, but it may have many more states.
    #[must_use]
    pub fn plain(&self) -> Self {
        let names = if P::RENAMES { Names::Kept } else { self.dials.names };
        World { dials: Dials { names, ..self.dials }, ..self.clone() }
    }

    /// What happens in the [plain](World::plain) world where `actions` happen in this one, each
    /// enabled when its turn comes.
    pub(crate) fn in_plain_words(&self, actions: &[Action<P>]) -> Vec<Action<P>> {
        if !self.renames() {
            return actions.to_vec();
        }
        let plain = self.plain();
        let (mut here, mut there) = (self.initial(), plain.initial());
        let (mut enabled, mut as_well) = (Vec::new(), Vec::new());
        let told = actions.iter().map(|action| {
            enabled.clear();
            as_well.clear();
            self.enabled(&here, &mut enabled);
            plain.enabled(&there, &mut as_well);
            let at = enabled.iter().position(|one| one == action);
            let same = *at.and_then(|at| as_well.get(at)).expect("renaming keeps what can happen");
            (here, there) = (self.apply(&here, action).state, plain.apply(&there, &same).state);
            same
        });
        told.collect()
    }

    /// Whether `id` leads at the beginning.
    pub(crate) fn led_first(&self, id: Id) -> bool {
        self.led_first & (1 << id.index()) != 0
    }
}

impl<P: Protocol> fmt::Debug for World<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}; {}", self.protocol, self.dials)
    }
}
