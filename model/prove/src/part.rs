//! A part of a protocol that is proved, and what ties its relation to the model: small worlds are
//! searched, and each of their transitions has to be a step of the relation.

use super::relation::{Named, Relation};
use super::structure::{Picture, Step, Structure};
use bellwether_model::check::Cancel;
use bellwether_model::machine::DynProtocol;
use bellwether_model::property::Temporal;
use bellwether_model::protocol::Id;
use bellwether_model::world::{Action, Condition, Scenario, State, World, WorldError};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// A part of a protocol: its relation, and how a state of the model reads in it.
pub struct Part {
    /// What it is called.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// The rules.
    pub rules: Arc<dyn DynProtocol>,
    /// The relation.
    pub relation: Relation,
    /// What is assumed, for every number of processes.
    pub assumes: Vec<&'static str>,
    /// The worlds of which each transition has to be a step.
    pub worlds: Vec<Scenario>,
    /// A state in the words of the relation.
    pub picture: fn(&World, &State) -> Picture,
    /// The symbols that only remember: what held of them holds for ever.
    pub history: &'static [&'static str],
    /// Whether a property of the relation is to imply the model's own of that name.
    pub says_the_same: bool,
}

/// What was compared.
#[derive(Clone, Debug, Default)]
pub struct Tie {
    /// The worlds.
    pub worlds: Vec<Tied>,
    /// How many transitions each action explains, in the order of the actions.
    pub by_action: Vec<u64>,
    /// Whether a signal ended it.
    pub stopped: bool,
}

impl Tie {
    /// How many transitions are steps of the relation.
    #[must_use]
    pub fn transitions(&self) -> u64 {
        self.worlds.iter().map(|world| world.transitions).sum()
    }
}

/// One world that was compared.
#[derive(Clone, Debug)]
pub struct Tied {
    /// The scenario.
    pub scenario: Scenario,
    /// How many states were searched.
    pub states: u64,
    /// How many transitions are steps of the relation.
    pub transitions: u64,
    /// Whether those are all, within the bounds of the search.
    pub whole: bool,
}

/// A transition of the model that is no step of the relation; or a state in which the model begins
/// and the relation does not, or breaks a property that holds in the relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untied {
    /// The scenario, in words.
    pub scenario: String,
    /// What happens, or what is wrong, in words.
    pub happens: String,
    /// The state, or the one before the transition.
    pub before: Structure,
    /// The state after the transition.
    pub after: Option<Structure>,
}

impl Part {
    /// Compares each of the worlds, to so many states.
    ///
    /// # Errors
    /// If a world cannot be.
    pub fn tie(
        &self,
        states: usize,
        cancel: Option<Cancel>,
    ) -> Result<Result<Tie, Box<Untied>>, WorldError> {
        let mut by_action = vec![0; self.relation.actions.len()];
        let mut worlds = Vec::new();
        for &scenario in &self.worlds {
            let mut count = |_: &Transition<'_>, step: &Step| by_action[step.action] += 1;
            match self.compare(scenario, states, cancel, &mut count)? {
                Ok(tied) => worlds.push(tied),
                Err(untied) => return Ok(Err(untied)),
            }
        }
        let stopped = cancel.is_some_and(Cancel::is_due);
        Ok(Ok(Tie { worlds, by_action, stopped }))
    }
}

/// What a [walk](Part::walk) comes to.
pub enum Seen<'a> {
    /// A state.
    State(&'a Structure),
    /// A transition from that state.
    Step(&'a Transition<'a>),
}

/// A transition of a model, in the words of a relation.
pub struct Transition<'a> {
    /// What happens.
    pub happens: &'a str,
    /// The state before.
    pub before: &'a Structure,
    /// The state after.
    pub after: &'a Structure,
}

/// What is given each state and each transition.
pub type See<'a, E> = dyn FnMut(&State, &Seen<'_>) -> Result<(), E> + 'a;

impl Part {
    /// Goes through the states of a world, breadth-first, and gives each state and each transition
    /// from it to `see`, until it fails. The numbers of things are those that processes use, not
    /// those that a search gives them. Returns how many states there were, and whether those were
    /// all.
    ///
    /// # Errors
    /// What `see` says.
    pub fn walk<E>(
        &self,
        world: &World,
        most: usize,
        cancel: Option<Cancel>,
        see: &mut See<'_, E>,
    ) -> Result<(u64, bool), E> {
        let concrete = world.concrete();
        let first = world.initial();
        let mut known: HashSet<State> = HashSet::from([first.clone()]);
        let mut queue = VecDeque::from([first]);
        let mut whole = true;
        let mut enabled: Vec<Action> = Vec::new();
        while let Some(state) = queue.pop_front() {
            if cancel.is_some_and(Cancel::is_due) {
                return Ok((known.len() as u64, false));
            }
            enabled.clear();
            world.enabled(&state, &mut enabled);
            let before = (self.picture)(&concrete, &state);
            let [alone] = self.relation.structures([&before]);
            see(&state, &Seen::State(&alone))?;
            for action in &enabled {
                let after = concrete.apply(&state, action).state;
                let mut picture = (self.picture)(&concrete, &after);
                picture.remember(&before, self.history);
                let [from, to] = self.relation.structures([&before, &picture]);
                let happens = action.to_string();
                let step = Transition { happens: &happens, before: &from, after: &to };
                see(&state, &Seen::Step(&step))?;
                let next = world.apply(&state, action).state;
                if !world.within_bounds(&next) || known.contains(&next) {
                    continue;
                }
                if known.len() >= most {
                    whole = false;
                    continue;
                }
                known.insert(next.clone());
                queue.push_back(next);
            }
        }
        Ok((known.len() as u64, whole))
    }

    /// The model's own properties that have the name of one of the relation.
    fn promises(&self) -> Vec<(&Named, Condition)> {
        let properties = || self.rules.protocol().properties().0.into_iter();
        let own = |property: &Named| {
            let same = properties().find(|own| own.name == property.name)?;
            match same.temporal {
                Temporal::Always(condition) => Some(condition),
                Temporal::Reachable(_) | Temporal::Liveness(_) => None,
            }
        };
        let all = self.relation.properties.iter().filter(|_| self.says_the_same);
        all.filter_map(|property| Some((property, own(property)?))).collect()
    }

    /// Whether the relation begins in this state.
    fn begins(&self, first: &Structure) -> bool {
        first.is_possible(&self.relation) && first.holds(&self.relation, &self.relation.init, &[])
    }

    /// Searches a world, to so many states, and compares each transition with the relation; `see`
    /// is given each.
    ///
    /// # Errors
    /// If the world cannot be.
    pub fn compare(
        &self,
        scenario: Scenario,
        states: usize,
        cancel: Option<Cancel>,
        see: &mut dyn FnMut(&Transition<'_>, &Step),
    ) -> Result<Result<Tied, Box<Untied>>, WorldError> {
        let world = World::of(Arc::clone(&self.rules), scenario)?;
        let untied = |happens: &str, before: &Structure, after: Option<&Structure>| {
            Box::new(Untied {
                scenario: scenario.to_string(),
                happens: happens.to_owned(),
                before: before.clone(),
                after: after.cloned(),
            })
        };
        let [first] = self.relation.structures([&(self.picture)(&world, &world.initial())]);
        if !self.begins(&first) {
            return Ok(Err(untied(
                "the model begins here, and the relation does not",
                &first,
                None,
            )));
        }
        let promises = self.promises();
        let mut transitions = 0;
        let walked = self.walk(&world, states, cancel, &mut |state, seen| match seen {
            Seen::State(here) => {
                let fails = |(property, own): &&(&Named, Condition)| {
                    here.holds(&self.relation, &property.formula, &[]) && !own.holds(&world, state)
                };
                match promises.iter().find(fails) {
                    Some((property, _)) => {
                        let what = format!("the model breaks its {} here", property.name);
                        Err(untied(&what, here, None))
                    }
                    None => Ok(()),
                }
            }
            Seen::Step(transition) => {
                let Transition { happens, before, after } = **transition;
                let step = before.step_to(&self.relation, after);
                let step = step.ok_or_else(|| untied(happens, before, Some(after)))?;
                see(transition, &step);
                transitions += 1;
                Ok(())
            }
        });
        Ok(walked.map(|(states, whole)| Tied { scenario, states, transitions, whole }))
    }
}

/// The number of a thing that is called by a process's id.
pub(super) fn thing(id: Id) -> u64 {
    u64::from(id.number())
}
