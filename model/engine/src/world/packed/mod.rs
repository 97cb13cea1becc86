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

mod digest;
mod fault;
mod layout;
mod learn;
mod tables;

use super::clock::Clock;
use super::next::Next;
use super::{Action, Boundary, Budget, Condition, Exceeded, State, World};
use crate::protocol::{Id, Protocol, Timers};
use crate::space::{ActionId, Answers, Fairness, OUTSIDE_WORD, STUTTERS};
use crate::space::{Scratch, Space, Unlearned};
use digest::Factors;
use layout::{Field, Layout};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tables::{BEYOND, Globals, Link, Numbered, Process, Sent, UNKNOWN, column, number};

/// A world with everything that is known of its parts.
pub struct Packed<P: Protocol> {
    world: World<P>,
    questions: Vec<Condition<P>>,
    layout: Layout,
    /// How states looked before the layout changed last.
    former: Layout,
    factors: Factors,
    /// States that were learned and whose words had no room yet for what follows from them.
    unverified: Vec<State<P>>,
    messages: Numbered<P::Message>,
    processes: Vec<Process<P>>,
    /// In the order of sender and receiver.
    links: Vec<(Id, Id, Link<P>)>,
    globals: Globals,
    /// The actions that were asked for, and how fair each was then.
    actions: Mutex<Numbered<(Action<P>, Fairness)>>,
    /// The bounds that steps were found to exceed.
    exceeded: Exceeded,
}

/// A state taken apart.
struct Unpacked<P: Protocol> {
    parts: Vec<u32>,
    state: State<P>,
}

/// A state whose successors are being written down.
struct Expansion<'a, P: Protocol> {
    packed: &'a Packed<P>,
    from: &'a [u64],
    parts: &'a [u32],
    state: &'a State<P>,
    next: &'a mut Vec<u64>,
    /// Whether something fair can happen.
    fair: bool,
    /// Whether links may be cut.
    cut: bool,
}

impl<P: Protocol> Space for Packed<P> {
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
        let unpacked = scratch.downcast_mut().ok_or(Unlearned)?;
        self.unpack(from, unpacked);
        let Unpacked { parts, state } = &*unpacked;
        let fair = if self.asks() {
            self.ask(from.len(), state, next)?
        } else {
            self.look_up(from, parts, state, next)?
        };
        let mut answers = if fair { 0 } else { STUTTERS };
        for (at, question) in self.questions.iter().enumerate() {
            answers |= u32::from(question.holds(&self.world, state)) << (at + 1);
        }
        Ok(answers)
    }

    fn learn(&mut self, from: &[u64]) {
        self.learn_from(from);
    }

    fn bits(&self) -> Vec<u32> {
        self.layout.bits().to_vec()
    }

    fn outgrown(&self) -> bool {
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
        self.exceeded.note_bits(bounds);
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

impl<P: Protocol> Packed<P> {
    /// The world.
    pub fn world(&self) -> &World<P> {
        &self.world
    }

    /// The bounds that steps exceed of all states that were expanded.
    pub(crate) fn exceeded(&self) -> &Exceeded {
        &self.exceeded
    }

    /// The state that `words` stand for.
    pub fn decode(&self, words: &[u64]) -> State<P> {
        let mut unpacked = self.unpacked();
        self.unpack(words, &mut unpacked);
        unpacked.state
    }

    /// The action with this number.
    ///
    /// # Panics
    /// If this space never gave an action that number.
    pub fn action(&self, id: ActionId) -> Action<P> {
        self.known_actions()[id.0 as usize].0
    }

    /// The actions with these numbers.
    ///
    /// # Panics
    /// If this space never gave an action one of those numbers.
    pub fn named(&self, ids: &[ActionId]) -> Vec<Action<P>> {
        ids.iter().map(|&id| self.action(id)).collect()
    }

    fn known_actions(&self) -> MutexGuard<'_, Numbered<(Action<P>, Fairness)>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of `actions` in a state in which these are `enabled`.
    fn number(&self, actions: &[Action<P>], enabled: &[Action<P>]) -> Vec<ActionId> {
        let fair = |&action: &Action<P>| (action, self.world.fairness(&action, enabled));
        let actions: Vec<_> = actions.iter().map(fair).collect();
        let mut known = self.known_actions();
        actions.into_iter().map(|action| ActionId(number(&mut known, action))).collect()
    }

    fn unpacked(&self) -> Unpacked<P> {
        let mut state = State::empty(self.world.processes());
        state.times = self.world.first_times();
        Unpacked { parts: vec![0; self.layout.fields().len()], state }
    }

    /// Whether what follows is not looked up: a step may change more than the parts it touches.
    fn asks(&self) -> bool {
        self.world.clock.is_some() || self.world.canonicalizes()
    }

    /// The states that follow, looked up; whether one of the actions is fair.
    #[inline]
    fn look_up(
        &self,
        from: &[u64],
        parts: &[u32],
        state: &State<P>,
        next: &mut Vec<u64>,
    ) -> Result<bool, Unlearned> {
        let cut = self.world.scenario.faults.cuts > 0 || !self.world.scenario.missing.is_empty();
        let mut expansion = Expansion { packed: self, from, parts, state, next, fair: false, cut };
        self.world.each_next(state, |what| expansion.take(what))?;
        Ok(expansion.fair)
    }

    /// The states that follow, as the world itself says; whether one of the actions is fair.
    fn ask(&self, width: usize, state: &State<P>, next: &mut Vec<u64>) -> Result<bool, Unlearned> {
        let mut actions = Vec::new();
        self.world.enabled(state, &mut actions);
        for action in &actions {
            let after = self.world.apply(state, action).state;
            match self.world.exceeds(&after) {
                None => self.pack(&after, width, next)?,
                Some(bound) => {
                    self.exceeded.note(bound);
                    next.resize(next.len() + width, OUTSIDE_WORD);
                }
            }
        }
        Ok(actions.iter().any(|action| self.world.is_fair(action)))
    }

    /// Writes the parts and the state that `words` stand for into `unpacked`.
    fn unpack(&self, words: &[u64], unpacked: &mut Unpacked<P>) {
        let Unpacked { parts, state } = unpacked;
        for (part, field) in parts.iter_mut().zip(self.layout.fields()) {
            *part = field.get(words);
        }
        let (own, links) = parts.split_at(self.processes.len());
        for (at, (process, &part)) in self.processes.iter().zip(own).enumerate() {
            let own = &process.known[part as usize];
            state.set_up(Id::at(at), own.up);
            state.set_paused(Id::at(at), own.paused);
            state.processes[at] = own.process;
            state.stable[at] = own.stable;
            state.timers[at] = own.timers;
            if let Some(times) = &mut state.times {
                times.clocks[at] = own.clocks;
            }
        }
        state.flight.clear();
        for ((_, _, link), &part) in self.links.iter().zip(links) {
            if part != 0 {
                // Most links hold one message or two.
                for &(envelope, _) in &link.known[part as usize] {
                    state.flight.push(envelope);
                }
            }
        }
        let global = &self.globals.known[links[links.len() - 1] as usize];
        state.spent = global.spent;
        state.cut = global.cut;
        if let Some(times) = &mut state.times {
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
        let (from, to, nodes) = (from.index(), to.index(), self.processes.len());
        nodes + from * (nodes - 1) + to - usize::from(to > from)
    }

    fn global_part(&self) -> usize {
        self.processes.len() + self.links.len()
    }
}

impl<P: Protocol> Expansion<'_, P> {
    /// What follows from this.
    #[inline]
    fn take(&mut self, what: Next<P>) -> Result<(), Unlearned> {
        match what {
            Next::EachArrives => self.deliveries(),
            Next::EachIsLost => self.on_each(fault::LOSS, |next| next.without),
            Next::EachIsDoubled => self.on_each(fault::DUPLICATE, |next| next.doubled),
            Next::One(action) => {
                self.fair |= self.packed.world.is_fair(&action);
                self.one(action)
            }
        }
    }

    fn deliveries(&mut self) -> Result<(), Unlearned> {
        let packed = self.packed;
        let nodes = packed.processes.len();
        let (own, links) = self.parts.split_at(nodes);
        let fields = &packed.layout.fields()[nodes..];
        for ((&held, &field), (from, to, link)) in links.iter().zip(fields).zip(&packed.links) {
            if held == 0 {
                continue;
            }
            // A delivery is fair.
            self.fair = true;
            let up = self.state.up(*to);
            let receive = &packed.processes[to.index()].receive;
            for delivered in &link.next[held as usize] {
                field.set(self.after(), delivered.without);
                if up {
                    let column = column(*from, delivered.message);
                    let step = receive.get(own[to.index()], column);
                    self.step(*to, step)?;
                }
            }
        }
        Ok(())
    }

    /// A fault that changes what a link holds, for each message that may arrive next.
    fn on_each(&mut self, fault: u32, then: fn(&tables::Next) -> u32) -> Result<(), Unlearned> {
        let packed = self.packed;
        let nodes = packed.processes.len();
        for (at, (_, _, link)) in packed.links.iter().enumerate() {
            for next in &link.next[self.parts[nodes + at] as usize] {
                self.after();
                self.strike(fault)?;
                self.hold(packed.layout.field(nodes + at), then(next))?;
            }
        }
        Ok(())
    }

    /// Something that is no matter of a single message.
    #[inline]
    fn one(&mut self, action: Action<P>) -> Result<(), Unlearned> {
        let packed = self.packed;
        self.after();
        match action {
            Action::Expire { id, timer, early } => {
                if early {
                    self.strike(fault::SUSPICION)?;
                }
                let (own, at) = (self.parts[id.index()], Timers::place::<P>(timer) as u32);
                self.step(id, packed.processes[id.index()].expire.get(own, at))
            }
            Action::Crash(id) => {
                self.strike(fault::CRASH)?;
                let own = packed.processes[id.index()].crash.get(self.parts[id.index()], 0);
                if own == UNKNOWN {
                    return Err(Unlearned);
                }
                packed.layout.field(id.index()).set(self.latest(), own);
                Ok(())
            }
            Action::Recover(id) => {
                self.strike(fault::RECOVERY)?;
                let own = self.parts[id.index()];
                self.step(id, packed.processes[id.index()].recover.get(own, 0))
            }
            Action::Cut(a, b) => {
                self.strike(fault::cut(a, b))?;
                for part in [packed.link_part(a, b), packed.link_part(b, a)] {
                    packed.layout.field(part).set(self.latest(), 0);
                }
                Ok(())
            }
            Action::Heal(a, b) => self.strike(fault::heal(a, b)),
            Action::Deliver(_) | Action::Lose(_) | Action::Duplicate(_) => {
                unreachable!("messages are given by `EachArrives`, `EachIsLost`, `EachIsDoubled`")
            }
            Action::Tick | Action::Pause(_) | Action::Resume(_) => {
                unreachable!("only a world with a clock has these, and there nothing is looked up")
            }
        }
    }

    /// One more successor, at first the same as the state itself.
    #[inline]
    fn after(&mut self) -> &mut [u64] {
        self.next.extend_from_slice(self.from);
        self.latest()
    }

    /// The successor that is being made.
    #[inline]
    fn latest(&mut self) -> &mut [u64] {
        let at = self.next.len() - self.from.len();
        &mut self.next[at..]
    }

    /// The successor exceeds a bound: it is not searched.
    fn leave(&mut self, bound: Boundary) {
        self.packed.exceeded.note(bound);
        self.latest().fill(OUTSIDE_WORD);
    }

    /// Counts a fault.
    fn strike(&mut self, fault: u32) -> Result<(), Unlearned> {
        let packed = self.packed;
        let part = packed.global_part();
        let global = packed.globals.after.get(self.parts[part], fault);
        if global == UNKNOWN {
            return Err(Unlearned);
        }
        packed.layout.field(part).set(self.latest(), global);
        Ok(())
    }

    /// A process takes a step.
    #[inline]
    fn step(&mut self, id: Id, step: u32) -> Result<(), Unlearned> {
        match step {
            UNKNOWN => return Err(Unlearned),
            BEYOND => {
                self.leave(Boundary::Protocol);
                return Ok(());
            }
            _ => {}
        }
        let (packed, state, cut) = (self.packed, self.state, self.cut);
        let after = self.latest();
        let step = &packed.processes[id.index()].steps[step as usize];
        packed.layout.field(id.index()).set(after, step.own);
        for &Sent { link, to, message } in &step.sends {
            if cut && !state.connected(id, to) {
                continue;
            }
            let link = usize::from(link);
            let field = packed.layout.field(packed.processes.len() + link);
            let push = &packed.links[link].2.push;
            match push.get(field.get(after), message) {
                UNKNOWN => return Err(Unlearned),
                BEYOND => {
                    self.leave(Boundary::Capacity);
                    return Ok(());
                }
                held => field.set(after, held),
            }
        }
        Ok(())
    }

    /// A link holds something else.
    fn hold(&mut self, link: Field, held: u32) -> Result<(), Unlearned> {
        match held {
            UNKNOWN => return Err(Unlearned),
            BEYOND => self.leave(Boundary::Capacity),
            held => link.set(self.latest(), held),
        }
        Ok(())
    }
}
