//! What follows from an action.

use super::network::{self, fullest};
use super::{Action, Boundary, Budget, Start, State, Ways, World};
use crate::machine::{Effect, Effects, Event, Local, Observation};
use crate::protocol::{Envelope, Id, Ids, Said, Seen};

/// The outcome of an action: the state that follows, and what the process did.
pub struct Outcome {
    /// The state afterwards.
    pub state: State,
    /// The process that took a step, if one did.
    pub actor: Option<Id>,
    /// The effects of the step, in order.
    pub effects: Effects,
    /// What the process says of the step.
    pub said: Said,
}

impl World {
    /// Returns the one initial state.
    #[must_use]
    pub fn initial(&self) -> State {
        let mut state = self.unbooted();
        for id in self.booting() {
            self.boot(&mut state, id);
        }
        for id in self.scenario.down.iter() {
            state.stop(id, &*self.machine);
        }
        self.canonicalize(&mut state);
        state
    }

    /// The processes that have started at the beginning: those that are down were up in a
    /// converged group, to agree, and have never started in a cold one.
    fn booting(&self) -> impl Iterator<Item = Id> + use<> {
        let never = match self.scenario.start {
            Start::Converged => Ids::NONE,
            Start::Cold => self.scenario.down,
        };
        self.ids().filter(move |&id| !never.contains(id))
    }

    /// Every process is up and has done nothing yet.
    fn unbooted(&self) -> State {
        let mut state = State::empty(&*self.machine, self.processes());
        state.cut = self.unreachable.clone();
        state.times = self.first_times();
        for id in self.ids() {
            state.set_up(id, true);
        }
        state
    }

    /// Returns how the [initial](World::initial) state comes about, process by process: the state
    /// before each, and what follows.
    #[must_use]
    pub fn boots(&self) -> Vec<(State, Outcome)> {
        let mut state = self.unbooted();
        let boot = |id| {
            let before = state.clone();
            let (effects, said) = self.boot(&mut state, id);
            (before, Outcome { state: state.clone(), actor: Some(id), effects, said })
        };
        self.booting().map(boot).collect()
    }

    fn boot(&self, state: &mut State, id: Id) -> (Effects, Said) {
        let mut effects = Effects::new();
        let event = match self.scenario.start {
            Start::Converged => Event::Converged,
            Start::Cold => Event::Recover,
        };
        let said = self.step(state, id, event, &mut effects);
        (effects, said)
    }

    /// Returns the outcome when `action`, which must be enabled, happens in `state`.
    #[must_use]
    pub fn apply(&self, state: &State, action: &Action) -> Outcome {
        let mut state = state.clone();
        let (mut effects, mut said) = (Effects::new(), Said::default());
        let mut actor = None;
        match *action {
            Action::Deliver(e) => {
                state.take(e);
                if state.up(e.to) {
                    actor = Some(e.to);
                    let event = Event::Receive(e.from, e.message);
                    said = self.step(&mut state, e.to, event, &mut effects);
                }
            }
            Action::Expire { id, timer, early } => {
                state.spent.suspicions += u8::from(early);
                state.timers[id.index()] = state.timers(id).but(timer);
                state.set_clock(id, timer, 0);
                actor = Some(id);
                said = self.step(&mut state, id, Event::Expire(timer), &mut effects);
            }
            Action::Recover(id) => {
                state.spent.recoveries += 1;
                state.set_up(id, true);
                actor = Some(id);
                said = self.step(&mut state, id, Event::Recover, &mut effects);
            }
            Action::Tick => self.tick(&mut state),
            fault => self.apply_fault(&mut state, fault),
        }
        self.settle_clocks(&mut state, action);
        self.canonicalize(&mut state);
        Outcome { state, actor, effects, said }
    }

    /// Gives names that do not depend on history.
    fn canonicalize(&self, state: &mut State) {
        if self.canonicalizes() {
            let (processes, stable) = (&mut state.processes, &mut state.stable);
            self.machine.canonicalize(self.processes(), processes, stable, &mut state.flight);
        }
    }

    /// Faults and repairs in which no process takes a step.
    fn apply_fault(&self, state: &mut State, fault: Action) {
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
                state.stop(id, &*self.machine);
                state.set_paused(id, false);
            }
            Action::Pause(id) => {
                state.spent.pauses += 1;
                state.set_paused(id, true);
            }
            Action::Resume(id) => state.set_paused(id, false),
            Action::Jump(id, by) => {
                state.spent.jumps += 1;
                self.jump(state, id, by);
            }
            Action::Cut(a, b, ways) => {
                match ways {
                    Ways::Both => state.spent.cuts += 1,
                    Ways::One => state.spent.one_way_cuts += 1,
                }
                for (from, to) in ways.of(a, b) {
                    state.set_connected(from, to, false);
                    state.clear(from, to);
                }
            }
            Action::Heal(a, b, ways) => {
                ways.of(a, b).for_each(|(from, to)| state.set_connected(from, to, true));
            }
            Action::Deliver(_) | Action::Expire { .. } | Action::Recover(_) | Action::Tick => {}
        }
    }

    /// A process handles one event; its effects take place in order. Returns what it says.
    fn step(&self, state: &mut State, id: Id, event: Event, effects: &mut Effects) -> Said {
        let at = id.index();
        let in_answer = matches!(event, Event::Receive(..));
        let mut local = Local {
            id,
            nodes: self.scenario.nodes,
            process: state.processes[at],
            stable: state.stable[at],
            timers: state.timers[at],
            run_out: self.run_out(state, id),
        };
        let said = self.machine.step(&mut local, event, effects);
        state.timers[at] = local.timers;
        state.processes[at] = local.process;
        state.stable[at] = local.stable;
        for effect in &*effects {
            match *effect {
                Effect::Persist(_) => {}
                Effect::Send { to, message } if state.connected(id, to) => {
                    let envelope = Envelope { from: id, to, message };
                    let clock = self.clock.as_ref();
                    let lasts = clock.and_then(|clock| clock.lasts(id, to, in_answer));
                    let left = state.times.as_mut().map(|times| &mut times.left).zip(lasts);
                    network::send(self.scenario.network, &mut state.flight, left, envelope);
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
        said
    }

    /// Returns the state as an omniscient observer sees it.
    #[must_use]
    pub fn view<'a>(&'a self, state: &'a State) -> Observation<'a> {
        let (spent, may) = (state.spent, self.scenario.faults);
        let seen = Seen {
            nodes: self.scenario.nodes,
            up: state.up,
            paused: state.times.as_ref().map_or(Ids::NONE, |times| times.paused),
            may_recover: spent.recoveries < may.recoveries,
            recovered: spent.recoveries > 0,
            lossy: (spent.losses, spent.cuts, spent.one_way_cuts) != (Budget::NONE, 0, 0)
                || may.losses == Budget::Unbounded
                || !self.scenario.missing.is_empty(),
            doubled: spent.duplicates > 0,
            cut: &state.cut,
            timers: &state.timers,
            run_out: self.all_run_out(state),
        };
        let State { processes, stable, flight, .. } = state;
        Observation { seen, processes, stable, flight }
    }

    /// Returns whether `state` is within the bounds of the search: no link holds more than its
    /// capacity, and no process [more than it may](crate::protocol::Options::within_bounds).
    #[must_use]
    pub fn within_bounds(&self, state: &State) -> bool {
        self.exceeds(state).is_none()
    }

    /// Returns the first bound of the search that `state` exceeds, if it exceeds one.
    #[must_use]
    pub fn exceeds(&self, state: &State) -> Option<Boundary> {
        let bounded = self.machine.bound().is_some();
        let within = |id| self.machine.within(state.process(id), state.stable(id));
        let fits = |capacity| fullest(&state.flight) <= capacity;
        if bounded && !self.ids().all(within) {
            Some(Boundary::Protocol)
        } else if !self.scenario.capacity.is_none_or(fits) {
            Some(Boundary::Capacity)
        } else {
            None
        }
    }
}
