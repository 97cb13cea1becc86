//! A moment of the whole world, as an omniscient observer sees it. A protocol asks it only when,
//! with perfect timing, a timer has waited long enough; a process never sees it.

use super::{Group, Id, Ids, MAX_TIMERS, Protocol, Timers};
use crate::machine::{Message, Process, Stable};
use std::ops::Deref;

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope<M = Message> {
    /// The process that sent the message.
    pub from: Id,
    /// The process that the message is sent to.
    pub to: Id,
    /// The message that is sent.
    pub message: M,
}

impl Envelope {
    /// Returns the message in flight as the engine knows it.
    #[must_use]
    pub fn of<P: Protocol>(from: Id, to: Id, message: P::Message) -> Self {
        Envelope { from, to, message: Message::of::<P>(message) }
    }
}

/// The part of a moment of the world that has the same type for every protocol, as an omniscient
/// observer sees it. The slices have a place for each process, in the order of ids.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The number of processes that elect.
    pub nodes: usize,
    /// The processes that are up.
    pub up: Ids,
    /// The processes that are paused.
    pub paused: Ids,
    /// Whether a process that is down may recover yet.
    pub may_recover: bool,
    /// Whether a process has recovered.
    pub recovered: bool,
    /// Whether a message may have reached one process and not another that was up: a link is
    /// missing or was cut, or a message was lost.
    pub lossy: bool,
    /// Whether a message was doubled, so that a copy of one that has arrived may be on its way.
    pub doubled: bool,
    /// The processes that the messages of each process do not reach.
    pub cut: &'a [Ids],
    /// The timers that each process has armed.
    pub timers: &'a [Timers],
    /// The armed timers that have run out.
    pub run_out: RunOut<'a>,
}

impl Seen<'_> {
    /// Returns the same moment as it would be if no process were paused.
    #[must_use]
    pub fn without_pauses(&self) -> Self {
        Seen { paused: Ids::NONE, ..*self }
    }
}

/// A moment of a world of a protocol whose types are not known, as an omniscient observer sees it.
#[derive(Clone, Copy)]
pub struct Observation<'a> {
    /// The part of the moment that has the same type for every protocol.
    pub seen: Seen<'a>,
    /// The volatile state of each process.
    pub processes: &'a [Process],
    /// What each process has on stable storage.
    pub stable: &'a [Stable],
    /// The messages in flight.
    pub flight: &'a [Envelope],
}

impl Observation<'_> {
    /// Returns the same moment as it would be if no process were paused.
    #[must_use]
    pub fn without_pauses(&self) -> Self {
        Observation { seen: self.seen.without_pauses(), ..*self }
    }
}

/// A moment of the world, as an omniscient observer sees it.
#[derive(Clone, Copy)]
pub struct View<'a, P: Protocol> {
    seen: &'a Seen<'a>,
    values: Values<'a, P>,
    /// The rules of each process, if they are not all the same.
    mixed: Option<&'a Group<P>>,
}

/// What processes know, store and send to each other.
#[derive(Clone, Copy)]
enum Values<'a, P: Protocol> {
    /// In a world.
    Kept(&'a Observation<'a>),
    /// In a part of each process of a world.
    Part(Part<'a, P>),
}

/// The part of each process that follows a protocol of its own, as it is seen.
#[derive(Clone, Copy)]
pub struct Part<'a, P: Protocol> {
    /// The volatile state of each process.
    pub processes: &'a [P::Process],
    /// What each process has on stable storage.
    pub stable: &'a [P::Stable],
    /// The messages in flight.
    pub flight: &'a [Envelope<P::Message>],
}

/// The armed timers that have run out; none in a world without a clock.
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
    /// Returns the view of a moment of a world of this protocol.
    #[inline]
    #[must_use]
    pub fn of(observation: &'a Observation<'a>) -> Self {
        View { seen: &observation.seen, values: Values::Kept(observation), mixed: None }
    }

    /// Returns the view of a moment of a part of each process, which follows another protocol than
    /// the whole.
    #[must_use]
    pub fn of_part(seen: &'a Seen<'a>, part: Part<'a, P>) -> Self {
        View { seen, values: Values::Part(part), mixed: None }
    }

    /// Returns the same moment of a group, whose processes may have rules of their own.
    #[inline]
    #[must_use]
    pub fn of_group(self, group: &'a Group<P>) -> Self {
        View { mixed: group.is_mixed().then_some(group), ..self }
    }

    /// Returns the rules of process `id`: these, unless the processes have different ones.
    #[inline]
    #[must_use]
    pub fn rules_of<'r>(&self, rules: &'r P, id: Id) -> &'r P
    where
        'a: 'r,
    {
        self.mixed.map_or(rules, |group| group.rules(id))
    }

    /// Returns the part of the moment that has the same type for every protocol.
    #[must_use]
    pub fn seen(&self) -> Seen<'a> {
        *self.seen
    }

    /// Returns the number of processes, services included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes + P::OPTIONS.services.count
    }

    /// Returns the messages in flight.
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

    /// Returns the ids of the processes that elect, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        Id::all(self.nodes)
    }

    /// Returns the ids of the [services](super::Services), ascending.
    pub fn services(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        (self.nodes..self.nodes + P::OPTIONS.services.count).map(Id::at)
    }

    /// Returns whether `id` is up.
    #[inline]
    #[must_use]
    pub fn up(&self, id: Id) -> bool {
        self.up.contains(id)
    }

    /// Returns the ids of the processes that elect and are up, ascending.
    pub fn live(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<P> {
        let up = self.up;
        self.ids().filter(move |&id| up.contains(id))
    }

    /// Returns whether all live processes of which `of` says something say the same.
    pub fn agree<T: PartialEq>(&self, of: impl FnMut(Id) -> Option<T>) -> bool {
        let mut all = self.live().filter_map(of);
        all.next().is_none_or(|first| all.all(|other| other == first))
    }

    /// Returns whether `me` waits for an answer in vain: every question of it has reached each
    /// process that is up or may recover, and no answer to it is on its way.
    pub fn all_answered(
        &self,
        me: Id,
        asks: impl Fn(P::Message) -> bool,
        answers: impl Fn(P::Message) -> bool,
    ) -> bool {
        !self.in_flight(|from, to, message| {
            from == me && self.may_answer(to) && asks(message) || to == me && answers(message)
        })
    }

    /// Returns whether a message that is in flight to `id` may be answered: `id` is up, or may
    /// recover yet.
    #[must_use]
    pub fn may_answer(&self, id: Id) -> bool {
        self.up(id) || self.may_recover
    }

    /// Returns the state of process `id`.
    #[inline]
    #[must_use]
    pub fn process(&self, id: Id) -> &'a P::Process {
        match self.values {
            Values::Kept(world) => world.processes[id.index()].get::<P>(),
            Values::Part(part) => &part.processes[id.index()],
        }
    }

    /// Returns what process `id` has on stable storage.
    #[inline]
    #[must_use]
    pub fn stable(&self, id: Id) -> &'a P::Stable {
        match self.values {
            Values::Kept(world) => world.stable[id.index()].get::<P>(),
            Values::Part(part) => &part.stable[id.index()],
        }
    }

    /// Returns whether what `other` sends reaches `me`: `other` is up and not paused, and the link
    /// is not cut.
    #[inline]
    #[must_use]
    pub fn hears(&self, me: Id, other: Id) -> bool {
        self.up.contains(other)
            && !self.paused.contains(other)
            && !self.cut[other.index()].contains(me)
    }

    /// Returns whether two processes that are up hear each other.
    #[inline]
    #[must_use]
    pub fn links(&self, a: Id, b: Id) -> bool {
        self.hears(a, b) && self.hears(b, a)
    }

    /// Returns whether process `id` has armed `timer`.
    #[inline]
    #[must_use]
    pub fn armed(&self, id: Id, timer: P::Timer) -> bool {
        self.timers[id.index()].contains::<P>(timer)
    }

    /// Returns whether `timer` of process `id` is armed and its time has come, however slow the
    /// clock of that process: what the process would see if it looked. Never in a world without a
    /// clock.
    #[must_use]
    pub fn has_run_out(&self, id: Id, timer: P::Timer) -> bool {
        self.armed(id, timer) && self.run_out.has(id.index(), Timers::place::<P>(timer))
    }

    /// Returns whether a message in flight from the first id to the second satisfies `wanted`.
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

/// A judgement of one state, by these rules.
pub type Judge<P> = for<'a> fn(&P, &View<'a, P>) -> bool;
