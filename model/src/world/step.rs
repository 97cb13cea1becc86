//! What can happen in a state, and what follows from it.

use super::network::{self, deliverable, fullest};
use super::{Action, Heals, Start, State, Timing, World};
use crate::protocol::{Effect, Effects, Envelope, Everything, Id, Local, Protocol, View};

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
        state
    }

    /// Everybody is up and has done nothing yet.
    fn unbooted(&self) -> State<P> {
        let mut state = State::empty(self.processes());
        state.cut = self.scenario.missing.0;
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

    /// Everything that can happen in `state`, in an order that is always the same.
    pub fn enabled(&self, state: &State<P>, actions: &mut Vec<Action<P>>) {
        let next = || deliverable::<P>(self.scenario.network, &state.flight);
        actions.extend(next().filter(|e| !state.paused(e.to)).map(Action::Deliver));
        self.expiries(state, actions);
        if let Some(clock) = &self.clock
            && self.may_tick(clock, state, &self.view(state))
        {
            actions.push(Action::Tick);
        }
        let (spent, may) = (state.spent, self.scenario.faults);
        if may.losses.allows(spent.losses) {
            actions.extend(next().map(Action::Lose));
        }
        if spent.duplicates < may.duplicates {
            actions.extend(next().map(Action::Duplicate));
        }
        if spent.crashes < may.crashes {
            actions.extend(self.mortals().filter(|&id| state.up(id)).map(Action::Crash));
        }
        if spent.recoveries < may.recoveries {
            actions.extend(self.ids().filter(|&id| !state.up(id)).map(Action::Recover));
        }
        if may.cuts > 0 {
            self.cuts_and_heals(state, actions);
        }
        if may.pauses > 0 {
            self.pauses(state, actions);
        }
    }

    fn pauses(&self, state: &State<P>, actions: &mut Vec<Action<P>>) {
        for id in self.mortals().filter(|&id| state.up(id)) {
            if state.paused(id) {
                actions.push(Action::Resume(id));
            } else if state.spent.pauses < self.scenario.faults.pauses {
                actions.push(Action::Pause(id));
            }
        }
    }

    fn expiries(&self, state: &State<P>, actions: &mut Vec<Action<P>>) {
        let view = self.view(state);
        for id in self.ids().filter(|&id| !state.paused(id)) {
            for timer in state.timers(id).iter::<P>() {
                let due = match (&self.clock, self.scenario.timing) {
                    (Some(clock), _) => self.has_expired(clock, state, &view, (id, timer)),
                    (None, Timing::Asynchronous) => true,
                    (None, _) => self.protocol.may_time_out(&view, id, timer),
                };
                let suspected = state.spent.suspicions < self.scenario.faults.suspicions
                    && !self.protocol.periodic(timer);
                if due || suspected {
                    actions.push(Action::Expire { id, timer, early: !due });
                }
            }
        }
    }

    fn cuts_and_heals(&self, state: &State<P>, actions: &mut Vec<Action<P>>) {
        for (a, b) in self.pairs() {
            if !state.connected(a, b) {
                actions.push(Action::Heal(a, b));
            } else if state.spent.cuts < self.scenario.faults.cuts {
                actions.push(Action::Cut(a, b));
            }
        }
    }

    /// What follows when `action`, which must be enabled, happens in `state`.
    #[must_use]
    pub fn apply(&self, state: &State<P>, action: &Action<P>) -> Outcome<P> {
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
        if self.canonicalizes() {
            self.protocol.canonicalize(Everything {
                processes: &mut state.processes,
                stable: &mut state.stable,
                messages: &mut state.flight,
            });
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
        let mut local = Local::new(id, self.scenario.nodes, has, &mut process, effects);
        event(&self.protocol, &mut local);
        state.timers[at] = local.timers();
        state.processes[at] = process;
        let lasts = self.clock.as_ref().and_then(|clock| clock.lasts(cause == Cause::Message));
        for effect in &effects[caused_before..] {
            match *effect {
                Effect::Persist(value) => state.stable[at] = value,
                Effect::Send { to, message } if state.connected(id, to) => {
                    let envelope = Envelope { from: id, to, message };
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
        View {
            nodes: self.scenario().nodes,
            up: state.up,
            paused: state.times.as_ref().map_or(0, |times| times.paused),
            cut: &state.cut,
            processes: &state.processes,
            stable: &state.stable,
            timers: &state.timers,
            flight: &state.flight,
        }
    }

    /// Whether the world owes `action` to the processes: deliveries, expiries that are due, ticks,
    /// that who is paused goes on, and if links must heal, that. Faults owe nothing.
    #[must_use]
    pub fn is_fair(&self, action: &Action<P>) -> bool {
        match action {
            Action::Deliver(_)
            | Action::Expire { early: false, .. }
            | Action::Resume(_)
            | Action::Tick => true,
            Action::Heal(..) => self.scenario().heals == Heals::Must,
            _ => false,
        }
    }

    /// Whether nothing is left to happen but faults: no message is in flight, nobody is paused, and
    /// no timer is due but heartbeats that tell nobody anything new. With asynchronous timing an armed timer is
    /// always due; in a timed world one is that will expire by itself.
    #[must_use]
    pub fn is_quiescent(&self, state: &State<P>) -> bool {
        if !state.flight.is_empty() || self.ids().any(|id| state.paused(id)) {
            return false;
        }
        let view = self.view(state);
        let left = |id: Id| {
            state.timers(id).iter::<P>().any(|timer| {
                let due = match (&self.clock, self.scenario.timing) {
                    (Some(clock), _) => self.will_expire(clock, &view, (id, timer)),
                    (None, Timing::Asynchronous) => true,
                    (None, _) => self.protocol.may_time_out(&view, id, timer),
                };
                due && !(self.protocol.periodic(timer)
                    && self.protocol.is_quiescent(&view, id, timer))
            })
        };
        let healing = self.scenario().heals == Heals::Must && state.cut != self.scenario.missing.0;
        !healing && !self.ids().any(left)
    }

    /// Whether `state` is inside the boundary of the search: no link holds more than its capacity,
    /// and no process [more than it may](Protocol::within_bounds).
    #[must_use]
    pub fn within_bounds(&self, state: &State<P>) -> bool {
        self.scenario.capacity.is_none_or(|capacity| fullest::<P>(&state.flight) <= capacity)
            && (!P::BOUNDED
                || self
                    .ids()
                    .all(|id| self.protocol.within_bounds(state.process(id), state.stable(id))))
    }
}
