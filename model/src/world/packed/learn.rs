//! How the parts of a world become known: the world itself is asked what an action does.

use super::tables::number;
use super::tables::{
    Global, Globals, Link, Next, Numbered, OVERFULL, Own, Process, Sent, Step, UNKNOWN,
};
use super::{Layout, Packed, Question, column, fault};
use crate::protocol::{Effect, Envelope, Id, Protocol};
use crate::space::{OUTSIDE_WORD, Space};
use crate::world::network::{self, InFlight, deliverable, take};
use crate::world::{Action, Outcome, State, World};

impl<P: Protocol> Packed<P> {
    /// A world of which only the start is known, and what is asked of its states.
    #[must_use]
    pub fn new(world: &World<P>, questions: Vec<Question<P>>) -> Self {
        let pairs = world.ids().flat_map(|a| world.ids().map(move |b| (a, b)));
        let links = pairs.filter(|(a, b)| a != b).map(|(a, b)| (a, b, Link::default()));
        let mut packed = Packed {
            world: world.clone(),
            questions,
            layout: Layout::default(),
            messages: Numbered::default(),
            processes: world.ids().map(|_| Process::default()).collect(),
            links: links.collect(),
            globals: Globals::default(),
        };
        for link in 0..packed.links.len() {
            packed.content(link, InFlight::<P>::new());
        }
        packed.parts(&world.initial());
        packed.lay_out();
        packed
    }

    /// Learns what every action does that is enabled in the state that `words` stand for. Whether
    /// states now look different in words: all that were packed before are void then.
    ///
    /// # Panics
    /// If what is looked up differs from what the world itself does: a mistake in this module.
    pub(super) fn learn_from<const W: usize>(&mut self, words: &[u64; W]) -> bool {
        let state = self.decode(words);
        let mut actions = Vec::new();
        self.world.enabled(&state, &mut actions);
        let mut targets = Vec::new();
        for action in &actions {
            let outcome = self.world.apply(&state, action);
            self.note(&state, action, &outcome);
            targets.push(self.world.inside(&outcome.state).then_some(outcome.state));
        }
        for target in targets.iter().flatten() {
            self.parts(target);
        }
        if self.lay_out() {
            return true;
        }
        let mut next = Vec::new();
        let learned = self.expand(words, &mut self.scratch(), &mut next).is_ok();
        let looked_up =
            next.iter().map(|words| (words[0] != OUTSIDE_WORD).then(|| self.decode(words)));
        assert!(
            learned && looked_up.eq(targets),
            "the packed world and the world itself differ after\n{state:?}"
        );
        false
    }

    /// Writes down what `action` does to the parts of `state` that it touches.
    fn note(&mut self, state: &State<P>, action: &Action<P>, outcome: &Outcome<P>) {
        match *action {
            Action::Deliver(e) => {
                if state.up(e.to) {
                    let (own, step) = self.step_of(state, e.to, outcome);
                    let message = number(&mut self.messages, e.message);
                    let receive = &mut self.processes[e.to.index()].receive;
                    receive.set(own, column(e.from, message), step);
                }
                let mut flight = state.flight.clone();
                take::<P>(&mut flight, e);
                self.note_sends(state, flight, outcome);
            }
            Action::Expire { id, timer, early } => {
                let (own, step) = self.step_of(state, id, outcome);
                let at = P::TIMERS.iter().position(|&known| known == timer).unwrap_or(0);
                self.processes[id.index()].expire.set(own, at as u32, step);
                self.note_sends(state, state.flight.clone(), outcome);
                if early {
                    self.note_fault(state, fault::SUSPICION, outcome);
                }
            }
            Action::Recover(id) => {
                let (own, step) = self.step_of(state, id, outcome);
                self.processes[id.index()].recover.set(own, 0, step);
                self.note_sends(state, state.flight.clone(), outcome);
                self.note_fault(state, fault::RECOVERY, outcome);
            }
            Action::Crash(id) => {
                let before = self.own(state, id);
                let after = self.own(&outcome.state, id);
                self.processes[id.index()].crash.set(before, 0, after);
                self.note_fault(state, fault::CRASH, outcome);
            }
            Action::Lose(_) => self.note_fault(state, fault::LOSS, outcome),
            Action::Duplicate(e) => {
                self.note_double(state, e, outcome);
                self.note_fault(state, fault::DUPLICATE, outcome);
            }
            Action::Cut(a, b) => self.note_fault(state, fault::cut(a, b), outcome),
            Action::Heal(a, b) => self.note_fault(state, fault::heal(a, b), outcome),
        }
    }

    fn note_fault(&mut self, state: &State<P>, fault: u32, outcome: &Outcome<P>) {
        let (before, after) = (self.global(state), self.global(&outcome.state));
        self.globals.after.set(before, fault, after);
    }

    /// The number of what process `id` had, and of the step it took.
    fn step_of(&mut self, state: &State<P>, id: Id, outcome: &Outcome<P>) -> (u32, u32) {
        let before = self.own(state, id);
        let own = self.own(&outcome.state, id);
        let mut sends = Vec::new();
        for effect in &outcome.effects {
            if let Effect::Send { to, message } = *effect {
                let link = (self.link_part(id, to) - self.processes.len()) as u8;
                let message = number(&mut self.messages, message) as u16;
                sends.push(Sent { link, to, message });
            }
        }
        let step = Step { own, sends: sends.into() };
        (before, number(&mut self.processes[id.index()].steps, step))
    }

    /// Writes down what links hold after each message that is sent, `flight` being there before.
    fn note_sends(&mut self, state: &State<P>, mut flight: InFlight<P>, outcome: &Outcome<P>) {
        let Some(from) = outcome.actor else { return };
        for effect in &outcome.effects {
            let Effect::Send { to, message } = *effect else { continue };
            if !state.connected(from, to) {
                continue;
            }
            let link = self.link_part(from, to) - self.processes.len();
            let before = held::<P>(&flight, from, to);
            network::send::<P>(
                self.world.dials.network,
                &mut flight,
                Envelope { from, to, message },
            );
            let after = held::<P>(&flight, from, to);
            if self.overfull(&before) {
                continue;
            }
            let before = self.content(link, before);
            let after = if self.overfull(&after) { OVERFULL } else { self.content(link, after) };
            let message = number(&mut self.messages, message);
            self.links[link].2.push.set(before, message, after);
        }
    }

    fn overfull(&self, held: &InFlight<P>) -> bool {
        self.world.dials.capacity.is_some_and(|capacity| held.len() > capacity)
    }

    fn note_double(&mut self, state: &State<P>, e: Envelope<P::Message>, outcome: &Outcome<P>) {
        let link = self.link_part(e.from, e.to) - self.processes.len();
        let before = self.content(link, held::<P>(&state.flight, e.from, e.to));
        let after = held::<P>(&outcome.state.flight, e.from, e.to);
        let after = if self.overfull(&after) { OVERFULL } else { self.content(link, after) };
        let message = number(&mut self.messages, e.message) as u16;
        for next in &mut self.links[link].2.next[before as usize] {
            if next.message == message {
                next.doubled = after;
            }
        }
    }

    /// The number of what a link holds.
    fn content(&mut self, link: usize, flight: InFlight<P>) -> u32 {
        let (number, new) = self.links[link].2.known.insert_full(flight.as_slice().into());
        if new {
            let next = deliverable::<P>(self.world.dials.network, &flight);
            let next = next.collect::<Vec<_>>();
            // The place must be taken before those of what is left are.
            self.links[link].2.next.push(Default::default());
            for e in next {
                let mut without = flight.clone();
                take::<P>(&mut without, e);
                let without = self.content(link, without);
                let message = self::number(&mut self.messages, e.message) as u16;
                let next = Next { message, without, doubled: UNKNOWN };
                self.links[link].2.next[number].push(next);
            }
        }
        number as u32
    }

    fn own(&mut self, state: &State<P>, id: Id) -> u32 {
        let own = Own {
            up: state.up(id),
            process: *state.process(id),
            stable: *state.stable(id),
            timers: state.timers(id),
        };
        number(&mut self.processes[id.index()].known, own)
    }

    fn global(&mut self, state: &State<P>) -> u32 {
        number(&mut self.globals.known, Global { spent: state.spent, cut: state.cut })
    }

    /// The numbers of all parts of `state`.
    fn parts(&mut self, state: &State<P>) -> Vec<u32> {
        let mut parts: Vec<u32> = self.world.ids().map(|id| self.own(state, id)).collect();
        for link in 0..self.links.len() {
            let (from, to, _) = self.links[link];
            parts.push(self.content(link, held::<P>(&state.flight, from, to)));
        }
        parts.push(self.global(state));
        parts
    }

    /// `state` in words, all parts of which must have room.
    pub(super) fn encode(&mut self, state: &State<P>) -> Vec<u64> {
        let parts = self.parts(state);
        let mut words = vec![0; self.layout.words()];
        for (field, part) in self.layout.fields().iter().zip(parts) {
            field.set(&mut words, part);
        }
        words
    }

    /// Makes room for everything known; whether it was too little before.
    fn lay_out(&mut self) -> bool {
        let processes = self.processes.iter().map(|process| process.known.len());
        let links = self.links.iter().map(|(_, _, link)| link.known.len());
        let room = processes.chain(links).chain([self.globals.known.len()]);
        let layout = Layout::new(room);
        let changed = layout != self.layout;
        self.layout = layout;
        changed
    }
}

/// What the link between two processes holds.
fn held<P: Protocol>(flight: &InFlight<P>, from: Id, to: Id) -> InFlight<P> {
    flight.iter().copied().filter(|e| (e.from, e.to) == (from, to)).collect()
}
