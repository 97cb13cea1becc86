//! From an execution of the model to a trace, and back; and what its steps change of what processes
//! know.

use super::{
    Event, FORMAT, Fate, Flight, Header, Lifeline, Noted, Sent, Shows, Step, Trace, TraceError,
    Variable, wrong,
};
use crate::machine::{AnyProtocol, DynProtocol, Effect, ProtocolEntry, Timer};
use crate::protocol::{Id, Protocol};
use crate::words::plain_value;
use crate::world::{Action, Envelope, Outcome, Scenario, State, Ways, World};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault};

impl Trace {
    /// Returns the execution in which `actions` happen one after the other, from the initial state
    /// of `world`. Every action must be enabled when its turn comes. The trace tells of the
    /// [concrete](World::concrete) world: with the names that the processes know.
    #[must_use]
    pub fn record(world: &World, actions: &[Action], shows: Option<Shows>) -> Trace {
        let (actions, world) = (world.in_concrete_terms(actions), &world.concrete());
        Recorder::new(world, world.initial()).record(&actions, shows)
    }

    /// Returns the one step in which `action`, which must be enabled, happens in `state`, as a
    /// trace that begins there. What the step sends is called what the process calls it.
    #[must_use]
    pub fn of_step(world: &World, state: &State, action: &Action) -> Trace {
        let world = &world.concrete();
        Recorder::new(world, state.clone()).record(std::slice::from_ref(action), None)
    }

    /// Returns the world that the trace tells of.
    ///
    /// # Errors
    /// If the trace is of another protocol, its rules are not the protocol's, or its scenario is
    /// contradictory.
    pub fn world<P: Protocol>(&self) -> Result<World, TraceError> {
        self.world_of(&ProtocolEntry::<P>::NEW)
    }

    /// Returns the world that the trace tells of, where the types of the protocol are not known.
    ///
    /// # Errors
    /// As [`Trace::world`].
    pub fn world_of(&self, protocol: &dyn AnyProtocol) -> Result<World, TraceError> {
        if self.header.protocol != protocol.name() {
            return Err(TraceError::Protocol { found: self.header.protocol.clone() });
        }
        let rules = protocol.read(&self.header.rules);
        let wrong = |e| TraceError::Header { reason: self.wrong_rule(protocol, &e) };
        World::of(rules.map_err(wrong)?, self.header.world)
            .map_err(|e| TraceError::Header { reason: e.to_string() })
    }

    /// What is wrong with the rules: of which the value alone is refused, or what the parser says.
    fn wrong_rule(&self, protocol: &dyn AnyProtocol, error: &serde_json::Error) -> String {
        let given = self.header.rules.as_object().into_iter().flatten();
        let refused = given.into_iter().find_map(|(rule, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            protocol.rules(None, &[(rule.clone(), value)]).err()
        });
        refused.map_or_else(
            || format!("\"rules\": {}", wrong::words(error)),
            |refused| refused.to_string(),
        )
    }

    /// Returns the actions of the [concrete](World::concrete) `world` that the steps tell of.
    ///
    /// # Errors
    /// If the trace begins otherwise than `world`; the first step that is not possible in `world`
    /// where it stands, or in which the model does something else than the trace says.
    pub fn actions(&self, world: &World) -> Result<Vec<Action>, TraceError> {
        let world = &world.concrete();
        let mut actions = Vec::with_capacity(self.steps.len());
        let mut state = world.initial();
        let mut recorder = Recorder::new(world, world.initial());
        let begins = (lifelines(&state), recorder.first_in_flight());
        if begins != (self.header.initial.clone(), self.header.in_flight.clone()) {
            let reason = "at the beginning the processes, or what is in flight, are not those of \
                          the world";
            return Err(TraceError::Header { reason: reason.to_owned() });
        }
        for step in &self.steps {
            let action = action_of(&**world.machine(), step)?;
            let mut enabled = Vec::new();
            world.enabled(&state, &mut enabled);
            if !enabled.contains(&action) {
                let possible = enabled.iter().map(ToString::to_string).collect();
                let action = action.to_string();
                return Err(TraceError::Impossible { step: step.seq, action, possible });
            }
            state = world.apply(&state, &action).state;
            let again = recorder.step(&action);
            if again != *step {
                return Err(TraceError::Differs {
                    step: step.seq,
                    trace: serde_json::to_string(step).unwrap_or_default(),
                    model: serde_json::to_string(&again).unwrap_or_default(),
                });
            }
            actions.push(action);
        }
        Ok(actions)
    }
}

/// Follows an execution, giving each message an id when it is sent.
struct Recorder<'a> {
    world: &'a World,
    state: State,
    incarnations: BTreeMap<Id, u32>,
    ids: Vec<(Envelope, u32)>,
    next_id: u32,
    seq: usize,
}

impl<'a> Recorder<'a> {
    fn new(world: &'a World, state: State) -> Self {
        let ids: Vec<_> = state.in_flight().iter().copied().zip(1..).collect();
        let next_id = ids.last().map_or(1, |(_, id)| id + 1);
        Recorder { world, state, incarnations: BTreeMap::new(), ids, next_id, seq: 0 }
    }

    /// The execution in which `actions` happen, from where this stands.
    fn record(mut self, actions: &[Action], shows: Option<Shows>) -> Trace {
        let machine = self.world.machine();
        let header = Header {
            format: FORMAT.to_owned(),
            fingerprint: fingerprint(&**machine, &self.world.scenario()),
            protocol: machine.protocol().name().to_owned(),
            variant: machine.variant_name(),
            rules: machine.json(),
            world: self.world.scenario(),
            shows,
            initial: lifelines(&self.state),
            in_flight: self.first_in_flight(),
        };
        let mut noted = Noted::default();
        let mut steps = Vec::with_capacity(actions.len());
        for action in actions {
            let before = self.state.clone();
            let step = self.step(action);
            noted.note(&before, &self.state, step.node);
            steps.push(step);
        }
        Trace { header, steps, noted }
    }

    fn first_in_flight(&self) -> Vec<Sent> {
        self.ids.iter().map(|(e, id)| Sent { flight: flight(e, *id), fate: None }).collect()
    }

    fn step(&mut self, action: &Action) -> Step {
        let Outcome { state, actor, effects, .. } = self.world.apply(&self.state, action);
        if let Action::Recover(id) = action {
            *self.incarnations.entry(*id).or_default() += 1;
        }
        let event = self.event(action);
        let sent = match actor {
            Some(from) => self.sent(from, &effects, &state),
            None => Vec::new(),
        };
        // A message can also vanish because its link was cut.
        let alive: HashSet<_> = state.in_flight().iter().collect();
        self.ids.retain(|(e, _)| alive.contains(e));
        let before = lifelines(&self.state);
        let mut changed = lifelines(&state);
        changed.retain(|id, after| before.get(id) != Some(after));
        self.state = state;
        self.seq += 1;
        let node = actor.or(match action {
            Action::Crash(id) | Action::Pause(id) | Action::Resume(id) | Action::Jump(id, _) => {
                Some(*id)
            }
            Action::Deliver(e) => Some(e.to),
            _ => None,
        });
        Step {
            seq: self.seq,
            node,
            incarnation: node.map(|id| self.incarnations.get(&id).copied().unwrap_or(0)),
            event,
            sent,
            armed: timers(&effects, false, armed),
            cancelled: timers(&effects, false, |e| match e {
                Effect::Cancel(timer) | Effect::ArmSince { since: timer, .. } => Some(*timer),
                _ => None,
            }),
            choices: timers(&effects, true, armed),
            changed,
        }
    }

    fn event(&mut self, action: &Action) -> Event {
        match action {
            Action::Deliver(e) => Event::Deliver(self.take(e)),
            Action::Lose(e) => Event::Lose(self.take(e)),
            Action::Duplicate(e) => {
                let copy = self.take(e);
                self.ids.insert(0, (*e, copy.id));
                self.ids.insert(0, (*e, copy.id));
                Event::Duplicate(copy)
            }
            Action::Expire { timer, .. } if timer.is_outcome() => {
                Event::Choose { outcome: value(timer) }
            }
            Action::Expire { timer, early, .. } => {
                Event::Expire { timer: value(timer), early: *early }
            }
            Action::Crash(_) => Event::Crash,
            Action::Recover(_) => Event::Recover,
            Action::Pause(_) => Event::Pause,
            Action::Resume(_) => Event::Resume,
            Action::Cut(a, b, ways) => Event::Cut { link: [*a, *b], one_way: *ways == Ways::One },
            Action::Heal(a, b, ways) => Event::Heal { link: [*a, *b], one_way: *ways == Ways::One },
            Action::Jump(_, by) => Event::Jump { by: *by },
            Action::Tick => Event::Tick,
        }
    }

    /// The oldest message in flight that looks like this one.
    fn take(&mut self, envelope: &Envelope) -> Flight {
        let at = self.ids.iter().position(|(e, _)| e == envelope);
        let id = at.map_or(0, |at| self.ids.remove(at).1);
        flight(envelope, id)
    }

    fn sent(&mut self, from: Id, effects: &[Effect], after: &State) -> Vec<Sent> {
        let mut sent = Vec::new();
        for effect in effects {
            let Effect::Send { to, message } = *effect else { continue };
            let envelope = Envelope { from, to, message };
            let copies = after.in_flight().iter().filter(|e| **e == envelope).count();
            let known = self.ids.iter().filter(|(e, _)| *e == envelope).count();
            let (id, fate) = if !after.connected(from, to) {
                (self.fresh(), Some(Fate::Cut))
            } else if known >= copies {
                let merged = self.ids.iter().find(|(e, _)| *e == envelope);
                (merged.map_or(0, |(_, id)| *id), Some(Fate::Merged))
            } else {
                let id = self.fresh();
                self.ids.push((envelope, id));
                (id, None)
            };
            sent.push(Sent { flight: flight(&envelope, id), fate });
        }
        sent
    }

    fn fresh(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }
}

fn flight(envelope: &Envelope, id: u32) -> Flight {
    Flight { id, from: envelope.from, to: envelope.to, message: value(&envelope.message) }
}

fn armed(effect: &Effect) -> Option<Timer> {
    match effect {
        Effect::Arm(timer) | Effect::ArmSince { timer, .. } => Some(*timer),
        Effect::Persist(_) | Effect::Send { .. } | Effect::Cancel(_) => None,
    }
}

/// What these effects do to timers, or to outcomes, by their names.
fn timers(
    effects: &[Effect],
    outcomes: bool,
    wanted: impl Fn(&Effect) -> Option<Timer>,
) -> Vec<String> {
    let wanted = effects.iter().filter_map(wanted).filter(|timer| timer.is_outcome() == outcomes);
    wanted.map(|timer| timer.plain().to_owned()).collect()
}

fn lifelines(state: &State) -> BTreeMap<u8, Lifeline> {
    state.ids().map(|id| (id.number(), Lifeline::of(state, id))).collect()
}

/// Messages, timers and rules are enumerations and structures without maps: they always have a
/// JSON form.
fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or(Value::Null)
}

fn parsed<T>(value: Result<T, serde_json::Error>, step: usize) -> Result<T, TraceError> {
    value.map_err(|e| TraceError::Step { step, reason: wrong::words(&e) })
}

fn action_of(machine: &dyn DynProtocol, step: &Step) -> Result<Action, TraceError> {
    let node = || {
        let reason = "the step says nothing of the node that acted".to_owned();
        step.node.ok_or(TraceError::Step { step: step.seq, reason })
    };
    let ways = |one_way| if one_way { Ways::One } else { Ways::Both };
    let envelope = |flight: &Flight| {
        let message = parsed(machine.message(&flight.message), step.seq)?;
        Ok(Envelope { from: flight.from, to: flight.to, message })
    };
    Ok(match &step.event {
        Event::Deliver(flight) => Action::Deliver(envelope(flight)?),
        Event::Lose(flight) => Action::Lose(envelope(flight)?),
        Event::Duplicate(flight) => Action::Duplicate(envelope(flight)?),
        Event::Expire { timer, early } => Action::Expire {
            id: node()?,
            timer: parsed(machine.timer(timer), step.seq)?,
            early: *early,
        },
        Event::Choose { outcome } => Action::Expire {
            id: node()?,
            timer: parsed(machine.timer(outcome), step.seq)?,
            early: false,
        },
        Event::Crash => Action::Crash(node()?),
        Event::Recover => Action::Recover(node()?),
        Event::Pause => Action::Pause(node()?),
        Event::Resume => Action::Resume(node()?),
        Event::Cut { link: [a, b], one_way } => Action::Cut(*a, *b, ways(*one_way)),
        Event::Heal { link: [a, b], one_way } => Action::Heal(*a, *b, ways(*one_way)),
        Event::Jump { by } => Action::Jump(node()?, *by),
        Event::Tick => Action::Tick,
    })
}

/// The model's fingerprint: two models with one fingerprint read each other's traces.
fn fingerprint(machine: &dyn DynProtocol, scenario: &Scenario) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let identity =
        serde_json::json!([version, machine.protocol().name(), machine.json(), scenario]);
    let hasher = BuildHasherDefault::<rustc_hash::FxHasher>::default();
    format!("{:016x}", hasher.hash_one(identity.to_string()))
}

/// Tells what happens in a step and what every process is afterwards, for the Explorer.
pub fn describe(world: &World, state: &State, action: &Action) -> String {
    let Outcome { state: after, actor, effects, .. } = world.apply(state, action);
    let mut lines = vec![action.to_string()];
    for effect in &effects {
        let actor = actor.map_or_else(String::new, |id| id.to_string());
        lines.push(match effect {
            Effect::Persist(value) => format!("  {actor} writes {value:?}"),
            Effect::Send { to, message } => format!("  {actor} sends {} to {to}", message.label()),
            Effect::Arm(timer) if timer.is_outcome() => {
                format!("  {actor} may choose {}", timer.plain())
            }
            Effect::Cancel(timer) if timer.is_outcome() => {
                format!("  {actor} no longer may choose {}", timer.plain())
            }
            Effect::Arm(timer) => format!("  {actor} arms its {} timer", timer.plain()),
            Effect::ArmSince { timer, since } => {
                let (timer, since) = (timer.plain(), since.plain());
                format!("  {actor} arms its {timer} timer since it armed {since}")
            }
            Effect::Cancel(timer) => format!("  {actor} cancels its {} timer", timer.plain()),
        });
    }
    format!("{}\n\n{after:?}", lines.join("\n"))
}

impl Noted {
    /// Notes the next step, in which a process acted, if one did.
    fn note(&mut self, before: &State, after: &State, node: Option<Id>) {
        let mut changed = Vec::new();
        if let Some(id) = node.filter(|&id| before.up(id) && after.up(id)) {
            differ("", before.process(id).json(), after.process(id).json(), &mut changed);
            differ("stored", before.stable(id).json(), after.stable(id).json(), &mut changed);
        }
        self.0.push(changed);
    }
}

/// Collects where two values differ, in the parts of structures by their names.
fn differ(name: &str, before: &Value, after: &Value, changed: &mut Vec<Variable>) {
    if before == after {
        return;
    }
    if let (Value::Object(was), Value::Object(is)) = (before, after)
        && was.len() == is.len()
        && was.keys().all(|key| is.contains_key(key))
    {
        for (key, before) in was {
            let part = key.replace(['-', '_'], " ");
            let part = if name.is_empty() { part } else { format!("{name} {part}") };
            differ(&part, before, is.get(key).unwrap_or(&Value::Null), changed);
        }
        return;
    }
    let name = name.to_owned();
    changed.push(Variable { name, before: told(before), after: told(after) });
}

/// A value in words; of a list, its items.
fn told(value: &Value) -> String {
    match value {
        Value::Array(all) if all.is_empty() => "none".to_owned(),
        Value::Array(all) => all.iter().map(told).collect::<Vec<_>>().join(", "),
        other => plain_value(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{differ, told};
    use serde_json::json;

    #[test]
    fn a_set_that_grows_and_a_part_that_changes_are_told_by_name() {
        let before = json!({ "role": "candidate", "granted": [2], "out_box": { "left": 3 } });
        let after = json!({ "role": "candidate", "granted": [2, 3], "out_box": { "left": null } });
        let mut changed = Vec::new();
        differ("", &before, &after, &mut changed);
        let changes: Vec<String> = changed
            .iter()
            .map(|one| format!("{}: {} → {}", one.name, one.before, one.after))
            .collect();
        assert_eq!(changes, ["granted: 2 → 2, 3", "out box left: 3 → none"]);
        changed.clear();
        differ("", &before, &before, &mut changed);
        assert!(changed.is_empty());
        assert_eq!(told(&json!([])), "none");
    }
}
