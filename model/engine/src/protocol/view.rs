//! A moment of the whole world, as an omniscient observer sees it. A protocol asks it only when,
//! with perfect timing, a timer has waited long enough; a process never sees it.

use super::{Id, Ids, MAX_TIMERS, Protocol, Timers};
use crate::machine::{Message, Observation};
use std::ops::Deref;

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope<M = Message> {
    /// The sender.
    pub from: Id,
    /// The receiver.
    pub to: Id,
    /// What is sent.
    pub message: M,
}

impl Envelope {
    /// Returns the message in flight as the engine knows it.
    #[must_use]
    pub fn of<P: Protocol>(from: Id, to: Id, message: P::Message) -> Self {
        Envelope { from, to, message: Message::of::<P>(message) }
    }
}

/// What an omniscient observer sees of a moment of the world and that has the same type for every
/// protocol. The slices have a place for each process, in the order of ids.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// How many processes elect.
    pub nodes: usize,
    /// The processes that are up.
    pub up: Ids,
    /// The processes that are paused.
    pub paused: Ids,
    /// Whether one that is down may recover yet.
    pub may_recover: bool,
    /// Whether a process has recovered.
    pub recovered: bool,
    /// Whether a message may have reached one process and not another that was up: a link is
    /// missing or was cut, or a message was lost.
    pub lossy: bool,
    /// For each process, those that its messages do not reach.
    pub cut: &'a [Ids],
    /// The timers that each has armed.
    pub timers: &'a [Timers],
    /// Of those, which have run out.
    pub run_out: RunOut<'a>,
}

impl Seen<'_> {
    /// Returns the same moment as it would be if no process were paused.
    #[must_use]
    pub fn without_pauses(&self) -> Self {
        Seen { paused: Ids::NONE, ..*self }
    }
}

/// A moment of the world, as an omniscient observer sees it.
#[derive(Clone, Copy)]
pub struct View<'a, P: Protocol> {
    seen: &'a Seen<'a>,
    values: Values<'a, P>,
}

/// What processes know, store and send to each other.
#[derive(Clone, Copy)]
enum Values<'a, P: Protocol> {
    /// In a world.
    Kept(&'a Observation<'a>),
    /// In a part of each process of a world.
    Part(Part<'a, P>),
}

/// What is seen of a part of each process that follows a protocol of its own.
#[derive(Clone, Copy)]
pub struct Part<'a, P: Protocol> {
    /// What each process knows.
    pub processes: &'a [P::Process],
    /// What each has on stable storage.
    pub stable: &'a [P::Stable],
    /// The messages in flight.
    pub flight: &'a [Envelope<P::Message>],
}

/// Which of the timers that are armed have run out; none in a world without a clock.
#[derive(Clone, Copy, Default)]
pub struct RunOut<'a> {
    /// For each process, the timers that can: the fixed ones.
    fixed: &'a [Timers],
    /// For each process, what the clocks of its timers show.
    clocks: &'a [[u8; MAX_TIMERS]],
}

impl<'a> RunOut<'a> {
    pub(crate) fn new(fixed: &'a [Timers], clocks: &'a [[u8; MAX_TIMERS]]) -> Self {
        RunOut { fixed, clocks }
    }

    fn has(self, process: usize, place: usize) -> bool {
        let fixed = self.fixed.get(process).is_some_and(|fixed| fixed.has_place(place));
        fixed && self.clocks.get(process).is_some_and(|clocks| clocks[place] == 0)
    }
}

impl<'a, P: Protocol> Deref for View<'a, P> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        self.seen
    }
}

impl<'a, P: Protocol> View<'a, P> {
    /// Returns a moment of a world of this protocol.
    #[inline]
    #[must_use]
    pub fn of(observation: &'a Observation<'a>) -> Self {
        View { seen: &observation.seen, values: Values::Kept(observation) }
    }

    /// Returns a moment of a part of each process, which follows another protocol than the whole.
    #[must_use]
    pub fn of_part(seen: &'a Seen<'a>, part: Part<'a, P>) -> Self {
        View { seen, values: Values::Part(part) }
    }

    /// What has the same type for every protocol.
    #[must_use]
    pub fn seen(&self) -> Seen<'a> {
        *self.seen
    }

    /// The number of processes, services included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes + P::OPTIONS.services.count
    }

    /// The messages in flight.
    #[inline]
    pub fn flight(&self) -> impl Iterator<Item = Envelope<P::Message>> {
        let (kept, part): (&[Envelope], &[_]) = match self.values {
            Values::Kept(world) => (world.flight, &[]),
            Values::Part(part) => (&[], part.flight),
        };
        let typed =
            |e: &Envelope| Envelope { from: e.from, to: e.to, message: *e.message.get::<P>() };
        kept.iter().map(typed).chain(part.iter().copied())
    }

    /// The ids of the processes that elect, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        Id::all(self.nodes)
    }

    /// The ids of the [services](super::Services), ascending.
    pub fn services(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        (self.nodes..self.nodes + P::OPTIONS.services.count).map(Id::at)
    }

    /// Whether `id` is up.
    #[inline]
    #[must_use]
    pub fn up(&self, id: Id) -> bool {
        self.up.contains(id)
    }

    /// Whether a message that is in flight to `id` may be answered: it is up, or may recover yet.
    #[must_use]
    pub fn may_answer(&self, id: Id) -> bool {
        self.up(id) || self.may_recover
    }

    /// The state of process `id`.
    #[inline]
    #[must_use]
    pub fn process(&self, id: Id) -> &'a P::Process {
        match self.values {
            Values::Kept(world) => world.processes[id.index()].get::<P>(),
            Values::Part(part) => &part.processes[id.index()],
        }
    }

    /// What process `id` has on stable storage.
    #[inline]
    #[must_use]
    pub fn stable(&self, id: Id) -> &'a P::Stable {
        match self.values {
            Values::Kept(world) => world.stable[id.index()].get::<P>(),
            Values::Part(part) => &part.stable[id.index()],
        }
    }

    /// Whether what `other` sends reaches `me`: it is up and not paused, and the link is not cut.
    #[inline]
    #[must_use]
    pub fn hears(&self, me: Id, other: Id) -> bool {
        self.up.contains(other)
            && !self.paused.contains(other)
            && !self.cut[other.index()].contains(me)
    }

    /// Whether two that are up hear each other.
    #[inline]
    #[must_use]
    pub fn links(&self, a: Id, b: Id) -> bool {
        self.hears(a, b) && self.hears(b, a)
    }

    /// Whether process `id` has armed `timer`.
    #[inline]
    #[must_use]
    pub fn armed(&self, id: Id, timer: P::Timer) -> bool {
        self.timers[id.index()].contains::<P>(timer)
    }

    /// Whether `timer` of process `id` is armed and its time has come, however slow the clock of
    /// that process: what it would see if it looked. Never in a world without a clock.
    #[must_use]
    pub fn has_run_out(&self, id: Id, timer: P::Timer) -> bool {
        self.armed(id, timer) && self.run_out.has(id.index(), Timers::place::<P>(timer))
    }

    /// Whether a message in flight from the first id to the second satisfies `wanted`.
    #[inline]
    pub fn in_flight(&self, mut wanted: impl FnMut(Id, Id, P::Message) -> bool) -> bool {
        match self.values {
            Values::Kept(world) => {
                world.flight.iter().any(|e| wanted(e.from, e.to, *e.message.get::<P>()))
            }
            Values::Part(part) => part.flight.iter().any(|e| wanted(e.from, e.to, e.message)),
        }
    }
}

/// What is asked of one state, by these rules.
pub type Judge<P> = for<'a> fn(&P, &View<'a, P>) -> bool;
