//! Random walks in a world, each with budgets and weights of its own.
//!
//! A swarm is many cheap searches that differ, rather than one that does everything with the same
//! likelihood (G. J. Holzmann, R. Joshi and A. Groce, *Swarm Verification Techniques*, 2011). Each
//! walk draws how many faults of each kind it takes at most, within those of the world, how likely
//! each [kind](Kind) of action is, and which processes are slow. A walk follows from the seed and
//! its number alone. Whatever it does can happen in the world: its own budgets leave actions out,
//! they never make one possible.

mod coverage;
mod kind;
mod random;
mod shorten;
mod sketch;
mod walk;

pub use coverage::{Coverage, Taken};
pub use kind::Kind;
pub use sketch::Sketch;
pub use walk::{Plan, Walk};

pub(crate) use coverage::Rules;

use super::{Condition, State, World};
use crate::protocol::Protocol;

/// A state to look for: one in which a condition has this answer.
#[derive(Clone, Copy)]
pub(crate) struct Goal<P: Protocol> {
    /// What is asked.
    pub(crate) condition: Condition<P>,
    /// The answer.
    pub(crate) answer: bool,
}

impl<P: Protocol> Goal<P> {
    fn met(&self, world: &World<P>, state: &State<P>) -> bool {
        self.condition.holds(world, state) == self.answer
    }
}
