//! What is asked of one state.

use super::{Budget, State, World};
use crate::machine::OwnJudge;
use std::fmt;
use std::sync::Arc;

/// A condition on one state, as the properties ask it.
#[derive(Clone)]
pub enum Condition {
    /// A condition that is asked of every protocol.
    World(fn(&World, &State) -> bool),
    /// A condition that is asked of one protocol alone.
    Own(OwnJudge),
    /// A condition that was made while the program runs.
    Made {
        /// The function that judges a state.
        judge: Arc<AnyJudge>,
        /// Whether the condition asks for what a [symmetry](super::Symmetry) changes: what
        /// processes call things, such as the number of an election.
        asks_for_names: bool,
    },
}

/// What judges states of which more is known than their types say.
type AnyJudge = dyn Fn(&World, &State) -> bool + Send + Sync;

impl Condition {
    /// Whether both are one condition; of two that were made apart this says no.
    #[must_use]
    pub(crate) fn is(&self, other: &Condition) -> bool {
        match (self, other) {
            (Condition::World(one), Condition::World(other)) => std::ptr::fn_addr_eq(*one, *other),
            (Condition::Own(one), Condition::Own(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Whether this can be asked only where everything is called what the processes call it.
    #[must_use]
    pub(crate) fn asks_for_names(&self) -> bool {
        matches!(self, Condition::Made { asks_for_names: true, .. })
    }

    /// The condition that faults of this kind have struck. The kinds are numbered as
    /// [`Faults::named`](super::Faults::named) has them.
    #[must_use]
    pub(crate) fn struck(kind: usize) -> Condition {
        let judge = move |_: &World, state: &State| state.spent().named()[kind].1 != Budget::NONE;
        Condition::Made { judge: Arc::new(judge), asks_for_names: false }
    }

    /// Returns whether the condition holds in `state`.
    #[inline]
    #[must_use]
    pub fn holds(&self, world: &World, state: &State) -> bool {
        match self {
            Condition::World(condition) => condition(world, state),
            Condition::Own(judge) => judge(&*world.machine, &world.view(state)),
            Condition::Made { judge, .. } => judge(world, state),
        }
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a condition")
    }
}
