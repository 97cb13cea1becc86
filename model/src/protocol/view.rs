//! A moment of the whole world, as an observer sees it who sees everything. A protocol asks it only
//! to say when, with perfect timing, a timer has waited long enough; a process never sees it.

use super::{Id, Protocol, Timers};

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope<M> {
    /// The sender.
    pub from: Id,
    /// The receiver.
    pub to: Id,
    /// What is sent.
    pub message: M,
}

/// A moment of the world, read by an observer who sees everything. The slices have a place for
/// each process, in the order of ids.
#[derive(Clone, Copy)]
pub struct View<'a, P: Protocol> {
    pub(crate) nodes: usize,
    pub(crate) up: u8,
    /// Those that are paused.
    pub(crate) paused: u8,
    /// For each process, those whom its messages do not reach.
    pub(crate) cut: &'a [u8],
    pub(crate) processes: &'a [P::Process],
    pub(crate) stable: &'a [P::Stable],
    pub(crate) timers: &'a [Timers],
    pub(crate) flight: &'a [Envelope<P::Message>],
}

impl<P: Protocol> View<'_, P> {
    /// The ids of the processes that elect, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        Id::all(self.nodes)
    }

    /// The ids of the [services](Protocol::SERVICES), ascending.
    pub fn services(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        (self.nodes..self.nodes + P::SERVICES).map(Id::at)
    }

    /// Whether `id` is up.
    #[must_use]
    pub fn up(&self, id: Id) -> bool {
        self.up & (1 << id.index()) != 0
    }

    /// The state of process `id`.
    #[must_use]
    pub fn process(&self, id: Id) -> &P::Process {
        &self.processes[id.index()]
    }

    /// What process `id` has on stable storage.
    #[must_use]
    pub fn stable(&self, id: Id) -> &P::Stable {
        &self.stable[id.index()]
    }

    /// Whether what `other` sends reaches `me`: it is up and not paused, and the link is not cut.
    #[must_use]
    pub fn hears(&self, me: Id, other: Id) -> bool {
        self.up & !self.paused & (1 << other.index()) != 0
            && self.cut[other.index()] & (1 << me.index()) == 0
    }

    /// Whether two that are up hear each other.
    #[must_use]
    pub fn links(&self, a: Id, b: Id) -> bool {
        self.hears(a, b) && self.hears(b, a)
    }

    /// Whether process `id` has armed `timer`.
    #[must_use]
    pub fn armed(&self, id: Id, timer: P::Timer) -> bool {
        self.timers[id.index()].contains::<P>(timer)
    }

    /// Whether a message in flight from the first id to the second satisfies `wanted`.
    pub fn in_flight(&self, mut wanted: impl FnMut(Id, Id, P::Message) -> bool) -> bool {
        self.flight.iter().any(|e| wanted(e.from, e.to, e.message))
    }
}
