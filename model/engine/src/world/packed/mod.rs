//! A world whose states are a few machine words, and whose steps are looked up.
//!
//! A state is made of parts: what each process has, what each link holds, and the faults so far.
//! Each part takes few values in all the states of a world. So each value gets a number, a state
//! is those numbers side by side, and what an event does to the parts it touches is computed once,
//! by the [world](super::World) itself, and looked up from then on. The parts are
//! [learned](Space::learn) as the search meets them, and whatever is learned is compared with the
//! world's own answer there and then.
//!
//! This holds only because a process's step depends on nothing but its own part and the event, and
//! what a link holds on nothing but what is put in and taken out. In a timed world that is not so:
//! a tick changes everything, and a detector forgets what it has counted when another process takes
//! a step. Nor is it where a protocol [canonicalizes](crate::protocol::Options::canonicalize).
//! There the world itself is asked each time, and only the states are packed.

mod expand;
mod growth;
mod layout;
mod learn;
mod tables;

use super::clock::Clock;
use super::{Action, Budget, Condition, Exceeded, State, World};
use crate::machine::Message;
use crate::protocol::{Id, Ids};
use crate::space::{ActionId, Answers, Arrival, Fairness, NO_ARRIVAL, OUTSIDE_WORD, STUTTERS};
use crate::space::{Scratch, Space, Unlearned};
use crate::words::kept;
use growth::Observed;
pub use growth::{Growing, Growth};
use layout::{Factors, Layout};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tables::{Globals, Link, Numbered, Process, number};

/// A space of a world, with everything that is known of the parts of its states.
pub struct Packed {
    world: World,
    questions: Vec<Condition>,
    layout: Layout,
    /// How states looked before the layout changed last.
    former: Layout,
    factors: Factors,
    /// States that were learned and whose words had no room yet for what follows from them.
    unverified: Vec<State>,
    messages: Numbered<Message>,
    processes: Vec<Process>,
    /// In the order of sender and receiver.
    links: Vec<(Id, Id, Link)>,
    globals: Globals,
    /// The actions that were asked for, and how fair each was then.
    actions: Mutex<Numbered<(Action, Fairness)>>,
    /// The bounds that steps were found to exceed.
    exceeded: Exceeded,
    /// What was seen of the levels of the search.
    observed: Observed,
}

/// A state taken apart.
struct Unpacked {
    parts: Vec<u32>,
    state: State,
    /// How the states are reached that follow, if that is not asked.
    lasts: Vec<Arrival>,
}

impl Unpacked {
    fn take_lasts(&mut self) -> Vec<Arrival> {
        let mut lasts = std::mem::take(&mut self.lasts);
        lasts.clear();
        lasts
    }
}

impl Space for Packed {
    fn words(&self) -> usize {
        self.layout.words()
    }

    fn scratch(&self) -> Scratch {
        Box::new(self.unpacked())
    }

    fn initial(&self, width: usize) -> Vec<u64> {
        let mut words = Vec::new();
        // Its parts are the first that were met.
        let known = self.pack(&self.world.initial(), width, &mut words);
        debug_assert!(known.is_ok(), "the initial state's parts are known");
        words
    }

    /// In the order of [`World::enabled`]; bit i + 1 of the answers is the i-th question's.
    #[inline]
    fn expand(
        &self,
        from: &[u64],
        scratch: &mut Scratch,
        next: &mut Vec<u64>,
    ) -> Result<Answers, Unlearned> {
        // How states are reached is not asked; it is written to what is there already.
        let mut lasts = scratch.downcast_mut().map_or_else(Vec::new, Unpacked::take_lasts);
        let expanded = self.expand_after(from, NO_ARRIVAL, scratch, next, &mut lasts);
        if let Some(unpacked) = scratch.downcast_mut::<Unpacked>() {
            unpacked.lasts = lasts;
        }
        expanded.map(|(answers, _)| answers)
    }

    #[inline]
    fn expand_after(
        &self,
        from: &[u64],
        last: Arrival,
        scratch: &mut Scratch,
        next: &mut Vec<u64>,
        lasts: &mut Vec<Arrival>,
    ) -> Result<(Answers, u64), Unlearned> {
        let unpacked = scratch.downcast_mut().ok_or(Unlearned)?;
        self.unpack(from, unpacked);
        let (fair, left_out) = if self.asks() {
            let fair = self.ask(from.len(), &unpacked.state, next)?;
            lasts.resize(next.len() / from.len(), NO_ARRIVAL);
            (fair, 0)
        } else {
            self.look_up(from, last, unpacked, next, lasts)?
        };
        let state = &unpacked.state;
        let mut answers = if fair { 0 } else { STUTTERS };
        for (at, question) in self.questions.iter().enumerate() {
            answers |= u32::from(question.holds(&self.world, state)) << (at + 1);
        }
        Ok((answers, left_out))
    }

    fn learn(&mut self, from: &[u64]) {
        self.learn_from(from);
    }

    fn bits(&self) -> Vec<u32> {
        self.layout.bits().to_vec()
    }

    fn needs_relayout(&self) -> bool {
        self.has_outgrown()
    }

    fn least_bits(&self) -> u32 {
        Layout::least(self.known())
    }

    fn lay_out(&mut self, most_bits: u32) {
        self.make_room(most_bits);
    }

    fn recode(&self, old: &[u64], width: usize, to: &mut Vec<u64>) {
        let at = to.len();
        to.resize(at + width, 0);
        for (&former, &field) in self.former.fields().iter().zip(self.layout.fields()) {
            field.set(&mut to[at..], former.get(old));
        }
    }

    fn digest(&self, states: &[u64], width: usize, to: &mut Vec<u64>) {
        to.extend(states.chunks(width).map(|words| self.factors.digest(&self.layout, words)));
    }

    fn actions(&self, state: &[u64]) -> Vec<ActionId> {
        let mut actions = Vec::new();
        self.world.enabled(&self.decode(state), &mut actions);
        self.number(&actions, &actions)
    }

    fn fairness(&self, action: ActionId) -> Fairness {
        self.known_actions()[action.0 as usize].1
    }

    fn has_strong(&self) -> bool {
        self.world.has_strong()
    }

    fn left_bounds(&self) -> u32 {
        self.exceeded.bits()
    }

    fn leave_bounds(&self, bounds: u32) {
        self.exceeded.record_bits(bounds);
    }

    fn sample_level(&mut self, level: usize, states: &[u64], width: usize) -> Option<&'static str> {
        let states = states.chunks(width).map(|words| self.decode(words)).collect();
        self.observed.note(level, states);
        let growth = if self.observed.is_due() { self.growth() } else { Vec::new() };
        let told: Vec<String> = growth.iter().map(ToString::to_string).collect();
        (!told.is_empty()).then(|| kept(told.join("; ")))
    }

    fn interruptible(&self, action: ActionId) -> bool {
        match self.action(action) {
            Action::Expire { .. } => true,
            Action::Deliver(_) => self.world.scenario.faults.losses == Budget::Unbounded,
            _ => false,
        }
    }

    fn interrupted(&self, state: &[u64], position: usize) -> Vec<ActionId> {
        let state = self.decode(state);
        let mut actions = Vec::new();
        self.world.enabled(&state, &mut actions);
        self.number(&self.world.interrupted(&state, &actions[position]), &actions)
    }
}

impl Packed {
    /// Returns the world whose states these are.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The bounds that steps of the expanded states exceed, in words: what there may be at most.
    pub(crate) fn bounds_met(&self) -> Vec<String> {
        self.world.bounds_met(&self.exceeded)
    }

    /// What grew from level to level of the search, as far as it has come.
    pub(crate) fn growth(&self) -> Vec<Growth> {
        self.observed.growth(&self.world)
    }

    /// Returns the state that `words` stand for.
    pub fn decode(&self, words: &[u64]) -> State {
        let mut unpacked = self.unpacked();
        self.unpack(words, &mut unpacked);
        unpacked.state
    }

    /// Returns the action with this number.
    ///
    /// # Panics
    /// If this space never gave an action that number.
    pub fn action(&self, id: ActionId) -> Action {
        self.known_actions()[id.0 as usize].0
    }

    /// Returns the actions with these numbers.
    ///
    /// # Panics
    /// If this space never gave an action one of those numbers.
    pub fn named(&self, ids: &[ActionId]) -> Vec<Action> {
        ids.iter().map(|&id| self.action(id)).collect()
    }

    fn known_actions(&self) -> MutexGuard<'_, Numbered<(Action, Fairness)>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of `actions` in a state in which these are `enabled`.
    fn number(&self, actions: &[Action], enabled: &[Action]) -> Vec<ActionId> {
        let fair = |&action: &Action| (action, self.world.fairness(&action, enabled));
        let actions: Vec<_> = actions.iter().map(fair).collect();
        let mut known = self.known_actions();
        actions.into_iter().map(|action| ActionId(number(&mut known, action))).collect()
    }

    fn unpacked(&self) -> Unpacked {
        let mut state = State::empty(&*self.world.machine, self.world.processes());
        state.times = self.world.first_times();
        Unpacked { parts: vec![0; self.layout.fields().len()], state, lasts: Vec::new() }
    }

    /// Whether what follows is not looked up: a step may change more than the parts it touches.
    fn asks(&self) -> bool {
        self.world.clock.is_some() || self.world.canonicalizes()
    }

    /// The states that follow, as the world itself says; whether one of the actions is fair.
    fn ask(&self, width: usize, state: &State, next: &mut Vec<u64>) -> Result<bool, Unlearned> {
        let mut actions = Vec::new();
        self.world.enabled(state, &mut actions);
        for action in &actions {
            let after = self.world.apply(state, action).state;
            match self.world.exceeds(&after) {
                None => self.pack(&after, width, next)?,
                Some(bound) => {
                    self.exceeded.record(bound);
                    next.resize(next.len() + width, OUTSIDE_WORD);
                }
            }
        }
        Ok(actions.iter().any(|action| self.world.is_fair(action)))
    }

    /// Writes the parts and the state that `words` stand for into `unpacked`.
    fn unpack(&self, words: &[u64], unpacked: &mut Unpacked) {
        let Unpacked { parts, state, .. } = unpacked;
        let fields = parts.iter_mut().zip(self.layout.fields());
        match *words {
            [word] => fields.for_each(|(part, field)| *part = field.of_one(word)),
            _ => fields.for_each(|(part, field)| *part = field.get(words)),
        }
        let (own, links) = parts.split_at(self.processes.len());
        let (mut up, mut paused) = (0, 0);
        for (at, (process, &part)) in self.processes.iter().zip(own).enumerate() {
            let own = &process.known[part as usize];
            up |= u8::from(own.up) << at;
            paused |= u8::from(own.paused) << at;
            state.processes.few_mut()[at] = own.process;
            state.stable.few_mut()[at] = own.stable;
            state.timers.few_mut()[at] = own.timers;
            if let Some(times) = &mut state.times {
                times.clocks.few_mut()[at] = own.clocks;
            }
        }
        state.up = Ids::few(up);
        state.flight.clear();
        for ((_, _, link), &part) in self.links.iter().zip(links) {
            if part != 0 {
                // Most links hold one message or two.
                for &envelope in &link.flight[part as usize] {
                    state.flight.push(envelope);
                }
            }
        }
        let global = &self.globals.known[links[links.len() - 1] as usize];
        state.spent = global.spent;
        *state.cut.few_mut() = global.cut;
        if let Some(times) = &mut state.times {
            times.paused = Ids::few(paused);
            times.calm = global.calm;
            times.left.clear();
            if self.world.clock.as_ref().is_some_and(Clock::counts_messages) {
                for ((_, _, link), &part) in self.links.iter().zip(links) {
                    times.left.extend(link.known[part as usize].iter().map(|&(_, left)| left));
                }
            }
        }
    }

    /// The position of a link among the parts of a state.
    fn link_part(&self, from: Id, to: Id) -> usize {
        self.processes.len() + self.link(from.index(), to.index())
    }

    /// The position of a link among the links.
    #[inline]
    fn link(&self, from: usize, to: usize) -> usize {
        from * (self.processes.len() - 1) + to - usize::from(to > from)
    }

    fn global_part(&self) -> usize {
        self.processes.len() + self.links.len()
    }
}
