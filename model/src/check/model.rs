//! A world as a stateright model. What stateright calls a model includes how states and paths are
//! shown to people, so this stands above [`crate::world`] and not in it.

use crate::protocol::Protocol;
use crate::report::svg;
use crate::temporal::Temporal;
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

    /// Safety and reachability. Liveness is not among them: stateright's `eventually` misses cycles
    /// and joins, so that is decided on the [state graph](super::exact::Graph).
    fn properties(&self) -> Vec<stateright::Property<Self>> {
        let slots = self.asked().iter().zip(slots());
        let asked = slots.filter_map(|(&(name, temporal), slot)| match temporal {
            Temporal::Always(_) => Some(stateright::Property::always(name, slot)),
            Temporal::Reachable(_) => Some(stateright::Property::sometimes(name, slot)),
            Temporal::Liveness(_) => None,
        });
        asked.collect()
    }

    fn within_boundary(&self, state: &State<P>) -> bool {
        self.within_bounds(state)
    }
}

/// How many properties stateright can look for at once.
pub(super) const SLOTS: usize = 32;

/// Stateright wants a function for each property, and knows nothing of a world but its type: so
/// there is one for each place in the list of what is asked.
type Slot<P> = fn(&World<P>, &State<P>) -> bool;

fn slot<P: Protocol, const AT: usize>(world: &World<P>, state: &State<P>) -> bool {
    match world.asked().get(AT).map(|&(_, temporal)| temporal) {
        Some(Temporal::Always(condition) | Temporal::Reachable(condition)) => {
            condition.holds(world, state)
        }
        _ => true,
    }
}

fn slots<P: Protocol>() -> [Slot<P>; SLOTS] {
    macro_rules! slots {
        ($($at:literal)+) => { [$(slot::<P, $at>),+] };
    }
    slots![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]
}
