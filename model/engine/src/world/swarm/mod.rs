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
pub(crate) mod random;
mod shorten;
mod sketch;
mod walk;

pub use coverage::{Coverage, Taken};
pub use kind::{Kind, concerned};
pub use sketch::Sketch;
pub use walk::{Plan, Walk};

use coverage::Rules;

use super::{Action, Condition, Exceeded, State, World};

/// A state to look for: one in which a condition has this answer.
#[derive(Clone)]
pub(crate) struct Goal {
    /// What is asked.
    pub(crate) condition: Condition,
    /// The answer.
    pub(crate) answer: bool,
}

impl Goal {
    fn met(&self, world: &World, state: &State) -> bool {
        self.condition.holds(world, state) == self.answer
    }
}

/// A world, what walks look for in it, and its other rules.
pub(crate) struct Swarm<'a> {
    world: &'a World,
    goals: Vec<Goal>,
    rules: Rules,
    exceeded: Exceeded,
}

impl<'a> Swarm<'a> {
    /// What walks in `world` and looks for these goals.
    pub(crate) fn new(world: &'a World, goals: Vec<Goal>) -> Self {
        Swarm { world, goals, rules: Rules::of(world), exceeded: Exceeded::default() }
    }

    /// Takes a walk; `None` if it was to `stop`.
    pub(crate) fn walk(&self, plan: &Plan, stop: &dyn Fn() -> bool) -> Option<Walk> {
        self.world.walk(plan, &self.goals, (&self.rules, &self.exceeded), stop)
    }

    /// Returns an execution that meets this goal as well, with some of these actions only.
    pub(crate) fn shorten(&self, goal: usize, path: &[Action]) -> Vec<Action> {
        self.world.shorten(path.to_vec(), &self.goals[goal])
    }

    /// The bounds that kept walks from a step, in words: what there may be at most.
    pub(crate) fn bounds_met(&self) -> Vec<String> {
        self.world.bounds_met(&self.exceeded)
    }
}
