//! One calm election: the way in which the texts count messages, as an execution of the model.
//!
//! The texts count a single round: a process notices, everything that was sent is delivered, then
//! what has to expire expires, and so on until the group is quiescent. An exhaustive bound answers
//! another question (what is the most that *can* happen), so a claim may ask both.

use crate::machine::{Effect, Message, Timer};
use crate::protocol::{Id, Wait};
use crate::world::{Action, Outcome, Start, State, World};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// No calm election takes so many steps.
const TOO_LONG: usize = 100_000;

/// The starters of an election: which processes notice that something is wrong, all at the same
/// moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Starters {
    /// The process of this number.
    One(usize),
    /// The processes that this word selects.
    Some(Group),
}

/// Words for the processes that notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// The lowest process that is up: the one of the lowest [rank](crate::protocol::Options::rank).
    Lowest,
    /// The highest process that is up.
    Highest,
    /// Every process that is up.
    All,
    /// Each process that is up, in an execution of its own: the costs are summed.
    Each,
    /// Each pair of processes that are up, in an execution of its own: the costs are summed.
    Pairs,
    /// Each triple of processes that are up, in an execution of its own: the costs are summed.
    Triples,
    /// The lowest process crashes and recovers, and no other process has to notice.
    Restarted,
    /// The highest process crashes, and recovers when the others have elected another.
    Returned,
    /// No process has to notice: all have just started.
    None,
}

/// How an election begins.
enum Begins<'a> {
    /// All processes have just started.
    Cold,
    /// These processes notice.
    Noticed(&'a [Id]),
    /// This process crashes and recovers.
    Restarted(Id),
    /// This process crashes, and recovers when the others have agreed on another.
    Returned(Id),
}

/// The cost of one round, and the execution if it is one.
pub struct Round {
    /// The number of what is counted.
    pub count: u64,
    /// The actions of the execution; none if it was more than one.
    pub actions: Vec<Action>,
}

/// What is counted, with what counts as one.
const METRICS: [(&str, &str); 7] = [
    ("messages", "messages sent, also to a process that is down"),
    ("size", "bytes: for each message one for its kind, and one for each process that it names"),
    ("time-outs", "timers that expire"),
    ("elections", "elections that a process begins"),
    ("leaderships", "times that a process begins to lead"),
    (LEADERS, "the most processes that lead at the same time"),
    (ASTRAY, "processes that do not follow the highest live one in the end"),
];

/// The number of one thing that is counted in a round.
pub struct Cost {
    /// The name of what is counted.
    pub metric: String,
    /// The number of it.
    pub count: u64,
    /// The meaning: what counts as one; of a kind of messages nothing.
    pub meaning: &'static str,
}

/// Returns what the election costs that `starters` start: everything that is counted, with the
/// kinds of messages that are sent behind their sum.
///
/// # Errors
/// If the election cannot happen so.
pub fn costs(world: &World, starters: Starters) -> Result<Vec<Cost>, String> {
    let mut costs = Vec::new();
    for (metric, meaning) in METRICS {
        let Round { count, actions } = round(world, metric, starters, 0)?;
        costs.push(Cost { metric: metric.to_owned(), count, meaning });
        if metric == "messages" {
            for kind in kinds_sent(world, &actions) {
                let metric = format!("messages/{kind}");
                let count = round(world, &metric, starters, 0)?.count;
                costs.push(Cost { metric, count, meaning: "" });
            }
        }
    }
    Ok(costs)
}

/// The kinds of messages that are sent in an execution, and by processes that start with it.
fn kinds_sent(world: &World, actions: &[Action]) -> BTreeSet<String> {
    let begun = match world.scenario().start {
        Start::Converged => Vec::new(),
        Start::Cold => world.boots(),
    };
    let mut all: BTreeSet<_> = begun.iter().flat_map(|(_, outcome)| kinds(outcome)).collect();
    let mut state = world.initial();
    for action in actions {
        let outcome = world.apply(&state, action);
        all.extend(kinds(&outcome));
        state = outcome.state;
    }
    all
}

/// Returns how many of `metric` the elections cost that `starters` start, when the `crashed`
/// highest processes have crashed besides those that are down: those that the protocol prefers.
///
/// # Errors
/// If nothing of that name is counted, or the election cannot happen so.
pub fn round(
    world: &World,
    metric: &str,
    starters: Starters,
    crashed: usize,
) -> Result<Round, String> {
    let mut live = up(world);
    live.truncate(live.len().saturating_sub(crashed));
    let live = live.as_slice();
    let one = |starters: &[Id]| calm(world, metric, &Begins::Noticed(starters), crashed);
    let sum = |all: Vec<Vec<Id>>| {
        let each = all.iter().map(|starters| one(starters).map(|round| round.count));
        let count = each.collect::<Result<Vec<u64>, _>>()?.into_iter().sum();
        Ok(Round { count, actions: Vec::new() })
    };
    match starters {
        Starters::One(number) => {
            let found = live.iter().find(|id| usize::from(id.number()) == number);
            one(&[*found.ok_or_else(|| format!("process {number} is not up"))?])
        }
        Starters::Some(Group::Lowest) => one(&live[..live.len().min(1)]),
        Starters::Some(Group::Highest) => one(&live[live.len().saturating_sub(1)..]),
        Starters::Some(Group::All) => one(live),
        Starters::Some(Group::None) => calm(world, metric, &Begins::Cold, crashed),
        Starters::Some(Group::Restarted) => {
            let lowest = *live.first().ok_or("no process is up")?;
            calm(world, metric, &Begins::Restarted(lowest), crashed)
        }
        Starters::Some(Group::Returned) => {
            let highest = *live.last().ok_or("no process is up")?;
            calm(world, metric, &Begins::Returned(highest), crashed)
        }
        Starters::Some(Group::Each) => sum(live.iter().map(|&id| vec![id]).collect()),
        Starters::Some(Group::Pairs) => sum(sets(live, 2)),
        Starters::Some(Group::Triples) => sum(sets(live, 3)),
    }
}

/// The processes that are up at the beginning, those that the protocol prefers last.
fn up(world: &World) -> Vec<Id> {
    let down = world.scenario().down;
    world.ranking().iter().copied().filter(|&id| !down.contains(id)).collect()
}

/// Every set of so many of them.
fn sets(all: &[Id], size: usize) -> Vec<Vec<Id>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with = |(at, &lowest): (usize, &Id)| {
        let others = sets(&all[at + 1..], size - 1);
        others.into_iter().map(move |others| [vec![lowest], others].concat())
    };
    all.iter().enumerate().flat_map(with).collect()
}

fn calm(world: &World, metric: &str, begins: &Begins<'_>, crashed: usize) -> Result<Round, String> {
    let mut walk = Walk { world, metric, state: world.initial(), count: 0, actions: Vec::new() };
    if matches!(begins, Begins::Cold) {
        for (before, outcome) in world.boots() {
            walk.count += counted(world, metric, &before, None, &outcome)?;
        }
    }
    for &id in up(world).iter().rev().take(crashed) {
        walk.take(Action::Crash(id))?;
    }
    match *begins {
        Begins::Cold => {}
        Begins::Noticed(starters) => {
            for &id in starters {
                let notices = walk.expiry(|timer| timer == (id, true));
                walk.take(notices.ok_or_else(|| {
                    format!("process {id} notices nothing; its leader has to be down")
                })?)?;
            }
        }
        Begins::Restarted(id) => {
            walk.take(Action::Crash(id))?;
            walk.take(Action::Recover(id))?;
        }
        Begins::Returned(id) => {
            walk.take(Action::Crash(id))?;
            walk.finish()?;
            walk.take(Action::Recover(id))?;
        }
    }
    walk.finish()?;
    if metric == ASTRAY {
        walk.count = astray(world, &walk.state);
    }
    Ok(Round { count: walk.count, actions: walk.actions })
}

/// The most processes that lead at the same time.
const LEADERS: &str = "leaders";
/// The processes that do not follow the highest live one in the end.
const ASTRAY: &str = "astray";

fn leaders(state: &State) -> u64 {
    state.ids().filter(|&id| state.leads(id)).count() as u64
}

fn astray(world: &World, state: &State) -> u64 {
    let highest = world.highest_up(state);
    let follows = |id| state.leader(id).is_some_and(|leader| Some(leader) == highest);
    state.ids().filter(|&id| state.up(id) && !follows(id)).count() as u64
}

/// An execution that is under way.
struct Walk<'a> {
    world: &'a World,
    metric: &'a str,
    state: State,
    count: u64,
    actions: Vec<Action>,
}

impl Walk<'_> {
    fn take(&mut self, action: Action) -> Result<(), String> {
        let outcome = self.world.apply(&self.state, &action);
        self.count += counted(self.world, self.metric, &self.state, Some(&action), &outcome)?;
        self.state = outcome.state;
        self.actions.push(action);
        if self.metric == LEADERS {
            self.count = self.count.max(leaders(&self.state));
        }
        Ok(())
    }

    /// Everything that was sent is delivered, then what has to expire expires, until the group is
    /// quiescent.
    fn finish(&mut self) -> Result<(), String> {
        while !self.world.is_quiescent(&self.state) {
            let flight = self.state.in_flight().to_vec();
            let next = || self.expiry(|(_, detector)| !detector).or(self.expiry(|_| true));
            match (flight.is_empty(), next()) {
                (false, _) => {
                    for message in flight {
                        self.take(Action::Deliver(message))?;
                    }
                }
                (true, Some(expiry)) => self.take(expiry)?,
                (true, None) => {
                    return Err("nothing happens, but the group is not quiescent".to_owned());
                }
            }
            if self.actions.len() > TOO_LONG {
                return Err("the election does not end".to_owned());
            }
        }
        Ok(())
    }

    /// The first timer that is due and `wanted`, which is told whose it is and whether it is a
    /// detector's: those are not waited for, they notice.
    fn expiry(&self, wanted: impl Fn((Id, bool)) -> bool) -> Option<Action> {
        let mut enabled = Vec::new();
        self.world.enabled(&self.state, &mut enabled);
        let detector = |id: Id, timer: Timer| {
            let rules = &self.world.machine().timers_of(id)[timer.place()];
            matches!(rules.wait, Some(Wait::Detector(_)))
        };
        enabled.into_iter().find(|action| match action {
            Action::Expire { id, timer, early: false } => wanted((*id, detector(*id, *timer))),
            _ => false,
        })
    }
}

/// How much of `metric` one step has.
fn counted(
    world: &World,
    metric: &str,
    before: &State,
    action: Option<&Action>,
    outcome: &Outcome,
) -> Result<u64, String> {
    let count = match metric.split_once('/') {
        None if metric == "messages" => sent(outcome, |_| true),
        Some(("messages", kind)) => sent(outcome, |known| known == kind),
        None if metric == "size" => size(outcome),
        None if metric == "time-outs" => {
            let expires = |action: &Action| match action {
                Action::Expire { timer, .. } => !timer.is_outcome(),
                _ => false,
            };
            usize::from(action.is_some_and(expires))
        }
        None if metric == "elections" => usize::from(outcome.actor.is_some_and(|id| {
            let (old, new) = (before.process(id), outcome.state.process(id));
            world.machine().begins_election(old, new, &outcome.effects)
        })),
        None if metric == "leaderships" => {
            let begins = |&id: &Id| outcome.state.leads(id) && !before.leads(id);
            outcome.state.ids().filter(begins).count()
        }
        None if metric == LEADERS || metric == ASTRAY => 0,
        _ => {
            let known = METRICS.map(|(name, _)| name).join(", ");
            return Err(format!("'{metric}' is not counted; give messages/KIND, or: {known}"));
        }
    };
    Ok(count as u64)
}

/// How much is sent: for each message one for its kind, and one for each process that it names. A
/// message that names none names its sender.
fn size(outcome: &Outcome) -> usize {
    fn named(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Number(_) => 1,
            serde_json::Value::Array(all) => all.iter().map(named).sum(),
            serde_json::Value::Object(fields) => fields.values().map(named).sum(),
            _ => 0,
        }
    }
    let one = |effect: &Effect| match *effect {
        Effect::Send { message, .. } => {
            let value = serde_json::to_value(message).unwrap_or_default();
            1 + named(&value).max(1)
        }
        _ => 0,
    };
    outcome.effects.iter().map(one).sum()
}

/// The number of messages of the kinds that are `wanted`.
fn sent(outcome: &Outcome, wanted: impl Fn(&str) -> bool) -> usize {
    kinds(outcome).filter(|kind| wanted(kind)).count()
}

/// The kind of each message that is sent: its name, without its fields.
fn kinds(outcome: &Outcome) -> impl Iterator<Item = String> {
    let kind = |message: Message| match serde_json::to_value(message) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    };
    outcome.effects.iter().filter_map(move |effect| match *effect {
        Effect::Send { message, .. } => Some(kind(message)),
        _ => None,
    })
}
