//! Dead messages: those that change nothing in their receiver any more, whatever happens. They can
//! be left out of every state.
//!
//! What a process can come to be is found process by process: it may get any message that any
//! process ever sends to it, at any moment and any number of times, and its timers may expire
//! whenever they are armed. That is more than can happen, so a message that is never heeded there
//! is never heeded in the world. Why this is sound: `docs/reductions.md`.

use super::{Action, Budget, Faults, Network, State, World};
use crate::machine::{Effect, Message, Process, Stable};
use crate::protocol::{Envelope, Id, Timers};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::sync::Arc;

/// How many pairs of what a process has and of what reaches it are tried at most.
const MOST_TRIED: usize = 1 << 20;

/// The reason why no message can be left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReduced {
    /// The reduction is not sound in this world: what the world has, and what to do about it.
    #[error("dead messages cannot be left out {0}")]
    World(&'static str),
    /// A process can come to have too much.
    #[error(
        "dead messages cannot be told from others: a process of this protocol can come to have too \
         much, or gets too many different messages, to try every pair; leave --reduce out"
    )]
    TooMuch,
}

/// What one process has.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Has {
    up: bool,
    process: Process,
    stable: Stable,
    timers: Timers,
}

impl Has {
    fn of(state: &State, id: Id) -> Self {
        let (process, stable) = (state.process(id), state.stable(id));
        Has { up: state.up(id), process, stable, timers: state.timers(id) }
    }
}

type Known<T> = IndexSet<T, FxBuildHasher>;

/// Which faults may yet strike: bit 0 says that a process may crash, bit 1 that it may recover.
pub(super) type PossibleFaults = usize;
pub(super) const POSSIBLE_FAULTS: usize = 4;
const CRASH: PossibleFaults = 1;
const RECOVERY: PossibleFaults = 2;

/// Which faults may yet strike when these have.
pub(super) fn possible_faults(spent: Faults, may: Faults) -> PossibleFaults {
    let crash = if spent.crashes < may.crashes { CRASH } else { 0 };
    let recovery = if spent.recoveries < may.recoveries { RECOVERY } else { 0 };
    crash | recovery
}

/// Which messages are dead.
pub(super) struct Dead {
    receivers: Vec<Receiver>,
}

/// What a process can come to have, and which messages it heeds.
struct Receiver {
    has: Known<Has>,
    letters: Known<(Id, Message)>,
    /// For what it has: the letters that it heeds now.
    heeds: Vec<Letters>,
    /// What may follow, and which perils that takes.
    follows: Vec<FxHashSet<(u32, PossibleFaults)>>,
    /// For each of the perils, and for what it has: the letters that it heeds now or later.
    alive: [Vec<Letters>; POSSIBLE_FAULTS],
}

/// A set of letters, by their numbers.
#[derive(Clone, Default, PartialEq, Eq)]
struct Letters(Vec<u64>);

impl Letters {
    fn insert(&mut self, letter: usize) {
        let word = letter / 64;
        self.0.resize(self.0.len().max(word + 1), 0);
        self.0[word] |= 1 << (letter % 64);
    }

    fn contains(&self, letter: usize) -> bool {
        self.0.get(letter / 64).is_some_and(|word| word & (1 << (letter % 64)) != 0)
    }

    /// Adds all others; whether that adds any.
    fn extend(&mut self, others: &Letters) -> bool {
        self.0.resize(self.0.len().max(others.0.len()), 0);
        let mut grows = false;
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            grows |= other & !*word != 0;
            *word |= other;
        }
        grows
    }
}

/// A trial that is still to come.
struct Trial {
    process: usize,
    /// The number of what the process has.
    has: u32,
    /// The letter that reaches the process; without one, it acts by itself.
    letter: Option<u32>,
}

impl World {
    /// Returns the same world, in which dead messages are taken out of every state.
    ///
    /// # Errors
    /// Where that is not known to be sound, or cannot be done.
    pub fn without_dead_messages(&self) -> Result<Self, NotReduced> {
        let faults = self.scenario.faults;
        let refusals = [
            (self.clock.is_some(), "of a timed world; use --timing perfect or asynchronous"),
            (
                self.machine.protocol().canonicalizes(),
                "of this protocol: its numbers grow without end, so not everything that a process \
                 can come to have can be tried; leave --reduce out",
            ),
            (faults.losses != Budget::NONE, "where messages are lost; leave --losses out"),
            (faults.duplicates > 0, "where messages are doubled; leave --duplicates out"),
            (self.scenario.capacity.is_some(), "where links are bounded; leave --capacity out"),
        ];
        if let Some((_, why)) = refusals.into_iter().find(|(refused, _)| *refused) {
            return Err(NotReduced::World(why));
        }
        Ok(World { dead: Some(Arc::new(Dead::of(self)?)), ..self.clone() })
    }

    /// Whether states of this world have no dead messages.
    pub(super) fn leaves_out_dead(&self) -> bool {
        self.dead.is_some()
    }

    /// Takes dead messages out of a state, if this world has none.
    pub(super) fn remove_dead(&self, state: &mut State) {
        let Some(dead) = &self.dead else { return };
        let possible_faults = possible_faults(state.spent, self.scenario.faults);
        let fifo = self.scenario.network == Network::Fifo;
        let (mut at, mut blocked) = (0, None);
        while let Some(&sent) = state.flight.get(at) {
            let link = (sent.from, sent.to);
            // One behind another of which that is not so cannot be delivered first.
            let waits = fifo && blocked == Some(link);
            if !waits && dead.contains(state, sent, possible_faults) {
                state.flight.remove(at);
            } else {
                blocked = Some(link);
                at += 1;
            }
        }
    }
}

impl Dead {
    /// Whether a message is dead in this state.
    fn contains(&self, state: &State, sent: Envelope, possible_faults: PossibleFaults) -> bool {
        let receiver = &self.receivers[sent.to.index()];
        let has = receiver.has.get_index_of(&Has::of(state, sent.to));
        let letter = receiver.letters.get_index_of(&(sent.from, sent.message));
        // What was not tried may be heeded.
        has.zip(letter)
            .is_some_and(|(has, letter)| !receiver.alive[possible_faults][has].contains(letter))
    }

    fn of(world: &World) -> Result<Self, NotReduced> {
        let receiver = |_| Receiver {
            has: Known::default(),
            letters: Known::default(),
            heeds: Vec::new(),
            follows: Vec::new(),
            alive: Default::default(),
        };
        let mut dead = Dead { receivers: world.ids().map(receiver).collect() };
        let initial = world.initial();
        let mut tries = Vec::new();
        for id in world.ids() {
            dead.has(id, Has::of(&initial, id), &mut tries);
        }
        for sent in &initial.flight {
            dead.letter(sent.from, sent.to, sent.message, &mut tries);
        }
        let mut tried = 0;
        while let Some(one) = tries.pop() {
            tried += 1;
            if tried > MOST_TRIED {
                return Err(NotReduced::TooMuch);
            }
            dead.take(world, &one, &mut tries);
        }
        dead.receivers.iter_mut().for_each(Receiver::propagate);
        Ok(dead)
    }

    /// The number of what a process has.
    fn has(&mut self, id: Id, has: Has, tries: &mut Vec<Trial>) -> u32 {
        let receiver = &mut self.receivers[id.index()];
        let (number, new) = receiver.has.insert_full(has);
        if new {
            receiver.heeds.push(Letters::default());
            receiver.follows.push(FxHashSet::default());
            let letters = (0..receiver.letters.len() as u32).map(Some).chain([None]);
            let (process, has) = (id.index(), number as u32);
            tries.extend(letters.map(|letter| Trial { process, has, letter }));
        }
        number as u32
    }

    fn letter(&mut self, from: Id, to: Id, message: Message, tries: &mut Vec<Trial>) {
        let receiver = &mut self.receivers[to.index()];
        let (letter, new) = receiver.letters.insert_full((from, message));
        if new {
            let (process, letter) = (to.index(), Some(letter as u32));
            let all = 0..receiver.has.len() as u32;
            tries.extend(all.map(|has| Trial { process, has, letter }));
        }
    }

    /// Tries what follows.
    fn take(&mut self, world: &World, one: &Trial, tries: &mut Vec<Trial>) {
        let Trial { process: at, has: number, letter } = *one;
        let id = Id::at(at);
        let receiver = &self.receivers[at];
        let has = receiver.has[number as usize];
        let mut state = State::empty(&*world.machine, world.processes());
        world.ids().for_each(|id| state.set_up(id, true));
        state.set_up(id, has.up);
        (state.processes[at], state.stable[at]) = (has.process, has.stable);
        state.timers[at] = has.timers;
        let mut actions = Vec::new();
        match letter {
            Some(letter) if has.up => {
                let (from, message) = receiver.letters[letter as usize];
                let sent = Envelope { from, to: id, message };
                state.flight.push(sent);
                actions.push((Action::Deliver(sent), 0));
            }
            // It is lost on it.
            Some(_) => {}
            None if has.up => {
                let timers = world.machine.shape().timers_in(has.timers);
                let expire = |timer| (Action::Expire { id, timer, early: false }, 0);
                actions.extend(timers.map(expire));
                if world.crashable().any(|mortal| mortal == id) {
                    actions.push((Action::Crash(id), CRASH));
                }
            }
            None => actions.push((Action::Recover(id), RECOVERY)),
        }
        for (action, possible_faults) in actions {
            let outcome = world.apply(&state, &action);
            let mut heeded = false;
            for effect in &outcome.effects {
                if let Effect::Send { to, message } = *effect {
                    heeded = true;
                    self.letter(id, to, message, tries);
                }
            }
            let after = Has::of(&outcome.state, id);
            heeded |= after != has;
            if let (Some(letter), true) = (letter, heeded) {
                self.receivers[at].heeds[number as usize].insert(letter as usize);
            }
            // What exceeds the bounds of the search is not followed there either.
            if world.machine.within(after.process, after.stable) {
                let next = self.has(id, after, tries);
                self.receivers[at].follows[number as usize].insert((next, possible_faults));
            }
        }
    }
}

impl Receiver {
    /// What is heeded later is alive now.
    fn propagate(&mut self) {
        for (possible_faults, alive) in self.alive.iter_mut().enumerate() {
            *alive = self.heeds.clone();
            let mut before = vec![Vec::new(); alive.len()];
            for (from, follows) in self.follows.iter().enumerate() {
                for &(to, takes) in follows {
                    if takes & possible_faults == takes && to as usize != from {
                        before[to as usize].push(from);
                    }
                }
            }
            let mut changed: Vec<usize> = (0..alive.len()).collect();
            while let Some(at) = changed.pop() {
                let here = alive[at].clone();
                for &from in &before[at] {
                    if alive[from].extend(&here) {
                        changed.push(from);
                    }
                }
            }
        }
    }
}
