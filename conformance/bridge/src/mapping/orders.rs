//! What a person or a program can ask of a node again and again.

use super::EnvironmentEvent;
use bellwether_core::protocol::Request;
use bellwether_engine::protocol::{Protocol as Specification, Timers};

/// A request that a node gets, and then the same once more, for probing.
#[derive(Clone, Copy, Debug)]
pub struct Order<P: Specification> {
    /// What the node is asked.
    pub request: Request,
    /// What follows.
    pub first: Reaction<P>,
    /// What follows when it is asked the same again.
    pub again: Reaction<P>,
}

/// What follows from a request.
#[derive(Clone, Copy, Debug)]
pub enum Reaction<P: Specification> {
    /// The mapping does not say.
    Unsaid,
    /// Nothing but that these timers are cancelled, and that one is armed: no message is sent,
    /// nothing is written, and the process stays what it is.
    Timers {
        /// The timers that are not armed afterwards, whether they were before or not.
        cancelled: Timers,
        /// The timer that is armed anew.
        armed: Option<P::Timer>,
    },
    /// What follows by these rules when this timer expires.
    Expiry(P, P::Timer),
}

impl<P: Specification> Reaction<P> {
    /// Nothing follows.
    pub const NOTHING: Self = Reaction::Timers { cancelled: Timers::NONE, armed: None };
}

/// Something that can happen to a node from outside, and of which nothing shows, for probing.
pub struct Harmless<P> {
    /// What it is, in words.
    pub words: &'static str,
    /// What it does to the node.
    pub event: EnvironmentEvent<P>,
}
