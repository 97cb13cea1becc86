//! What the processes of a world know and store, as far as a few executions show it: names of
//! fields, words, and kinds of values.

use crate::trace::DOWN;
use crate::world::swarm::random::Random;
use crate::world::{Scenario, State, World};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The kinds that a value may have, a bit each.
pub(super) type Kinds = u8;

pub(super) const TRUTH: Kinds = 1;
pub(super) const NUMBER: Kinds = 2;
pub(super) const WORD: Kinds = 4;
pub(super) const LIST: Kinds = 8;
pub(super) const RECORD: Kinds = 16;
pub(super) const NOTHING: Kinds = 32;

/// The kinds in words.
pub(super) fn words(kinds: Kinds) -> String {
    let names = [
        (TRUTH, "true or false"),
        (NUMBER, "a number or a process"),
        (WORD, "a word"),
        (LIST, "a list"),
        (RECORD, "a record with fields"),
    ];
    let names = names.into_iter().filter(|(kind, _)| kinds & kind != 0).map(|(_, name)| name);
    let names: Vec<_> = names.collect();
    if names.is_empty() { "always none".to_owned() } else { names.join(" or ") }
}

/// How many executions are looked at, and how many steps of each.
const WALKS: u64 = 60;
const STEPS: usize = 100;

/// What is known of the processes of a world.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// What processes know, and lose in a crash.
    pub(super) own: Shape,
    /// What is on stable storage.
    pub(super) stable: Shape,
    /// The roles of processes.
    pub(super) roles: Shape,
}

/// What values in one place look like.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) kinds: Kinds,
    pub(super) fields: BTreeMap<String, Shape>,
    pub(super) element: Option<Box<Shape>>,
    pub(super) words: BTreeSet<String>,
}

impl Shape {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Null => self.kinds |= NOTHING,
            Value::Bool(_) => self.kinds |= TRUTH,
            Value::Number(_) => self.kinds |= NUMBER,
            Value::String(word) => self.word(word),
            Value::Array(all) => {
                self.kinds |= LIST;
                let element = self.element.get_or_insert_default();
                all.iter().for_each(|one| element.add(one));
            }
            Value::Object(fields) => {
                self.kinds |= RECORD;
                for (name, value) in fields {
                    self.fields.entry(name.clone()).or_default().add(value);
                }
                // One of several words, with data.
                if fields.len() == 1 {
                    self.words.extend(fields.keys().cloned());
                }
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.kinds |= WORD;
        self.words.insert(word.replace(' ', "-"));
    }
}

impl Known {
    /// What is seen in the same executions every time. Where the world has no crashes, one process
    /// crashes and recovers, so that more is seen.
    pub(super) fn of(world: &World) -> Known {
        let Scenario { mut faults, .. } = world.scenario();
        (faults.crashes, faults.recoveries) = (faults.crashes.max(1), faults.recoveries.max(1));
        let scenario = Scenario { faults, ..world.scenario() };
        let richer = World::of(Arc::clone(world.machine()), scenario);
        let world = richer.as_ref().unwrap_or(world);
        let mut known = Known::default();
        known.roles.word(DOWN);
        let mut enabled = Vec::new();
        for walk in 0..WALKS {
            let (mut random, mut state) = (Random::new(0, walk), world.initial());
            known.add(&state);
            for _ in 0..STEPS {
                enabled.clear();
                world.enabled(&state, &mut enabled);
                if enabled.is_empty() {
                    break;
                }
                let action = enabled[random.place(enabled.len())];
                state = world.apply(&state, &action).state;
                known.add(&state);
            }
        }
        known
    }

    fn add(&mut self, state: &State) {
        for id in state.ids() {
            self.stable.add(state.stable(id).json());
            if state.up(id) {
                self.own.add(state.process(id).json());
                self.roles.word(state.process(id).role());
            }
        }
    }

    /// The fields that a process has, what it stores behind what it knows.
    pub(super) fn fields(&self) -> Vec<&str> {
        let stable = self.stable.fields.keys().filter(|name| !self.own.fields.contains_key(*name));
        self.own.fields.keys().chain(stable).map(String::as_str).chain(["stable"]).collect()
    }
}
