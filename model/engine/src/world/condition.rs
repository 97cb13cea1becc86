//! What is asked of one state.

use super::{State, World};
use crate::protocol::{Judge, Protocol};

/// What is asked of one state.
#[derive(Clone, Copy, Debug)]
pub enum Condition<P: Protocol> {
    /// Something that is asked of every protocol.
    World(fn(&World<P>, &State<P>) -> bool),
    /// Something that is asked of this one.
    Own(Judge<P>),
}

impl<P: Protocol> Condition<P> {
    /// Whether it holds in `state`.
    #[inline]
    pub fn holds(self, world: &World<P>, state: &State<P>) -> bool {
        match self {
            Condition::World(condition) => condition(world, state),
            Condition::Own(judge) => judge(world.protocol(), &world.view(state)),
        }
    }
}
