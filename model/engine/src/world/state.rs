//! The state of a world: all that a property may read, and so all that is hashed.

use super::Faults;
use super::clock::Times;
use super::network::{self, InFlight};
use super::per_process::PerProcess;
use crate::machine::{DynProtocol, Process, Stable, StateShape, Timer};
use crate::protocol::{Belief, Envelope, Id, Ids, Protocol, Timers};
use std::fmt;

/// The role of a process that is down.
pub const DOWN: &str = "down";

/// One state of a world. Places of processes that the world does not have hold defaults.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State {
    shape: &'static StateShape,
    nodes: u8,
    pub(super) up: Ids,
    /// For each process, those that its messages do not reach.
    pub(super) cut: PerProcess<Ids>,
    pub(super) spent: Faults,
    pub(super) processes: PerProcess<Process>,
    pub(super) stable: PerProcess<Stable>,
    pub(super) timers: PerProcess<Timers>,
    pub(super) flight: InFlight,
    /// Only in a timed world: the others pay one word for it.
    pub(super) times: Option<Box<Times>>,
}

impl State {
    pub(super) fn empty(machine: &dyn DynProtocol, nodes: usize) -> Self {
        State {
            shape: machine.shape(),
            nodes: Id::at(nodes - 1).number(),
            up: Ids::NONE,
            cut: PerProcess::of(nodes),
            spent: Faults::NONE,
            processes: PerProcess::filled(nodes, machine.crashed()),
            stable: PerProcess::filled(nodes, machine.blank()),
            timers: PerProcess::of(nodes),
            flight: InFlight::new(),
            times: None,
        }
    }

    /// Returns the ids of all processes, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<> {
        Id::all(usize::from(self.nodes))
    }

    /// Returns the ids of the processes that elect, ascending: all but
    /// [services](crate::protocol::Services).
    pub fn members(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<> {
        Id::all(usize::from(self.nodes) - self.shape.services())
    }

    /// Returns whether `id` is up.
    #[inline]
    #[must_use]
    pub fn up(&self, id: Id) -> bool {
        self.up.contains(id)
    }

    /// Returns the volatile state of `id`; of a crashed process, the default.
    #[inline]
    #[must_use]
    pub fn process(&self, id: Id) -> Process {
        *self.processes.at(id.index())
    }

    /// Returns what `id` has on stable storage.
    #[inline]
    #[must_use]
    pub fn stable(&self, id: Id) -> Stable {
        *self.stable.at(id.index())
    }

    /// Returns the timers that `id` has armed.
    #[inline]
    #[must_use]
    pub fn timers(&self, id: Id) -> Timers {
        *self.timers.at(id.index())
    }

    /// Returns the timers that `id` has armed, in their order.
    #[inline]
    pub fn armed(&self, id: Id) -> impl Iterator<Item = Timer> + use<> {
        self.shape.timers_in(self.timers(id))
    }

    /// Returns the volatile state of `id`, with its type.
    ///
    /// # Panics
    /// If the state is of another protocol.
    #[must_use]
    pub fn process_of<P: Protocol>(&self, id: Id) -> &'static P::Process {
        self.process(id).get::<P>()
    }

    /// Returns what `id` has on stable storage, with its type.
    ///
    /// # Panics
    /// If the state is of another protocol.
    #[must_use]
    pub fn stable_of<P: Protocol>(&self, id: Id) -> &'static P::Stable {
        self.stable(id).get::<P>()
    }

    /// Returns whether messages of `from` reach `to`.
    #[inline]
    #[must_use]
    pub fn connected(&self, from: Id, to: Id) -> bool {
        !self.cut.at(from.index()).contains(to)
    }

    /// Returns the messages in flight, sorted by link.
    #[must_use]
    pub fn in_flight(&self) -> &[Envelope] {
        &self.flight
    }

    /// Returns the ticks that each message [in flight](State::in_flight) has left, in a timed world
    /// with a largest delay; otherwise none.
    #[must_use]
    pub fn ticks_left(&self) -> &[u8] {
        self.times.as_ref().map_or(&[], |times| &times.left)
    }

    /// Returns what the clock of a timer shows in a timed world: the ticks that are left, or of a
    /// detector those that it has counted.
    #[must_use]
    pub fn clock(&self, id: Id, timer: Timer) -> Option<u8> {
        let times = self.times.as_ref()?;
        Some(times.clocks[id.index()][timer.place()])
    }

    /// Returns whether `id` is paused; never in a world without a clock.
    #[inline]
    #[must_use]
    pub fn paused(&self, id: Id) -> bool {
        self.times.as_ref().is_some_and(|times| times.paused.contains(id))
    }

    /// Returns the number of times that each fault has struck.
    #[must_use]
    pub fn spent(&self) -> Faults {
        self.spent
    }

    /// Returns what a live process believes of the leadership; `None` if it is down, or a service.
    #[inline]
    #[must_use]
    pub fn belief(&self, id: Id) -> Option<Belief> {
        let elects = id.index() + self.shape.services() < usize::from(self.nodes);
        (elects && self.up(id)).then(|| self.process(id).belief())
    }

    /// Returns the role of `id` in a word or two: that of a process that is down is [`DOWN`].
    #[must_use]
    pub fn role(&self, id: Id) -> &'static str {
        if self.up(id) { self.process(id).role() } else { DOWN }
    }

    /// Returns the leader that `id` believes in, if it is up and has one: itself if it leads.
    #[inline]
    #[must_use]
    pub fn leader(&self, id: Id) -> Option<Id> {
        self.belief(id)?.leader(id)
    }

    /// Returns whether `id` is up and leads.
    #[inline]
    #[must_use]
    pub fn leads(&self, id: Id) -> bool {
        self.belief(id) == Some(Belief::Leads)
    }

    /// Returns the same state, but that `id` is down.
    #[must_use]
    pub fn without(&self, id: Id, machine: &dyn DynProtocol) -> Self {
        let mut state = self.clone();
        state.stop(id, machine);
        state
    }

    /// Stops `id`: what it knows and its timers are lost, what it has on stable storage stays.
    pub(super) fn stop(&mut self, id: Id, machine: &dyn DynProtocol) {
        self.set_up(id, false);
        self.processes[id.index()] = machine.crashed();
        self.timers[id.index()] = Timers::NONE;
        self.stop_clocks(id);
    }

    pub(super) fn set_up(&mut self, id: Id, up: bool) {
        self.up.set(id, up);
    }

    pub(super) fn set_paused(&mut self, id: Id, paused: bool) {
        if let Some(times) = &mut self.times {
            times.paused.set(id, paused);
        }
    }

    pub(super) fn set_clock(&mut self, id: Id, timer: Timer, shows: u8) {
        if let Some(times) = &mut self.times {
            times.clocks[id.index()][timer.place()] = shows;
        }
    }

    pub(super) fn stop_clocks(&mut self, id: Id) {
        if let Some(times) = &mut self.times {
            times.clocks[id.index()] = Default::default();
        }
    }

    /// Takes a deliverable message out of flight.
    pub(super) fn take(&mut self, envelope: Envelope) {
        let Some(at) = network::place(&self.flight, envelope) else { return };
        self.flight.remove(at);
        if let Some(times) = self.times.as_mut().filter(|times| at < times.left.len()) {
            times.left.remove(at);
        }
    }

    /// One more of a deliverable message, that has as much time left.
    pub(super) fn double(&mut self, envelope: Envelope) {
        let Some(at) = network::place(&self.flight, envelope) else { return };
        self.flight.insert(at, envelope);
        if let Some(times) = &mut self.times
            && let Some(&left) = times.left.get(at)
        {
            times.left.insert(at, left);
        }
    }

    /// Identical messages that have the same time left become one.
    pub(super) fn merge(&mut self) {
        let Some(times) = self.times.as_mut().filter(|times| !times.left.is_empty()) else {
            return;
        };
        let mut all: Vec<_> = self.flight.drain(..).zip(times.left.drain(..)).collect();
        all.dedup();
        (self.flight, times.left) = all.into_iter().unzip();
    }

    /// What is in flight from one process to another is lost.
    pub(super) fn clear(&mut self, from: Id, to: Id) {
        let stays = |e: &Envelope| (e.from, e.to) != (from, to);
        if let Some(times) = &mut self.times {
            let mut flight = self.flight.iter();
            times.left.retain(|_| flight.next().is_none_or(stays));
        }
        self.flight.retain(|e| stays(e));
    }

    pub(super) fn set_connected(&mut self, from: Id, to: Id, connected: bool) {
        self.cut[from.index()].set(to, !connected);
    }
}

/// One line for each process, one for what is in flight: what the Explorer shows.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for id in self.ids() {
            write!(f, "{id}: {}", self.role(id))?;
            if self.paused(id) {
                f.write_str(" (paused)")?;
            }
            if let Some(leader) = self.leader(id).filter(|&leader| leader != id) {
                write!(f, " of {leader}")?;
            }
            let shows = |timer| self.clock(id, timer).map_or_else(String::new, |c| format!(" {c}"));
            let timers = self.armed(id).map(|t| format!("{}{}", t.plain(), shows(t)));
            let timers: Vec<_> = timers.collect();
            if !timers.is_empty() {
                write!(f, "; waits for: {}", timers.join(", "))?;
            }
            writeln!(f)?;
        }
        let left =
            |at| self.ticks_left().get(at).map_or_else(String::new, |l| format!(" ({l} left)"));
        let flying = self.in_flight().iter().enumerate();
        let flying =
            flying.map(|(at, e)| format!("{} {}→{}{}", e.message.label(), e.from, e.to, left(at)));
        let flying = flying.collect::<Vec<_>>().join(", ");
        write!(f, "in flight: {}", if flying.is_empty() { "nothing" } else { &flying })?;
        write!(f, "\nfaults so far: {}", self.spent())
    }
}
