//! What is asked of one state.

use super::{State, World};
use crate::protocol::{Judge, Protocol, View};
use std::fmt;
use std::sync::Arc;

/// A condition on one state, as the properties ask it.
#[derive(Clone)]
pub enum Condition {
    /// A condition that is asked of every protocol.
    World(fn(&World, &State) -> bool),
    /// A condition that is asked of one protocol alone.
    Own(Arc<AnyJudge>),
}

/// What judges the states of one protocol, whose types are not known.
type AnyJudge = dyn Fn(&World, &State) -> bool + Send + Sync;

impl Condition {
    /// Returns the condition on the states of this protocol. It panics in a world of another.
    #[must_use]
    pub fn own<P: Protocol>(judge: Judge<P>) -> Condition {
        Condition::Own(Arc::new(move |world, state| {
            let rules = world.rules().expect("what only one protocol is asked, its worlds are");
            judge(rules, &View::of(&world.view(state)))
        }))
    }

    /// Whether this is asked of every protocol: then it does not ask which messages are in flight,
    /// but at most whether there are any.
    #[must_use]
    pub(crate) fn is_common(&self) -> bool {
        matches!(self, Condition::World(_))
    }

    /// Returns whether the condition holds in `state`.
    #[inline]
    #[must_use]
    pub fn holds(&self, world: &World, state: &State) -> bool {
        match self {
            Condition::World(condition) => condition(world, state),
            Condition::Own(judge) => judge(world, state),
        }
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a condition")
    }
}
