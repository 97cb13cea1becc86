//! A world as a stateright model, and its states as people read them.

use super::{Action, State, World};
use crate::property::Kind;
use crate::protocol::Protocol;
use crate::report;
use crate::trace::{self, label};
use stateright::{Model, Path};
use std::fmt;

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
        let trace = trace::Trace::record(self, &path.into_actions(), None);
        Some(report::svg::draw(&trace))
    }

    /// The safety properties that this world carries. Liveness is not among them: stateright's
    /// `eventually` misses cycles and joins, so it is decided on the [state graph](crate::check).
    fn properties(&self) -> Vec<stateright::Property<Self>> {
        self.carried()
            .iter()
            .filter_map(|property| match property.kind {
                Kind::Safety => {
                    Some(stateright::Property::always(property.name, property.condition))
                }
                Kind::Reachability => {
                    Some(stateright::Property::sometimes(property.name, property.condition))
                }
                Kind::Liveness => None,
            })
            .collect()
    }

    fn within_boundary(&self, state: &State<P>) -> bool {
        self.inside(state)
    }
}

/// One line for each process, one for what is in flight: what the Explorer shows.
impl<P: Protocol> fmt::Debug for State<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for id in self.ids() {
            writeln!(f, "{id}: {}", trace::Lifeline::of(self, id))?;
        }
        let flying = self.in_flight().iter();
        let flying = flying.map(|e| format!("{} {}→{}", label(&e.message), e.from, e.to));
        let flying = flying.collect::<Vec<_>>().join(", ");
        write!(f, "in flight: {}", if flying.is_empty() { "nothing" } else { &flying })?;
        write!(f, "\nfaults so far: {}", self.spent())
    }
}
