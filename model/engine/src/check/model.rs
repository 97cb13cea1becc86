//! A world as a stateright model. What stateright calls a model includes how states and paths are
//! shown to people, so this stands above [`crate::world`] and not in it.

use crate::property::Property;
use crate::temporal::Temporal;
use crate::trace::{self, Trace};
use crate::world::Exceeded;
use crate::world::{Action, Condition, State, World};
use stateright::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A formula and its name; no condition is one that holds everywhere.
pub type Named = (&'static str, Temporal<Option<Condition>>);

/// Returns the name and the formula of a property.
#[must_use]
pub fn named(property: &Property) -> Named {
    (property.name, property.temporal.clone().map(Some))
}

/// A picture of the execution of a world: as SVG.
pub type Draw = fn(&Trace) -> String;

/// A world, and what stateright's searches and its Explorer look for in it.
#[derive(Clone)]
pub struct Model {
    world: Arc<World>,
    draw: Option<Draw>,
    asked: Vec<Named>,
    exceeded: Arc<Exceeded>,
    violated: Arc<[AtomicBool; SLOTS]>,
}

impl Model {
    /// Returns the model of `world`. Liveness is not among what stateright can look for.
    #[must_use]
    pub fn new(world: &World, asked: Vec<Named>) -> Model {
        let violated = Arc::new([const { AtomicBool::new(false) }; SLOTS]);
        let world = Arc::new(world.clone());
        Model { world, draw: None, asked, exceeded: Arc::default(), violated }
    }

    /// Returns the same model, whose executions stateright's Explorer shows as pictures.
    #[must_use]
    pub fn with_pictures(self, draw: Draw) -> Model {
        Model { draw: Some(draw), ..self }
    }

    /// The bounds that a search has found to be exceeded.
    pub(super) fn exceeded(&self) -> Arc<Exceeded> {
        Arc::clone(&self.exceeded)
    }

    /// The names of what should always hold and does not in a state that a search has come to.
    pub(super) fn violated(&self) -> impl Iterator<Item = &'static str> {
        let asked = self.asked.iter().zip(&*self.violated);
        asked.filter(|(_, violated)| violated.load(Ordering::Relaxed)).map(|((name, _), _)| *name)
    }
}

impl stateright::Model for Model {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.world.initial()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.world.enabled(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(self.world.apply(state, &action).state)
    }

    fn format_action(&self, action: &Action) -> String {
        action.to_string()
    }

    fn format_step(&self, state: &State, action: Action) -> Option<String> {
        Some(trace::describe(&self.world, state, &action))
    }

    fn as_svg(&self, path: Path<State, Action>) -> Option<String> {
        let draw = self.draw?;
        Some(draw(&Trace::record(&self.world, &path.into_actions(), None)))
    }

    /// Safety and reachability. Liveness is not among them: stateright's `eventually` misses cycles
    /// and joins, so that is decided on the [state graph](super::exact::Graph).
    fn properties(&self) -> Vec<stateright::Property<Self>> {
        let slots = self.asked.iter().zip(slots());
        let asked = slots.filter_map(|((name, temporal), slot)| match temporal {
            Temporal::Always(_) => Some(stateright::Property::always(name, slot)),
            Temporal::Reachable(_) => Some(stateright::Property::sometimes(name, slot)),
            Temporal::Liveness(_) => None,
        });
        asked.collect()
    }

    fn within_boundary(&self, state: &State) -> bool {
        let bound = self.world.exceeds(state);
        bound.into_iter().for_each(|bound| self.exceeded.record(bound));
        bound.is_none()
    }
}

/// How many properties stateright can look for at once.
pub(super) const SLOTS: usize = 32;

/// Stateright wants a function for each property, and knows nothing of a model but its type: so
/// there is one for each place in the list of what is asked.
type Slot = fn(&Model, &State) -> bool;

fn slot<const AT: usize>(model: &Model, state: &State) -> bool {
    match model.asked.get(AT) {
        Some((_, Temporal::Always(Some(condition)))) => {
            let holds = condition.holds(&model.world, state);
            if !holds {
                model.violated[AT].store(true, Ordering::Relaxed);
            }
            holds
        }
        Some((_, Temporal::Reachable(Some(condition)))) => condition.holds(&model.world, state),
        _ => true,
    }
}

fn slots() -> [Slot; SLOTS] {
    macro_rules! slots {
        ($($at:literal)+) => { [$(slot::<$at>),+] };
    }
    slots![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]
}
