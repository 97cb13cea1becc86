//! What kinds of transitions a suite takes.

use crate::coverage::about;
use bellwether_engine::trace::DOWN;
use bellwether_engine::world::swarm::{Kind, concerned};
use bellwether_engine::world::{Action, State};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// Transitions of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Met {
    /// The kind of the action.
    pub action: &'static str,
    /// The kind of the message, or the timer, if the action has one.
    pub of: Option<String>,
    /// The role before the step of the process to which it happens, if it happens to one.
    pub role: Option<&'static str>,
    /// The number of transitions.
    pub transitions: u64,
}

/// Counts transitions, by the number of the action and the role.
#[derive(Default)]
pub(super) struct Tally(FxHashMap<(u32, Option<&'static str>), u64>);

impl Tally {
    /// One more transition: an action, with its number, in a state.
    pub(super) fn count(&mut self, state: &State, (number, action): (u32, &Action)) {
        let role = |id| if state.up(id) { state.process(id).role() } else { DOWN };
        *self.0.entry((number, concerned(action).map(role))).or_default() += 1;
    }

    /// What was counted, by kinds, where these are the actions.
    pub(super) fn met(self, actions: &[Action]) -> Vec<Met> {
        let mut kinds = BTreeMap::new();
        for ((number, role), count) in self.0 {
            let action = &actions[number as usize];
            *kinds.entry((Kind::of(action), about(action), role)).or_default() += count;
        }
        let met = |((kind, of, role), transitions): ((Kind, _, _), _)| Met {
            action: kind.name(),
            of,
            role,
            transitions,
        };
        kinds.into_iter().map(met).collect()
    }
}
