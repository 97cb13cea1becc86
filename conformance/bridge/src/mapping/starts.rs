//! How a node can start again that does not start as before, and in which further worlds.

use crate::program::{Program, Refusal};
use bellwether_engine::protocol::Protocol as Specification;
use bellwether_engine::world::Scenario;

/// A node that starts again with other durations than before.
pub struct Restart<P: Program> {
    /// The node, which has not booted.
    pub program: P,
    /// What it must make durable as it boots, before all else, beyond what the specification has
    /// written. It reads as the same stable state as before.
    pub written: Option<P::Durable>,
}

/// A node that starts again with other members than before, for probing.
pub struct Start<P, S: Specification> {
    /// The words for the members that it has.
    pub with: &'static str,
    /// The node, which has not booted; or the refusal of the program.
    pub program: Result<P, Refusal>,
    /// The rules by which it boots; `None` if the program must refuse.
    pub by: Option<S>,
}

/// A further world in which a program is walked, which implements the rules of that world too.
pub struct Further<M> {
    /// The mapping by those rules.
    pub mapping: M,
    /// The world.
    pub scenario: Scenario,
    /// The words for what is other than in the world that is asked for.
    pub happens: &'static str,
}
