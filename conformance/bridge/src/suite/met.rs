//! What kinds of transitions a suite takes.

use crate::coverage::about;
use bellwether_engine::trace::DOWN;
use bellwether_engine::world::swarm::{Kind, concerned};
use bellwether_engine::world::{Action, Outcome, State, World};
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
    /// Whether that process then does something, or becomes another than it was.
    pub acts: bool,
    /// The number of transitions.
    pub transitions: u64,
}

/// Counts transitions, by the number of the action, the role, and whether the process acts.
#[derive(Default)]
pub(super) struct Tally(FxHashMap<(u32, Option<&'static str>, bool), u64>);

impl Tally {
    /// One more transition: an action, with its number, in a state of this world.
    pub(super) fn count(&mut self, world: &World, state: &State, (number, action): (u32, &Action)) {
        let role = |id| if state.up(id) { state.process(id).role() } else { DOWN };
        let concerned = concerned(action);
        let acts = concerned.is_some_and(|id| {
            let Outcome { state: after, actor, effects } = world.apply(state, action);
            let does = actor == Some(id) && !effects.is_empty();
            does || after.up(id) != state.up(id) || after.process(id) != state.process(id)
        });
        *self.0.entry((number, concerned.map(role), acts)).or_default() += 1;
    }

    /// What was counted, by kinds, where these are the actions.
    pub(super) fn met(self, actions: &[Action]) -> Vec<Met> {
        let mut kinds = BTreeMap::new();
        for ((number, role, acts), count) in self.0 {
            let action = &actions[number as usize];
            *kinds.entry((Kind::of(action), about(action), role, acts)).or_default() += count;
        }
        let met = |((kind, of, role, acts), transitions): ((Kind, _, _, _), _)| Met {
            action: kind.name(),
            of,
            role,
            acts,
            transitions,
        };
        kinds.into_iter().map(met).collect()
    }
}
