//! A world as a stateright model. What stateright calls a model includes how states and paths are
//! shown to people, so this stands above [`crate::world`] and not in it.

use crate::property::{Property, Temporal};
use crate::protocol::Protocol;
use crate::report::svg;
use crate::trace::{self, Trace};
use crate::world::{Action, State, World};
use stateright::{Model, Path};

impl<P: Protocol> Model for World<P> {
    type State = State<P>;
    type Action = Action<P>;

    fn init_states(&self) -> Vec<State<P>> {
        vec![self.initial()]
    }

    fn actions(&self, state: &State<P>, actions: &mut Vec<Action<P>>) {
        self.enabled(state, actions);
    }

    fn next_state(&self, state: &State<P>, action: Action<P>) -> Option<State<P>> {
        Some(self.apply(state, &action).state)
    }

    fn format_action(&self, action: &Action<P>) -> String {
        action.to_string()
    }

    fn format_step(&self, state: &State<P>, action: Action<P>) -> Option<String> {
        Some(trace::describe(self, state, &action))
    }

    fn as_svg(&self, path: Path<State<P>, Action<P>>) -> Option<String> {
        let trace = Trace::record(self, &path.into_actions(), None);
        Some(svg::draw(&trace))
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        self.asked().to_vec()
    }

    fn within_boundary(&self, state: &State<P>) -> bool {
        self.inside(state)
    }
}

/// The properties that stateright can look for: safety and reachability. Liveness is not among
/// them: its `eventually` misses cycles and joins, so that is decided on the
/// [state graph](super::graph).
pub fn askable<P: Protocol>(properties: &[Property<P>]) -> Vec<stateright::Property<World<P>>> {
    let askable = properties.iter().filter_map(|property| match property.temporal {
        Temporal::Always(condition) => Some(stateright::Property::always(property.name, condition)),
        Temporal::Reachable(condition) => {
            Some(stateright::Property::sometimes(property.name, condition))
        }
        Temporal::Liveness(_) => None,
    });
    askable.collect()
}
