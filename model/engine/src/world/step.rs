//! What follows from an action.

use super::network::{self, fullest};
use super::{Action, Boundary, Budget, Start, State, World};
use crate::protocol::{
    Effect, Effects, Envelope, Everything, Id, Ids, Local, Protocol, View, WithinBounds,
};

/// Why a process takes a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// A message came: what it sends is an answer, and has been processed.
    Message,
    /// It starts, or a timer of its own expires.
    Own,
}

/// What follows from an action.
pub struct Outcome<P: Protocol> {
    /// The state afterwards.
    pub state: State<P>,
    /// The process that took a step, if one did.
    pub actor: Option<Id>,
    /// What it did, in order.
    pub effects: Effects<P>,
}

impl<P: Protocol> World<P> {
    /// The one initial state.
    #[must_use]
    pub fn initial(&self) -> State<P> {
        let mut state = self.unbooted();
        for id in self.ids() {
            self.boot(&mut state, id);
        }
        self.canonicalize(&mut state);
        self.bury(&mut state);
        state
    }

    /// Every process is up and has done nothing yet.
    fn unbooted(&self) -> State<P> {
        let mut state = State::empty(self.processes());
        state.cut = self.deaf.clone();
        state.times = self.first_times();
        for id in self.ids() {
            state.set_up(id, true);
        }
        state
    }

    /// How the [initial](World::initial) state comes about, process by process: the state before
    /// each, and what follows.
    #[must_use]
    pub fn boots(&self) -> Vec<(State<P>, Outcome<P>)> {
        let mut state = self.unbooted();
        let boot = |id| {
            let before = state.clone();
            let effects = self.boot(&mut state, id);
            (before, Outcome { state: state.clone(), actor: Some(id), effects })
        };
        self.ids().map(boot).collect()
    }

    fn boot(&self, state: &mut State<P>, id: Id) -> Effects<P> {
        let mut effects = Effects::<P>::new();
        self.step(state, (id, Cause::Own), &mut effects, |protocol, p| match self.scenario.start {
            Start::Converged => protocol.converged(p),
            Start::Cold => protocol.recover(p),
        });
        effects
    }

    /// What follows when `action`, which must be enabled, happens in `state`.
    #[must_use]
    pub fn apply(&self, state: &State<P>, action: &Action<P>) -> Outcome<P> {
        let mut outcome = self.apply_whole(state, action);
        self.bury(&mut outcome.state);
        outcome
    }

    /// The same, with the dead messages of a world that leaves them out.
    pub(super) fn apply_whole(&self, state: &State<P>, action: &Action<P>) -> Outcome<P> {
        let mut state = state.clone();
        let mut effects = Effects::<P>::new();
        let mut actor = None;
        match *action {
            Action::Deliver(e) => {
                state.take(e);
                if state.up(e.to) {
                    actor = Some(e.to);
                    self.step(&mut state, (e.to, Cause::Message), &mut effects, |protocol, p| {
                        protocol.receive(p, e.from, e.message);
                    });
                }
            }
            Action::Expire { id, timer, early } => {
                state.spent.suspicions += u8::from(early);
                state.timers[id.index()] = state.timers(id).without::<P>(timer);
                state.set_clock(id, timer, 0);
                actor = Some(id);
                self.step(&mut state, (id, Cause::Own), &mut effects, |protocol, p| {
                    protocol.expire(p, timer);
                });
            }
            Action::Recover(id) => {
                state.spent.recoveries += 1;
                state.set_up(id, true);
                actor = Some(id);
                self.step(&mut state, (id, Cause::Own), &mut effects, P::recover);
            }
            Action::Tick => self.tick(&mut state),
            fault => self.strike(&mut state, fault),
        }
        self.settle_clocks(&mut state, action);
        self.canonicalize(&mut state);
        Outcome { state, actor, effects }
    }

    /// Gives names that do not depend on history.
    fn canonicalize(&self, state: &mut State<P>) {
        if let Some(canonicalize) = P::OPTIONS.canonicalize.filter(|_| self.canonicalizes()) {
            let (processes, stable) = (&mut state.processes, &mut state.stable);
            let (count, messages) = (self.processes(), &mut state.flight);
            canonicalize(&self.protocol, Everything { count, processes, stable, messages });
        }
    }

    /// Faults and repairs in which no process takes a step.
    fn strike(&self, state: &mut State<P>, fault: Action<P>) {
        match fault {
            Action::Lose(e) => {
                state.spent.losses = self.scenario.faults.losses.spend(state.spent.losses);
                state.take(e);
            }
            Action::Duplicate(e) => {
                state.spent.duplicates += 1;
                state.double(e);
            }
            Action::Crash(id) => {
                state.spent.crashes += 1;
                state.set_up(id, false);
                state.processes[id.index()] = P::Process::default();
                state.timers[id.index()] = crate::protocol::Timers::NONE;
                state.stop_clocks(id);
                state.set_paused(id, false);
            }
            Action::Pause(id) => {
                state.spent.pauses += 1;
                state.set_paused(id, true);
            }
            Action::Resume(id) => state.set_paused(id, false),
            Action::Cut(a, b) => {
                state.spent.cuts += 1;
                self.link(state, a, b, false);
                state.clear(a, b);
            }
            Action::Heal(a, b) => self.link(state, a, b, true),
            Action::Deliver(_) | Action::Expire { .. } | Action::Recover(_) | Action::Tick => {}
        }
    }

    fn link(&self, state: &mut State<P>, a: Id, b: Id, connected: bool) {
        state.set_connected(a, b, connected);
        state.set_connected(b, a, connected);
    }

    /// A process handles one event; its effects take place in order.
    fn step(
        &self,
        state: &mut State<P>,
        (id, cause): (Id, Cause),
        effects: &mut Effects<P>,
        event: impl FnOnce(&P, &mut Local<'_, P>),
    ) {
        let at = id.index();
        let caused_before = effects.len();
        let mut process = state.processes[at];
        let has = (state.stable[at], state.timers[at]);
        let run_out = self.run_out(state, id);
        let local = Local::new(id, self.scenario.nodes, has, &mut process, effects);
        let mut local = local.with_run_out(run_out);
        event(&self.protocol, &mut local);
        state.timers[at] = local.timers();
        state.processes[at] = process;
        for effect in &effects[caused_before..] {
            match *effect {
                Effect::Persist(value) => state.stable[at] = value,
                Effect::Send { to, message } if state.connected(id, to) => {
                    let envelope = Envelope { from: id, to, message };
                    let in_answer = cause == Cause::Message;
                    let clock = self.clock.as_ref();
                    let lasts = clock.and_then(|clock| clock.lasts((id, to), in_answer));
                    let left = state.times.as_mut().map(|times| &mut times.left).zip(lasts);
                    network::send::<P>(self.scenario.network, &mut state.flight, left, envelope);
                }
                Effect::Send { .. } => {}
                Effect::Arm(timer) => self.start_clock(state, id, timer),
                Effect::ArmSince { timer, since } => {
                    let shows = state.clock(id, since).unwrap_or(0);
                    state.set_clock(id, since, 0);
                    state.set_clock(id, timer, shows);
                }
                Effect::Cancel(timer) => state.set_clock(id, timer, 0),
            }
        }
    }

    /// The state as an omniscient observer sees it.
    #[must_use]
    pub fn view<'a>(&'a self, state: &'a State<P>) -> View<'a, P> {
        let (spent, may) = (state.spent, self.scenario.faults);
        View {
            nodes: self.scenario().nodes,
            up: state.up,
            paused: state.times.as_ref().map_or(Ids::NONE, |times| times.paused),
            may_recover: spent.recoveries < may.recoveries,
            recovered: spent.recoveries > 0,
            lossy: (spent.losses, spent.cuts) != (Budget::NONE, 0)
                || may.losses == Budget::Unbounded
                || !self.scenario.missing.is_empty(),
            cut: &state.cut,
            processes: &state.processes,
            stable: &state.stable,
            timers: &state.timers,
            run_out: self.all_run_out(state),
            flight: &state.flight,
        }
    }

    /// Whether `state` is within the bounds of the search: no link holds more than its capacity,
    /// and no process [more than it may](crate::protocol::Options::within_bounds).
    #[must_use]
    pub fn within_bounds(&self, state: &State<P>) -> bool {
        self.exceeds(state).is_none()
    }

    /// The first bound of the search that `state` exceeds, if it exceeds one.
    pub(crate) fn exceeds(&self, state: &State<P>) -> Option<Boundary> {
        let own = |WithinBounds { within, .. }: WithinBounds<P>| {
            self.ids().all(|id| within(&self.protocol, state.process(id), state.stable(id)))
        };
        let fits = |capacity| fullest::<P>(&state.flight) <= capacity;
        if !P::OPTIONS.within_bounds.is_none_or(own) {
            Some(Boundary::Protocol)
        } else if !self.scenario.capacity.is_none_or(fits) {
            Some(Boundary::Capacity)
        } else {
            None
        }
    }
}
