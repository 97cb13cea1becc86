//! What walks have met.

use super::kind::{Kind, concerned};
use crate::protocol::{self, Values};
use crate::trace::DOWN;
use crate::world::{Action, State, World};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;

/// The coverage of walks: how often each kind of action happened to a process in each role, and
/// which rules decided a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The number of times that each kind of action happened to a process in each role.
    pub taken: Taken,
    /// The number of walks that looked in which each rule decided a step: one of its other values
    /// would have made it another one. Only rules that have another value are listed.
    pub rules: BTreeMap<String, u64>,
    /// The number of walks that looked which rules decide.
    pub looked: u64,
}

/// The number of times that each kind of action happened to a process in each role. What happens to
/// a link or to all has no role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken(BTreeMap<(Kind, Option<&'static str>), u64>);

impl Taken {
    /// Returns how often the kind happened to a process in this role; `None`: to a link, or to all.
    #[must_use]
    pub fn of(&self, kind: Kind, role: Option<&str>) -> u64 {
        let same = |(known, its): &(Kind, Option<&'static str>)| *known == kind && *its == role;
        self.0.iter().filter(|(key, _)| same(key)).map(|(_, count)| count).sum()
    }

    /// Returns the kinds that happened, in their order.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<_> = self.0.keys().map(|&(kind, _)| kind).collect();
        kinds.dedup();
        kinds
    }

    /// Returns the roles in which something happened to a process, by name; the links at the end.
    #[must_use]
    pub fn roles(&self) -> Vec<Option<&'static str>> {
        let mut roles: Vec<_> = self.0.keys().map(|&(_, role)| role).collect();
        roles.sort_unstable_by_key(|role| (role.is_none(), *role));
        roles.dedup();
        roles
    }

    /// Returns the number of steps in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    pub(super) fn record(&mut self, state: &State, action: &Action) {
        let role =
            concerned(action).map(|id| if state.up(id) { state.process(id).role() } else { DOWN });
        *self.0.entry((Kind::of(action), role)).or_default() += 1;
    }

    fn add(&mut self, other: Taken) {
        for (key, count) in other.0 {
            *self.0.entry(key).or_default() += count;
        }
    }
}

impl Serialize for Taken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = self.kinds();
        let mut map = serializer.serialize_map(Some(kinds.len()))?;
        for kind in kinds {
            let with = |&role: &Option<&'static str>| {
                let count = self.of(kind, role);
                (count > 0).then(|| (role.unwrap_or("link"), count))
            };
            let roles: BTreeMap<_, _> = self.roles().iter().filter_map(with).collect();
            map.serialize_entry(kind.name(), &roles)?;
        }
        map.end()
    }
}

impl Coverage {
    /// Adds what other walks have met.
    pub fn add(&mut self, other: Coverage) {
        self.taken.add(other.taken);
        self.looked += other.looked;
        for (rule, walks) in other.rules {
            *self.rules.entry(rule).or_default() += walks;
        }
    }

    /// Returns the rules that decided no step of the walks that looked.
    #[must_use]
    pub fn rules_not_met(&self) -> Vec<&str> {
        self.rules.iter().filter(|(_, walks)| **walks == 0).map(|(rule, _)| &**rule).collect()
    }
}

/// The same world by other rules: each of its rules with each other value.
pub(crate) struct Rules(Vec<(String, Vec<World>)>);

impl Rules {
    /// Of a world. A value that does not fit the world is left out, and so is a rule whose values
    /// cannot be listed.
    pub(crate) fn of(world: &World) -> Rules {
        let other = |rule: &protocol::Rule| {
            let value = |value: &str| {
                let rules = world.machine().with_rule(&rule.name, value).ok()?;
                let differs = !rules.equals(&**world.machine());
                World::of(rules, world.scenario()).ok().filter(|_| differs)
            };
            let worlds: Vec<_> = match &rule.values {
                Values::Truth => ["true", "false"].into_iter().filter_map(value).collect(),
                Values::Names(names) => names.iter().filter_map(|(name, _)| value(name)).collect(),
                Values::Other(_) => Vec::new(),
            };
            (!worlds.is_empty()).then(|| (rule.name.clone(), worlds))
        };
        let rules = world.machine().protocol().rule_rows();
        Rules(rules.iter().filter_map(other).collect())
    }

    /// The names, none met.
    pub(crate) fn none_met(&self) -> BTreeMap<String, u64> {
        let mut none_met = BTreeMap::new();
        none_met.extend(self.0.iter().map(|(rule, _)| (rule.clone(), 0)));
        none_met
    }

    /// Notes the rules that are not met yet by which `action` would lead from `before` somewhere
    /// else than to `after`.
    pub(super) fn record(
        &self,
        (before, action, after): (&State, &Action, &State),
        met: &mut BTreeMap<String, u64>,
    ) {
        for (rule, worlds) in &self.0 {
            let Some(walks) = met.get_mut(rule).filter(|walks| **walks == 0) else { continue };
            let differs = |world: &World| {
                can_go_on(world, before) && world.apply(before, action).state != *after
            };
            *walks = u64::from(worlds.iter().any(differs));
        }
    }
}

/// Whether a world by other rules can go on from this state: every clock that runs is one of its
/// own. Otherwise the step that started the clock was another one already.
fn can_go_on(world: &World, state: &State) -> bool {
    let known =
        |id| state.armed(id).all(|timer| world.machine().timers_of(id)[timer.place()].armed);
    state.times.is_none() || state.ids().all(known)
}
