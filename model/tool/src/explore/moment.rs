//! One state of a world, as data: everything that a person may want to see of it.

use crate::report::words::Names;
use bellwether_engine::protocol::{Envelope, Id};
use bellwether_engine::trace::Lifeline;
use bellwether_engine::words::jumps;
use bellwether_engine::world::{Action, Condition, Faults, State, Ways, World};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// A moment of an execution: one state, and what may happen next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// The processes, ascending.
    pub processes: Vec<Process>,
    /// The messages in flight, by link.
    pub in_flight: Vec<Message>,
    /// The links that are cut or missing: what the first sends does not reach the second.
    pub unlinked: Vec<[Id; 2]>,
    /// The number of times that each fault has struck.
    pub spent: Faults,
    /// The number of ticks that have passed, in a timed world.
    pub elapsed: Option<usize>,
    /// The answers to what is asked of the state, in the order of the questions.
    pub answers: Vec<Answer>,
    /// The steps that may happen next, in the order in which the search takes them.
    pub next: Vec<Next>,
}

/// One process in one state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Process {
    /// The id of the process.
    pub id: Id,
    /// The name of the process in sentences, such as "P1"; of a service, what it is.
    pub name: String,
    /// Whether the process takes part in the election; a service does not.
    pub elects: bool,
    /// Whether the process is up.
    pub up: bool,
    /// Whether the process is paused.
    pub paused: bool,
    /// The role of the process; of a process that is down, "down".
    pub role: String,
    /// The leader of the process, if it has one: itself if it leads.
    pub leader: Option<Id>,
    /// The variables: what the process knows and loses in a crash, but for what its rules never
    /// use; nothing if it is down.
    pub variables: Option<Value>,
    /// The stable storage of the process, likewise; nothing if the protocol stores nothing.
    pub stable: Value,
    /// The timers that the process has armed.
    pub timers: Vec<Timer>,
}

/// An armed timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timer {
    /// The name of the timer.
    pub name: String,
    /// The ticks that the clock of the timer shows, in a timed world.
    pub ticks: Option<u8>,
}

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The process that sent the message.
    pub from: Id,
    /// The process that the message is sent to.
    pub to: Id,
    /// The label of the message: what it says.
    pub label: String,
    /// The ticks that the message has left, in a timed world with a largest delay.
    pub ticks: Option<u8>,
}

/// The answer whether a condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Whether the condition holds.
    pub holds: bool,
    /// The processes where it does not hold: the fewest without which it would; if there is a
    /// choice, all of them.
    pub concerned: Vec<Id>,
}

/// A step that may happen next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Next {
    /// The description of what happens, in a sentence.
    pub what: String,
    /// The process that acts, or to which it happens.
    pub node: Option<Id>,
    /// Whether the step is a fault, or the repair of one.
    pub fault: bool,
}

/// Returns the state before each of `actions` and after the last, in the
/// [concrete](World::concrete) world: with the names that the processes know.
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

/// One state, after so many ticks of a timed world.
pub(super) fn moment(
    world: &World,
    state: &State,
    elapsed: Option<usize>,
    asked: &[Condition],
) -> Moment {
    let ids = || state.ids();
    let pairs = ids().flat_map(|a| ids().filter(move |b| *b != a).map(move |b| [a, b]));
    let left = |at: usize| state.ticks_left().get(at).copied();
    let flying = state.in_flight().iter().enumerate();
    let mut enabled = Vec::new();
    world.enabled(state, &mut enabled);
    let names = Names::of_world(world);
    Moment {
        processes: ids().map(|id| process(world, state, id, &names)).collect(),
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
        next: enabled.iter().map(|action| next(action, &names)).collect(),
    }
}

fn process(world: &World, state: &State, id: Id, names: &Names) -> Process {
    let unused = world.machine().unused(id);
    let Lifeline { up, paused, role, leader, .. } = Lifeline::of(state, id);
    let timer = |timer: bellwether_engine::machine::Timer| Timer {
        name: timer.plain().to_owned(),
        ticks: state.clock(id, timer),
    };
    Process {
        id,
        name: names.name(id.number()),
        elects: state.members().any(|member| member == id),
        up,
        paused,
        role,
        leader,
        variables: up.then(|| without(&unused.process, state.process(id).json())),
        stable: without(&unused.stable, state.stable(id).json()),
        timers: state.armed(id).map(timer).collect(),
    }
}

/// A value without the fields of these names.
fn without(unused: &[&str], value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let used = fields.iter().filter(|(name, _)| !unused.contains(&name.as_str()));
    used.map(|(name, of)| (name.clone(), of.clone())).collect()
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

fn next(action: &Action, names: &Names) -> Next {
    let name = |id: Id| names.name(id.number());
    let flight = |e: &Envelope, what: &str| {
        let told = format!("{} from {} to {} {what}", e.message.label(), name(e.from), name(e.to));
        (Some(e.to), told)
    };
    let of = |id: Id, what: &str| (Some(id), format!("{}{what}", name(id)));
    let link = |[a, b]: [Id; 2], ways: Ways, what: &str| {
        let [between, and] = if ways == Ways::One { ["from", "to"] } else { ["between", "and"] };
        (None, format!("the link {between} {} {and} {} {what}", name(a), name(b)))
    };
    let (node, what) = match *action {
        Action::Deliver(e) => {
            (Some(e.to), format!("{} gets {} from {}", name(e.to), e.message.label(), name(e.from)))
        }
        Action::Lose(e) => flight(&e, "is lost"),
        Action::Duplicate(e) => flight(&e, "is doubled"),
        Action::Expire { id, timer, .. } if timer.is_outcome() => {
            of(id, &format!(" chooses {}", timer.label()))
        }
        Action::Expire { id, timer, early } => {
            let early = if early { " too early" } else { "" };
            of(id, &format!("'s {} timer expires{early}", timer.label()))
        }
        Action::Crash(id) => of(id, " crashes"),
        Action::Recover(id) => of(id, " recovers"),
        Action::Pause(id) => of(id, " is paused"),
        Action::Resume(id) => of(id, " goes on"),
        Action::Jump(id, by) => of(id, &format!("'s clock {}", jumps(by))),
        Action::Cut(a, b, ways) => link([a, b], ways, "is cut"),
        Action::Heal(a, b, ways) => link([a, b], ways, "heals"),
        Action::Tick => (None, "a tick passes".to_owned()),
    };
    Next { what, node, fault: action.is_fault() }
}

/// What a process knows and stores always has a JSON form.
pub(super) fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or(Value::Null)
}
