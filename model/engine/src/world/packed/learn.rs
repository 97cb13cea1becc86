//! How the parts of a world become known: the world itself is asked what an action does.

use super::tables::{
    BEYOND, Global, Globals, Held, Link, Next, Numbered, Own, Process, Sent, Step, UNKNOWN, column,
    number,
};
use super::{Factors, Layout, Observed, Packed};
use crate::machine::Effect;
use crate::protocol::{Envelope, Id};
use crate::space::{OUTSIDE_WORD, Space, Unlearned};
use crate::world::network::{self, InFlight, deliverable};
use crate::world::{Action, Condition, Exceeded, Outcome, State, World};
use smallvec::SmallVec;
use std::sync::Mutex;

impl Packed {
    /// Returns a space of a world of which only the start is known, with what is asked of its
    /// states.
    ///
    /// # Panics
    /// If the world is [too large](World::is_searchable).
    #[must_use]
    pub fn new(world: &World, questions: Vec<Condition>) -> Self {
        assert!(world.is_searchable().is_ok(), "a world of so many is not searched");
        let pairs = world.ids().flat_map(|a| world.ids().map(move |b| (a, b)));
        let links = pairs.filter(|(a, b)| a != b).map(|(a, b)| (a, b, Link::default()));
        let mut packed = Packed {
            world: world.clone(),
            questions,
            layout: Layout::default(),
            former: Layout::default(),
            factors: Factors::new(world.processes() * world.processes() + 1),
            unverified: Vec::new(),
            messages: Numbered::default(),
            processes: world.ids().map(|_| Process::default()).collect(),
            links: links.collect(),
            globals: Globals::default(),
            actions: Mutex::default(),
            exceeded: Exceeded::default(),
            observed: Observed::default(),
        };
        for link in 0..packed.links.len() {
            packed.content(link, &[]);
        }
        packed.parts(&world.initial());
        packed.make_room(u32::MAX);
        packed
    }

    /// Learns what every action does that is enabled in the state that `words` stand for.
    pub(super) fn learn_from(&mut self, words: &[u64]) {
        let state = self.decode(words);
        let mut actions = Vec::new();
        self.world.enabled(&state, &mut actions);
        for action in &actions {
            let outcome = self.world.apply(&state, action);
            if !self.asks() {
                self.record_outcome(&state, action, &outcome);
            }
            if self.world.within_bounds(&outcome.state) {
                self.parts(&outcome.state);
            }
        }
        if self.has_outgrown() {
            self.unverified.push(state);
        } else {
            self.verify(&state);
        }
    }

    /// Compares what is looked up with what the world itself does in `state`.
    ///
    /// # Panics
    /// If they differ: a mistake in this module.
    fn verify(&self, state: &State) {
        let (mut words, mut next) = (Vec::new(), Vec::new());
        let known = self.pack(state, self.words(), &mut words).is_ok();
        let known = known && self.expand(&words, &mut self.scratch(), &mut next).is_ok();
        let looked_up = next.chunks(self.words());
        let looked_up =
            looked_up.map(|words| (words[0] != OUTSIDE_WORD).then(|| self.decode(words)));
        let mut actions = Vec::new();
        self.world.enabled(state, &mut actions);
        let targets = actions.iter().map(|action| self.world.apply(state, action).state);
        let targets = targets.map(|target| self.world.within_bounds(&target).then_some(target));
        assert!(
            known && looked_up.eq(targets),
            "the packed world and the world itself differ after\n{state:?}"
        );
    }

    /// Writes down what `action` does to the parts of `state` that it touches.
    fn record_outcome(&mut self, state: &State, action: &Action, outcome: &Outcome) {
        match *action {
            Action::Deliver(e) => {
                if state.up(e.to) {
                    let (own, step) = self.step_of(state, e.to, outcome);
                    let message = number(&mut self.messages, e.message);
                    let receive = &mut self.processes[e.to.index()].receive;
                    receive.set(own, column(e.from, message), step);
                }
                self.record_sends(state, without(&state.flight, e), outcome);
            }
            Action::Expire { id, timer, early } => {
                let (own, step) = self.step_of(state, id, outcome);
                let at = timer.place() as u32;
                self.processes[id.index()].expire.set(own, at, step);
                self.record_sends(state, state.flight.clone(), outcome);
                if early {
                    self.record_fault(state, Globals::SUSPICION, outcome);
                }
            }
            Action::Recover(id) => {
                let (own, step) = self.step_of(state, id, outcome);
                self.processes[id.index()].recover.set(own, 0, step);
                self.record_sends(state, state.flight.clone(), outcome);
                self.record_fault(state, Globals::RECOVERY, outcome);
            }
            Action::Crash(id) => {
                let before = self.own(state, id);
                let after = self.own(&outcome.state, id);
                self.processes[id.index()].crash.set(before, 0, after);
                self.record_fault(state, Globals::CRASH, outcome);
            }
            Action::Lose(_) => self.record_fault(state, Globals::LOSS, outcome),
            Action::Duplicate(e) => {
                self.record_duplicate(state, e, outcome);
                self.record_fault(state, Globals::DUPLICATE, outcome);
            }
            Action::Cut(a, b, ways) => self.record_fault(state, Globals::cut(a, b, ways), outcome),
            Action::Heal(a, b, ways) => {
                self.record_fault(state, Globals::heal(a, b, ways), outcome);
            }
            // A world without a clock has none of these.
            Action::Pause(_) | Action::Resume(_) | Action::Jump(..) | Action::Tick => {}
        }
    }

    fn record_fault(&mut self, state: &State, fault: u32, outcome: &Outcome) {
        let (before, after) = (self.global(state), self.global(&outcome.state));
        self.globals.after.set(before, fault, after);
    }

    /// The number of what process `id` had, and of the step it took.
    fn step_of(&mut self, state: &State, id: Id, outcome: &Outcome) -> (u32, u32) {
        let before = self.own(state, id);
        let own = self.own(&outcome.state, id);
        let mut sends = Vec::new();
        for effect in &outcome.effects {
            if let Effect::Send { to, message } = *effect {
                let link = (self.link_part(id, to) - self.processes.len()) as u8;
                let message = number(&mut self.messages, message);
                sends.push(Sent { link, to, message });
            }
        }
        let (process, stable) = (outcome.state.process(id), outcome.state.stable(id));
        if !self.world.machine.within(process, stable) {
            return (before, BEYOND);
        }
        let step = Step { own, sends: sends.into() };
        (before, self.processes[id.index()].number(step))
    }

    /// Writes down what links hold after each message that is sent, `flight` being there before.
    fn record_sends(&mut self, state: &State, mut flight: InFlight, outcome: &Outcome) {
        let Some(from) = outcome.actor else { return };
        for effect in &outcome.effects {
            let Effect::Send { to, message } = *effect else { continue };
            if !state.connected(from, to) {
                continue;
            }
            let link = self.link_part(from, to) - self.processes.len();
            let before = held(&flight, &[], from, to);
            let sent = Envelope { from, to, message };
            network::send(self.world.scenario.network, &mut flight, None, sent);
            let after = held(&flight, &[], from, to);
            if self.overfull(&before) {
                continue;
            }
            let before = self.content(link, &before);
            let after = if self.overfull(&after) { BEYOND } else { self.content(link, &after) };
            let message = number(&mut self.messages, message);
            self.links[link].2.push.set(before, message, after);
        }
    }

    fn overfull(&self, held: &[Held]) -> bool {
        self.world.scenario.capacity.is_some_and(|capacity| held.len() > capacity)
    }

    fn record_duplicate(&mut self, state: &State, e: Envelope, outcome: &Outcome) {
        let link = self.link_part(e.from, e.to) - self.processes.len();
        let before = self.content(link, &held(&state.flight, &[], e.from, e.to));
        let after = held(&outcome.state.flight, &[], e.from, e.to);
        let after = if self.overfull(&after) { BEYOND } else { self.content(link, &after) };
        let message = number(&mut self.messages, e.message);
        for next in &mut self.links[link].2.next[before as usize] {
            if next.message == message {
                next.doubled = after;
            }
        }
    }

    /// The number of what a link holds.
    fn content(&mut self, link: usize, held: &[Held]) -> u32 {
        if let Some(number) = self.links[link].2.known.get_index_of(held) {
            return number as u32;
        }
        let flight: InFlight = held.iter().map(|&(e, _)| e).collect();
        let number = number(&mut self.links[link].2.known, held.into());
        // The place must be taken before those of what is left are.
        self.links[link].2.next.push(Default::default());
        self.links[link].2.flight.push(flight.iter().copied().collect());
        if !self.asks() {
            let next: Vec<_> = deliverable(self.world.scenario.network, &flight).collect();
            for e in next {
                let rest = without(&flight, e);
                let rest: Vec<_> = rest.iter().map(|&e| (e, 0)).collect();
                let without = self.content(link, &rest);
                let message = self::number(&mut self.messages, e.message);
                let column = column(e.from, message);
                let next = Next { message, column, without, doubled: UNKNOWN };
                self.links[link].2.next[number as usize].push(next);
            }
        }
        number
    }

    fn own(&mut self, state: &State, id: Id) -> u32 {
        number(&mut self.processes[id.index()].known, Own::of(state, id))
    }

    fn global(&mut self, state: &State) -> u32 {
        number(&mut self.globals.known, Global::of(state))
    }

    /// The numbers of all parts of `state`.
    fn parts(&mut self, state: &State) -> Vec<u32> {
        let mut parts: Vec<u32> = self.world.ids().map(|id| self.own(state, id)).collect();
        for link in 0..self.links.len() {
            let (from, to, _) = self.links[link];
            let held = held(&state.flight, state.ticks_left(), from, to);
            parts.push(self.content(link, &held));
        }
        parts.push(self.global(state));
        parts
    }

    /// Appends `state` to `to`, in `width` words.
    ///
    /// # Errors
    /// If one of its parts has not been met.
    pub(super) fn pack(
        &self,
        state: &State,
        width: usize,
        to: &mut Vec<u64>,
    ) -> Result<(), Unlearned> {
        let at = to.len();
        to.resize(at + width, 0);
        let words = &mut to[at..];
        let mut fields = self.layout.fields().iter();
        let mut put = |number: Option<usize>| -> Result<(), Unlearned> {
            let (Some(field), Some(number)) = (fields.next(), number) else {
                return Err(Unlearned);
            };
            field.set(words, number as u32);
            Ok(())
        };
        for (id, process) in self.world.ids().zip(&self.processes) {
            put(process.known.get_index_of(&Own::of(state, id)))?;
        }
        for (from, to, link) in &self.links {
            let held = held(&state.flight, state.ticks_left(), *from, *to);
            put(link.known.get_index_of(&*held))?;
        }
        put(self.globals.known.get_index_of(&Global::of(state)))
    }

    /// How many values of each part are known.
    pub(super) fn known(&self) -> impl Iterator<Item = usize> {
        let processes = self.processes.iter().map(|process| process.known.len());
        let links = self.links.iter().map(|(_, _, link)| link.known.len());
        processes.chain(links).chain([self.globals.known.len()])
    }

    /// Whether a part has more values than its place in the words can tell apart.
    pub(super) fn has_outgrown(&self) -> bool {
        let fields = self.layout.fields();
        fields.len() < self.known().count()
            || self.known().zip(fields).any(|(known, field)| known > field.room())
    }

    /// Makes room for everything known, and for more within so many bits.
    pub(super) fn make_room(&mut self, most_bits: u32) {
        let layout = Layout::new(self.known(), most_bits);
        self.former = std::mem::replace(&mut self.layout, layout);
        for state in std::mem::take(&mut self.unverified) {
            self.verify(&state);
        }
    }
}

/// What the link between two processes holds, of all messages and the ticks that they have left.
fn held(flight: &[Envelope], left: &[u8], from: Id, to: Id) -> SmallVec<[Held; 6]> {
    let left = left.iter().copied().chain(std::iter::repeat(0));
    let all = flight.iter().copied().zip(left);
    all.filter(|(e, _)| (e.from, e.to) == (from, to)).collect()
}

/// What is in flight without a message.
fn without(flight: &InFlight, envelope: Envelope) -> InFlight {
    let mut flight = flight.clone();
    if let Some(at) = network::place(&flight, envelope) {
        flight.remove(at);
    }
    flight
}

impl Own {
    fn of(state: &State, id: Id) -> Self {
        Own {
            up: state.up(id),
            paused: state.paused(id),
            process: state.process(id),
            stable: state.stable(id),
            timers: state.timers(id),
            clocks: state.times.as_ref().map_or_else(Default::default, |t| t.clocks[id.index()]),
        }
    }
}

impl Global {
    fn of(state: &State) -> Self {
        let calm = state.times.as_ref().map_or(0, |times| times.calm);
        Global { spent: state.spent, cut: state.cut.few(), calm }
    }
}
