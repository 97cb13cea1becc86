//! What grows from level to level of a search, and so keeps it from ending: the messages on a link,
//! or a number that a process knows.
//!
//! A few states of a level are looked at. They are as deep as any, so what fills them is what the
//! search goes on with. What is told was seen in three levels: at the beginning, about half as
//! deep, and in the last one.

use crate::protocol::Id;
use crate::world::{State, Symmetry, World};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The number of messages on a link from which on it is worth a word.
const MANY: u64 = 4;

/// How much larger than at the beginning a number is that grows. The ids of processes are smaller.
const LARGER: u64 = 8;

/// The first level at which a search tells what grows; it does so again when it is twice as deep.
const TOLD: usize = 200;

/// What grows from level to level of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// The thing that grows.
    #[serde(flatten)]
    pub what: Growing,
    /// The level in which it was seen last, the initial state being 0.
    pub level: usize,
    /// How many or how large it is there.
    pub number: u64,
    /// The level in which it was seen before.
    pub level_before: usize,
    /// How many or how large it was there.
    pub number_before: u64,
    /// What to do about it.
    pub remedy: &'static str,
}

/// A thing that grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "grows", rename_all = "kebab-case")]
pub enum Growing {
    /// The messages on a link.
    Link {
        /// The sender.
        from: Id,
        /// The receiver.
        to: Id,
        /// The kind of which most messages on it are.
        message: String,
        /// How many of them are.
        of_it: u64,
    },
    /// A number that a process knows, or the length of a list.
    Number {
        /// The process.
        process: Id,
        /// Which number of its variables, and behind `stored` of its stable storage.
        variable: String,
    },
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Growth { level, number, level_before, number_before, remedy, .. } = self;
        match &self.what {
            Growing::Link { from, to, message, of_it } if of_it == number => {
                write!(f, "{from} -> {to} holds {number} {message}")?;
            }
            Growing::Link { from, to, message, of_it } => {
                write!(f, "{from} -> {to} holds {number} messages, {of_it} of them {message},")?;
            }
            Growing::Number { process, variable } => {
                write!(f, "'{variable}' of {process} only grows: it is {number}")?;
            }
        }
        write!(f, " after {level} levels, and {number_before} after {level_before}: {remedy}")
    }
}

/// What was seen of the levels of a search.
#[derive(Default)]
pub(super) struct Observed {
    levels: Vec<(usize, Vec<State>)>,
    /// The level at which something was told last.
    told: usize,
}

impl Observed {
    /// Notes states of a level, deeper than those before.
    pub(super) fn note(&mut self, level: usize, states: Vec<State>) {
        self.levels.push((level, states));
    }

    /// Whether it is time to tell what grows.
    pub(super) fn is_due(&mut self) -> bool {
        let level = self.levels.last().map_or(0, |(level, _)| *level);
        let due = level >= TOLD && level >= 2 * self.told;
        if due {
            self.told = level;
        }
        due
    }

    /// What grows: the fullest link that does, and the largest number that does.
    pub(super) fn growth(&self, world: &World) -> Vec<Growth> {
        let Some(((level, last), before)) = self.levels.split_last() else { return Vec::new() };
        let half = before.iter().min_by_key(|(other, _)| other.abs_diff(level / 2));
        let Some((level_before, half)) = half else { return Vec::new() };
        let first = [world.initial()];
        let mut growth = Vec::new();
        let (now, then, begun) = (links(last), links(half), links(&first));
        let more = |(link, count): &(&Link, &u64)| {
            let (then, begun) = (most(&then, link), most(&begun, link));
            **count >= MANY && **count > then && then >= begun
        };
        if let Some((&(from, to), &number)) = now.iter().filter(more).max_by_key(|(_, n)| **n) {
            let (message, of_it) = kind(last, from, to);
            let number_before = most(&then, &(from, to));
            growth.push(Growth {
                what: Growing::Link { from, to, message, of_it },
                level: *level,
                number,
                level_before: *level_before,
                number_before,
                remedy: remedy_of_links(world),
            });
        }
        let (now, then, begun) = (numbers(last), numbers(half), numbers(&first));
        let grows = |(name, number): &(&Variable, &u64)| {
            let (then, begun) = (most(&then, name), most(&begun, name));
            **number > then && then > begun && **number >= begun + LARGER
        };
        if let Some((name, &number)) = now.iter().filter(grows).max_by_key(|(_, n)| **n) {
            let (process, variable) = name.clone();
            growth.push(Growth {
                what: Growing::Number { process, variable },
                level: *level,
                number,
                level_before: *level_before,
                number_before: most(&then, name),
                remedy: remedy_of_numbers(world),
            });
        }
        growth
    }
}

fn remedy_of_links(world: &World) -> &'static str {
    match world.scenario().capacity {
        None => "add --capacity K, and states with fuller links are not searched",
        Some(_) => "give a smaller --capacity",
    }
}

fn remedy_of_numbers(world: &World) -> &'static str {
    let canonicalizes = world.machine().protocol().canonicalizes();
    if canonicalizes && world.scenario().symmetry == Symmetry::Concrete {
        "leave --symmetry concrete out"
    } else {
        "no flag bounds it; choose rules that do, or read what holds as far as was searched"
    }
}

/// The sender and the receiver.
type Link = (Id, Id);

/// A number of a process, by its name.
type Variable = (Id, String);

fn most<K: Ord>(of: &BTreeMap<K, u64>, name: &K) -> u64 {
    of.get(name).copied().unwrap_or(0)
}

/// Keeps the larger of two numbers of one name.
fn keep<K: Ord>(all: &mut BTreeMap<K, u64>, name: K, number: u64) {
    let known = all.entry(name).or_default();
    *known = number.max(*known);
}

/// How many messages each link holds at most in one of these states.
fn links(states: &[State]) -> BTreeMap<Link, u64> {
    let mut all = BTreeMap::new();
    for state in states {
        let mut counts = BTreeMap::<Link, u64>::new();
        for message in state.in_flight() {
            *counts.entry((message.from, message.to)).or_default() += 1;
        }
        for (link, count) in counts {
            keep(&mut all, link, count);
        }
    }
    all
}

/// Of which kind most messages are on this link, in the state in which it holds the most, and how
/// many of them are.
fn kind(states: &[State], from: Id, to: Id) -> (String, u64) {
    let on_it =
        |state: &&State| state.in_flight().iter().filter(|e| (e.from, e.to) == (from, to)).count();
    let Some(fullest) = states.iter().max_by_key(on_it) else { return (String::new(), 0) };
    let mut kinds = BTreeMap::<String, u64>::new();
    for message in fullest.in_flight().iter().filter(|e| (e.from, e.to) == (from, to)) {
        // The name without what stands in brackets behind it.
        let label = message.message.label();
        let name = label.split(['(', ' ']).next().unwrap_or_default();
        *kinds.entry(name.to_owned()).or_default() += 1;
    }
    kinds.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default()
}

/// The largest value of each number that a process knows or has stored in one of these states.
fn numbers(states: &[State]) -> BTreeMap<Variable, u64> {
    let mut all = BTreeMap::new();
    for state in states {
        for id in state.ids() {
            let known = serde_json::to_value(state.process(id)).unwrap_or_default();
            let stored = serde_json::to_value(state.stable(id)).unwrap_or_default();
            for (name, value) in [("", &known), ("stored", &stored)] {
                each_number(name, value, &mut |name, number| {
                    keep(&mut all, (id, name.to_owned()), number);
                });
            }
        }
    }
    all
}

/// Finds the numbers in a value, each with its name, and the lengths of the lists.
fn each_number(name: &str, value: &Value, each: &mut dyn FnMut(&str, u64)) {
    match value {
        Value::Number(number) => {
            if let Some(number) = number.as_u64() {
                each(if name.is_empty() { "state" } else { name }, number);
            }
        }
        Value::Array(all) => each(&format!("length of {name}"), all.len() as u64),
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                each_number(&format!("{name}{dot}{field}"), value, each);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Growing, Growth, each_number};
    use crate::protocol::Id;
    use serde_json::json;

    #[test]
    fn numbers_are_found_by_their_names() {
        let role = json!({ "of": { "round": 5 } });
        let value = json!({ "term": 3, "log": [1, 2], "vote": null, "role": role });
        let mut found = Vec::new();
        each_number("", &value, &mut |name, number| found.push((name.to_owned(), number)));
        found.sort();
        let expected = [("length of log", 2_u64), ("role.of.round", 5), ("term", 3)];
        assert_eq!(found, expected.map(|(name, number)| (name.to_owned(), number)));
    }

    #[test]
    fn what_grows_is_told_in_a_sentence() {
        let [from, to] = [Id::at(0), Id::at(1)];
        let link = |of_it| Growth {
            what: Growing::Link { from, to, message: "LEAD".to_owned(), of_it },
            level: 200,
            number: 180,
            level_before: 100,
            number_before: 90,
            remedy: "add --capacity K",
        };
        let told = "1 -> 2 holds 180 LEAD after 200 levels, and 90 after 100: add --capacity K";
        assert_eq!(link(180).to_string(), told);
        let told = "1 -> 2 holds 180 messages, 100 of them LEAD, after 200 levels";
        assert!(link(100).to_string().starts_with(told), "{}", link(100));
        let variable = "term".to_owned();
        let number = Growth { what: Growing::Number { process: to, variable }, ..link(0) };
        let told = "'term' of 2 only grows: it is 180 after 200 levels, and 90 after 100: ";
        assert!(number.to_string().starts_with(told), "{number}");
        let json = serde_json::to_value(&number).expect("JSON");
        assert_eq!((&json["grows"], &json["process"]), (&json!("number"), &json!(2)));
    }
}
