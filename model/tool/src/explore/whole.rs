//! A whole world in one HTML file: every state, every step between states, and what each step
//! does, so that a page without a server can walk through all of it.

use super::moment::{moment, value};
use super::{AskedProperty, PAGE, PLACE, asked, in_a_page};
use crate::report::{story, words};
use bellwether_engine::property::Property;
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{Event, Fate, Flight, Sent, Trace, label_of};
use bellwether_engine::world::{Action, Condition, Faults, State, World};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What reads a whole world in the page.
const SCRIPT: &str = include_str!("whole.js");

/// A world has too many states to be put into a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the world has more than {most} states")]
pub struct TooMany {
    /// The largest number of states.
    pub most: usize,
}

/// Every state of a world, as a page shows it.
pub struct Whole {
    title: String,
    scenario: String,
    rules: Value,
    budgets: Faults,
    timed: bool,
    renames: bool,
    properties: Vec<AskedProperty>,
    shared: Shared,
    states: Vec<Place>,
}

/// A state in the table: its moment, the steps that may happen next, and the states to which they
/// lead; nothing if such a state is beyond the bounds of the search.
type Place = (usize, Vec<usize>, Vec<Option<usize>>);

/// What the page reads.
#[derive(Serialize)]
struct Written<'a, V> {
    title: &'a str,
    scenario: &'a str,
    rules: &'a Value,
    budgets: Faults,
    timed: bool,
    renames: bool,
    properties: &'a [AskedProperty],
    verdicts: &'a V,
    shapes: &'a [Vec<String>],
    values: &'a RawValue,
    states: &'a [Place],
}

/// A step, as the page tells and draws it.
#[derive(Debug, PartialEq, Serialize)]
struct Drawn {
    /// What happens, in a sentence or two.
    told: String,
    /// The kind of what happens, as in traces.
    kind: Value,
    /// The process that acts, or to which it happens.
    node: Option<Id>,
    /// What happens, in words that stand beside a lifeline; of what happens to a message, nothing.
    mark: String,
    /// The message to which it happens.
    message: Option<Arrow>,
    /// The ends of a link to which it happens.
    link: Option<[Id; 2]>,
    sent: Vec<Arrow>,
    /// The messages in flight that a symmetry calls otherwise afterwards.
    renamed: Vec<Renamed>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Arrow {
    from: Id,
    to: Id,
    label: String,
    /// What becomes of it at once, if it is not in flight.
    fate: Option<Fate>,
}

/// A message that is called otherwise after a step.
#[derive(Debug, PartialEq, Serialize)]
struct Renamed {
    from: Id,
    to: Id,
    was: String,
    is: String,
}

impl Whole {
    /// Returns every state of `world` within the bounds of a search, if there are at most `most`.
    ///
    /// # Errors
    /// If there are more.
    pub fn of(world: &World, properties: &[Property], most: usize) -> Result<Whole, TooMany> {
        let mut conditions = Vec::new();
        let properties = properties.iter().map(|one| asked(one, &mut conditions)).collect();
        let mut shared = Shared::default();
        let mut found = Found::new(world, most);
        let mut states = Vec::new();
        while let Some(state) = found.states.get(states.len()).cloned() {
            states.push(place(world, &state, &conditions, &mut shared, &mut found)?);
        }
        let (machine, scenario) = (world.machine(), world.scenario());
        Ok(Whole {
            title: format!("{}, variant {}", machine.protocol().name(), machine.variant_name()),
            scenario: scenario.to_string(),
            rules: machine.json(),
            budgets: scenario.faults,
            timed: scenario.timing.timed().is_some(),
            renames: world.canonicalizes(),
            properties,
            shared,
            states,
        })
    }

    /// Returns the number of states.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// Returns the number of steps between them.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.states.iter().map(|(_, _, targets)| targets.iter().flatten().count()).sum()
    }

    /// Returns the world as one HTML file, with the verdicts that the page shows.
    #[must_use]
    pub fn html(&self, verdicts: &impl Serialize) -> String {
        let values = RawValue::from_string(self.shared.json()).unwrap_or_default();
        let Whole { title, scenario, rules, properties, .. } = self;
        let written = Written {
            title,
            scenario,
            rules,
            budgets: self.budgets,
            timed: self.timed,
            renames: self.renames,
            properties,
            verdicts,
            shapes: self.shared.shapes(),
            values: &values,
            states: &self.states,
        };
        let json = in_a_page(&written);
        let place = format!(
            "{PLACE}\n<script type=\"application/json\" id=\"whole\">{json}</script>\n\
             <script>\n{SCRIPT}</script>"
        );
        PAGE.replacen(PLACE, &place, 1)
    }
}

/// The states that were found, in the order in which they were.
struct Found {
    states: Vec<State>,
    places: FxHashMap<State, usize>,
    most: usize,
}

impl Found {
    fn new(world: &World, most: usize) -> Found {
        let initial = world.initial();
        let places = FxHashMap::from_iter([(initial.clone(), 0)]);
        Found { states: vec![initial], places, most }
    }

    fn place(&mut self, state: State) -> Result<usize, TooMany> {
        if let Some(&place) = self.places.get(&state) {
            return Ok(place);
        }
        let place = self.states.len();
        if place >= self.most {
            return Err(TooMany { most: self.most });
        }
        self.states.push(state.clone());
        self.places.insert(state, place);
        Ok(place)
    }
}

fn place(
    world: &World,
    state: &State,
    conditions: &[Condition],
    shared: &mut Shared,
    found: &mut Found,
) -> Result<Place, TooMany> {
    let moment = moment(world, state, None, conditions);
    let (mut steps, mut targets) = (Vec::new(), Vec::new());
    for action in world.actions(state) {
        let after = world.apply(state, &action).state;
        steps.push(shared.put(&drawn(world, state, &action, &after)));
        let within = world.within_bounds(&after);
        targets.push(if within { Some(found.place(after)?) } else { None });
    }
    Ok((shared.put(&moment), steps, targets))
}

fn drawn(world: &World, state: &State, action: &Action, after: &State) -> Drawn {
    let trace = Trace::of_step(world, state, action);
    let step = &trace.steps[0];
    let arrow = |flight: &Flight, fate| Arrow {
        from: flight.from,
        to: flight.to,
        label: label_of(&flight.message),
        fate,
    };
    let mark = match &step.event {
        Event::Cut { .. } => "is cut".to_owned(),
        Event::Heal { .. } => "heals".to_owned(),
        Event::Tick => "a tick".to_owned(),
        Event::Expire { early: true, .. } => {
            words::happens(&step.event).unwrap_or_default() + " too early"
        }
        event => words::happens(event).unwrap_or_default(),
    };
    let message = match &step.event {
        Event::Deliver(flight) | Event::Lose(flight) | Event::Duplicate(flight) => {
            Some(arrow(flight, None))
        }
        _ => None,
    };
    let link = match &step.event {
        Event::Cut { link, .. } | Event::Heal { link, .. } => Some(*link),
        _ => None,
    };
    Drawn {
        told: story::sentences(&trace).concat(),
        kind: value(&step.event)["kind"].clone(),
        node: step.node,
        mark,
        message,
        link,
        sent: step.sent.iter().map(|Sent { flight, fate }| arrow(flight, *fate)).collect(),
        renamed: renamed(world, state, action, after),
    }
}

/// The messages in flight that are called otherwise `after` a step than by the processes.
fn renamed(world: &World, state: &State, action: &Action, after: &State) -> Vec<Renamed> {
    if !world.canonicalizes() {
        return Vec::new();
    }
    // A symmetry changes names, and no places.
    let before = world.concrete().apply(state, action).state;
    let all = before.in_flight().iter().zip(after.in_flight());
    let all = all.map(|(was, is)| Renamed {
        from: is.from,
        to: is.to,
        was: was.message.label(),
        is: is.message.label(),
    });
    all.filter(|one| one.was != one.is).collect()
}

/// A table of values in JSON, each with the numbers of its parts.
///
/// Each value stands there once, whatever it is a part of: states differ in few of their parts, so
/// a table of a thousand states is hardly larger than one of some hundred.
///
/// A value without parts stands as it is. A list is `[0, part, ...]`, and an object is `[n, part,
/// ...]`, where the shape `n`, counted from 1, has the names of the parts. Parts stand before what
/// they are parts of.
#[derive(Default)]
struct Shared {
    shapes: Vec<Vec<String>>,
    values: Vec<String>,
    known_shapes: FxHashMap<Vec<String>, usize>,
    known: FxHashMap<String, usize>,
}

impl Shared {
    /// Returns the number of a value, which is put into the table if it is not there.
    fn put(&mut self, value: &impl Serialize) -> usize {
        // What is shown is made of strings and numbers: it always has a JSON form.
        self.place(&serde_json::to_value(value).unwrap_or(Value::Null))
    }

    fn place(&mut self, value: &Value) -> usize {
        let text = match value {
            Value::Array(parts) => {
                let parts: Vec<usize> = parts.iter().map(|part| self.place(part)).collect();
                with_parts(0, &parts)
            }
            Value::Object(fields) => {
                let shape = self.shape(fields.keys().cloned().collect());
                let parts: Vec<usize> = fields.values().map(|part| self.place(part)).collect();
                with_parts(shape, &parts)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        };
        if let Some(&place) = self.known.get(&text) {
            return place;
        }
        let place = self.values.len();
        self.values.push(text.clone());
        self.known.insert(text, place);
        place
    }

    /// The number of a shape, from 1.
    fn shape(&mut self, names: Vec<String>) -> usize {
        if let Some(&shape) = self.known_shapes.get(&names) {
            return shape;
        }
        self.shapes.push(names.clone());
        self.known_shapes.insert(names, self.shapes.len());
        self.shapes.len()
    }

    /// Returns the names of the parts of objects, by the number of their shape.
    fn shapes(&self) -> &[Vec<String>] {
        &self.shapes
    }

    /// Returns the table in JSON.
    fn json(&self) -> String {
        format!("[{}]", self.values.join(","))
    }
}

fn with_parts(shape: usize, parts: &[usize]) -> String {
    let parts: String = parts.iter().map(|part| format!(",{part}")).collect();
    format!("[{shape}{parts}]")
}

#[cfg(test)]
mod tests {
    use super::Shared;
    use serde_json::{Value, json};

    /// Reads a table as the page does.
    fn read(shared: &Shared) -> Vec<Value> {
        let table: Vec<Value> = serde_json::from_str(&shared.json()).expect("JSON");
        let mut read: Vec<Value> = Vec::new();
        for entry in table {
            let value = match entry {
                Value::Array(numbers) => {
                    let numbers = numbers.iter().map(|n| n.as_u64().expect("a number") as usize);
                    let numbers: Vec<usize> = numbers.collect();
                    let parts = numbers[1..].iter().map(|&at| read[at].clone());
                    match numbers[0] {
                        0 => Value::Array(parts.collect()),
                        shape => {
                            let names = shared.shapes()[shape - 1].iter().cloned();
                            Value::Object(names.zip(parts).collect())
                        }
                    }
                }
                leaf => leaf,
            };
            read.push(value);
        }
        read
    }

    #[test]
    fn what_is_put_is_read_again_and_stands_once() {
        let mut shared = Shared::default();
        let values = [
            json!({ "id": 1, "timers": ["watch"], "leader": null }),
            json!({ "id": 2, "timers": ["watch"], "leader": 1 }),
            json!([]),
            json!({}),
            json!("[0,1]"),
            json!([[1, 2], { "id": 1, "timers": [], "leader": null }]),
        ];
        let places = values.each_ref().map(|value| shared.put(value));
        let table = read(&shared);
        for (place, value) in places.iter().zip(&values) {
            assert_eq!(table[*place], *value);
        }
        let before = table.len();
        assert_eq!(values.each_ref().map(|value| shared.put(value)), places);
        assert_eq!(read(&shared).len(), before);
        for (at, value) in table.iter().enumerate() {
            assert!(!table[..at].contains(value), "{value} stands twice");
        }
    }
}
