//! The whole world as an omniscient observer sees it. A protocol asks it only to say when, with
//! perfect timing, a timer has waited long enough; a process never sees it.

use super::{State, World};
use crate::protocol::{Id, Protocol};

/// A state, read by an observer who sees everything.
pub struct View<'a, P: Protocol> {
    pub(super) world: &'a World<P>,
    pub(super) state: &'a State<P>,
}

impl<P: Protocol> View<'_, P> {
    /// The ids of all processes, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        self.world.ids()
    }

    /// Whether `id` is up.
    #[must_use]
    pub fn up(&self, id: Id) -> bool {
        self.state.up(id)
    }

    /// The state of process `id`.
    #[must_use]
    pub fn process(&self, id: Id) -> &P::Process {
        self.state.process(id)
    }

    /// Whether what `other` sends reaches `me`: it is up, and the link is not cut.
    #[must_use]
    pub fn hears(&self, me: Id, other: Id) -> bool {
        self.state.up(other) && self.state.connected(other, me)
    }

    /// Whether process `id` has armed `timer`.
    #[must_use]
    pub fn armed(&self, id: Id, timer: P::Timer) -> bool {
        self.state.timers(id).contains::<P>(timer)
    }

    /// Whether a message in flight from the first id to the second satisfies `wanted`.
    pub fn in_flight(&self, mut wanted: impl FnMut(Id, Id, P::Message) -> bool) -> bool {
        self.state.flight.iter().any(|e| wanted(e.from, e.to, e.message))
    }
}
