//! A moment of the whole world, as an omniscient observer sees it. A protocol asks it only when,
//! with perfect timing, a timer has waited long enough; a process never sees it.

use super::{Id, Ids, MAX_TIMERS, Protocol, Timers};

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

/// A moment of the world, as an omniscient observer sees it. The slices have a place for
/// each process, in the order of ids.
#[derive(Clone, Copy)]
pub struct View<'a, P: Protocol> {
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
    /// What each process knows.
    pub processes: &'a [P::Process],
    /// What each has on stable storage.
    pub stable: &'a [P::Stable],
    /// The timers that each has armed.
    pub timers: &'a [Timers],
    /// Of those, which have run out.
    pub run_out: RunOut<'a>,
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

impl<P: Protocol> View<'_, P> {
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

    /// The same moment as it would be if no process were paused.
    #[must_use]
    pub fn without_pauses(&self) -> Self {
        View { paused: Ids::NONE, ..*self }
    }

    /// Whether a message that is in flight to `id` may be answered: it is up, or may recover yet.
    #[must_use]
    pub fn may_answer(&self, id: Id) -> bool {
        self.up(id) || self.may_recover
    }

    /// The state of process `id`.
    #[inline]
    #[must_use]
    pub fn process(&self, id: Id) -> &P::Process {
        &self.processes[id.index()]
    }

    /// What process `id` has on stable storage.
    #[inline]
    #[must_use]
    pub fn stable(&self, id: Id) -> &P::Stable {
        &self.stable[id.index()]
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
        self.flight.iter().any(|e| wanted(e.from, e.to, e.message))
    }
}

/// What is asked of one state, by these rules.
pub type Judge<P> = for<'a> fn(&P, &View<'a, P>) -> bool;
