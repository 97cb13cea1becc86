//! What a person or a program can ask of a node again and again.

use super::EnvironmentEvent;
use bellwether_core::protocol::Request;
use bellwether_engine::protocol::{Protocol as Specification, Timers};

/// A request that a node gets, and then the same once more, for probing.
#[derive(Clone, Debug)]
pub struct Order<P: Specification> {
    /// What the node is asked.
    pub request: Request,
    /// What follows.
    pub first: Reaction<P>,
    /// What follows when it is asked the same again.
    pub again: Reaction<P>,
    /// How the node goes on when it was asked once, if that is another way than before.
    pub then: Option<GoesOn<P>>,
}

/// How a node goes on that was asked for something: it is probed with each message and each of its
/// timers.
#[derive(Clone, Copy, Debug)]
pub struct GoesOn<P: Specification> {
    /// The rules that hold for it from then on.
    pub rules: P,
    /// A timer by the expiry of which its belief changes, and the name of the reason, where the
    /// [table of reasons](super::Mapping::reason) has another.
    pub reason: Option<(P::Timer, &'static str)>,
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
