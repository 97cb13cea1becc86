//! One state of a world, as data: everything that a person may want to see of it.

use crate::protocol::Id;
use crate::trace::Lifeline;
use crate::world::{Action, Condition, Faults, State, World};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// One state, and what may happen next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Every process, ascending.
    pub processes: Vec<Process>,
    /// The messages in flight, by link.
    pub in_flight: Vec<Message>,
    /// The links that are cut or missing: what the first sends does not reach the second.
    pub unlinked: Vec<[Id; 2]>,
    /// How often each fault has struck.
    pub spent: Faults,
    /// In a timed world, how many ticks have passed.
    pub elapsed: Option<usize>,
    /// What is asked of the state, in the order of the questions.
    pub answers: Vec<Answer>,
    /// What may happen next, in the order in which the search takes it.
    pub next: Vec<Next>,
}

/// One process in one state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Process {
    /// Its id.
    pub id: Id,
    /// Whether it takes part in the election; a service does not.
    pub elects: bool,
    /// Whether it is up.
    pub up: bool,
    /// Whether it is paused.
    pub paused: bool,
    /// Its role; of a process that is down, "down".
    pub role: String,
    /// Its leader, if it has one: itself if it leads.
    pub leader: Option<Id>,
    /// What it knows and loses in a crash; nothing if it is down.
    pub variables: Option<Value>,
    /// What it has on stable storage; nothing if the protocol stores nothing.
    pub stable: Value,
    /// The timers that it has armed.
    pub timers: Vec<Timer>,
}

/// An armed timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timer {
    /// Its name.
    pub name: String,
    /// In a timed world, what its clock shows, in ticks.
    pub ticks: Option<u8>,
}

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The sender.
    pub from: Id,
    /// The receiver.
    pub to: Id,
    /// What it says.
    pub label: String,
    /// In a timed world with a largest delay, the ticks that it has left.
    pub ticks: Option<u8>,
}

/// Whether a condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Whether it does.
    pub holds: bool,
    /// Where it does not: the fewest processes without which it would; if there is a choice, all
    /// of them.
    pub concerned: Vec<Id>,
}

/// Something that may happen next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Next {
    /// What happens, in a sentence.
    pub what: String,
    /// The process that acts, or to which it happens.
    pub node: Option<Id>,
    /// Whether it is a fault, or the repair of one.
    pub fault: bool,
}

/// The state before each of `actions` and after the last, in the [concrete](World::concrete)
/// world: with the names that the processes know.
#[must_use]
pub fn moments(world: &World, actions: &[Action], asked: &[Condition]) -> Vec<Moment> {
    let (actions, world) = (world.in_concrete_terms(actions), &world.concrete());
    let mut state = world.initial();
    let mut elapsed = world.scenario().timing.timed().map(|_| 0);
    let mut moments = vec![moment(world, &state, elapsed, asked)];
    for action in &actions {
        state = world.apply(&state, action).state;
        let ticks = usize::from(matches!(action, Action::Tick));
        elapsed = elapsed.map(|before| before + ticks);
        moments.push(moment(world, &state, elapsed, asked));
    }
    moments
}

fn moment(world: &World, state: &State, elapsed: Option<usize>, asked: &[Condition]) -> Moment {
    let ids = || state.ids();
    let pairs = ids().flat_map(|a| ids().filter(move |b| *b != a).map(move |b| [a, b]));
    let left = |at: usize| state.ticks_left().get(at).copied();
    let flying = state.in_flight().iter().enumerate();
    let mut enabled = Vec::new();
    world.enabled(state, &mut enabled);
    Moment {
        processes: ids().map(|id| process(state, id)).collect(),
        in_flight: flying
            .map(|(at, e)| Message {
                from: e.from,
                to: e.to,
                label: e.message.label(),
                ticks: left(at),
            })
            .collect(),
        unlinked: pairs.filter(|&[a, b]| !state.connected(a, b)).collect(),
        spent: state.spent(),
        elapsed,
        answers: asked.iter().map(|condition| answer(world, state, condition)).collect(),
        next: enabled.iter().map(next).collect(),
    }
}

fn process(state: &State, id: Id) -> Process {
    let Lifeline { up, paused, role, leader, .. } = Lifeline::of(state, id);
    let timer = |timer: crate::machine::Timer| Timer {
        name: timer.plain().to_owned(),
        ticks: state.clock(id, timer),
    };
    Process {
        id,
        elects: state.members().any(|member| member == id),
        up,
        paused,
        role,
        leader,
        variables: up.then(|| value(&state.process(id))),
        stable: value(&state.stable(id)),
        timers: state.armed(id).map(timer).collect(),
    }
}

fn answer(world: &World, state: &State, condition: &Condition) -> Answer {
    let holds = condition.holds(world, state);
    let concerned = if holds { Vec::new() } else { concerned(world, state, condition) };
    Answer { holds, concerned }
}

/// How many sets of one size are tried at most: where more are, only smaller ones.
const MOST_SETS: usize = 127;

/// All processes of the smallest sets without which the condition holds.
fn concerned(world: &World, state: &State, condition: &Condition) -> Vec<Id> {
    let up: Vec<Id> = state.ids().filter(|&id| state.up(id)).collect();
    let cures = |set: &Vec<usize>| {
        let left =
            set.iter().fold(state.clone(), |state, &at| state.without(up[at], &**world.machine()));
        condition.holds(world, &left)
    };
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    while !sets.is_empty() && sets.len() <= MOST_SETS {
        let cured: BTreeSet<usize> =
            sets.iter().filter(|set| cures(set)).flatten().copied().collect();
        if !cured.is_empty() {
            return cured.into_iter().map(|at| up[at]).collect();
        }
        let larger = |set: &Vec<usize>| {
            let after = set.last().map_or(0, |last| last + 1);
            let with = |at| set.iter().copied().chain([at]).collect();
            (after..up.len()).map(with).collect::<Vec<_>>()
        };
        sets = sets.iter().flat_map(larger).collect();
    }
    Vec::new()
}

fn next(action: &Action) -> Next {
    let node = match action {
        Action::Deliver(e) | Action::Lose(e) | Action::Duplicate(e) => Some(e.to),
        Action::Expire { id, .. }
        | Action::Crash(id)
        | Action::Recover(id)
        | Action::Pause(id)
        | Action::Resume(id) => Some(*id),
        Action::Cut(..) | Action::Heal(..) | Action::Tick => None,
    };
    Next { what: action.to_string(), node, fault: action.is_fault() }
}

/// What a process knows and stores always has a JSON form.
fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or(Value::Null)
}
