//! What the bridge drives: a node of the program, by its public face.
//!
//! That is [`Node`], or something that behaves like one. A program with a mistake, as the tests
//! have them, is a wrong core in a node, or a wrong shell around a core.

use bellwether_core::protocol::{Core, Input, Node, NodeId, Output, Status, Time};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// The reason why a program cannot be configured.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// A memory that can be compared with another of its kind, and shown.
pub trait Remembered: Debug {
    /// Returns whether both memories are the same.
    fn is_same_as(&self, other: &Self) -> bool;
}

impl<T: PartialEq + Debug> Remembered for T {
    fn is_same_as(&self, other: &Self) -> bool {
        self == other
    }
}

/// A promise that what surrounds a node has not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPromise {
    /// The name of what the promise is about.
    pub what: &'static str,
    /// What must be.
    pub right: String,
    /// What is.
    pub wrong: String,
}

/// One node of the program. The methods are those of [`Node`].
pub trait Program: Clone {
    /// The name of the protocol.
    const NAME: &'static str;
    /// Whether a node may do something when it is [asked](Input::Request) for it.
    const REQUESTS: bool = true;
    /// The state that a node keeps through a crash.
    type Durable: Clone + Debug + PartialEq + DeserializeOwned;
    /// The message that nodes send to each other.
    type Message: Copy + Debug + PartialEq + DeserializeOwned;
    /// The timer of a node: what it waits for.
    type Timer: Copy;

    /// Handles an input: see [`Node::handle`].
    fn handle(&mut self, now: Time, input: Input<Self::Message>);

    /// Returns the next output: see [`Node::poll`].
    fn poll(&mut self) -> Option<Output<Self::Durable, Self::Message>>;

    /// Returns the role and the leader of the node: see [`Node::status`].
    fn status(&self) -> Status;

    /// Returns all that the node remembers between two inputs but its timers: the
    /// [core](Node::core) of a node. Two nodes that read as one process of the model must remember
    /// the same.
    fn remembers(&self) -> impl Remembered;

    /// Returns the armed timers, each with its deadline: see [`Node::armed`].
    fn armed(&self) -> impl Iterator<Item = (Self::Timer, Time)>;

    /// Brings the deadline of an armed timer forward: see [`Node::bring_forward`].
    fn bring_forward(&mut self, timer: Self::Timer, deadline: Time);

    /// Returns the timer that a [trace](bellwether_core::trace) calls by this name; `None` if there
    /// is none.
    #[must_use]
    fn timer_named(name: &str) -> Option<Self::Timer> {
        let _ = name;
        None
    }

    /// Returns the nodes that the node watches: see [`Node::watched`].
    fn watched(&self) -> impl Iterator<Item = NodeId> {
        std::iter::empty()
    }

    /// Returns a promise that was broken in the last input, and that its outputs do not show. To be
    /// given where more is driven than a node: what surrounds it has promises of its own.
    fn broken_promise(&self) -> Option<BrokenPromise> {
        None
    }
}

impl<C: Core> Program for Node<C> {
    const NAME: &'static str = C::NAME;
    const REQUESTS: bool = C::REQUESTS;
    type Durable = C::Durable;
    type Message = C::Message;
    type Timer = C::Timer;

    fn handle(&mut self, now: Time, input: Input<C::Message>) {
        Node::handle(self, now, input);
    }

    fn poll(&mut self) -> Option<Output<C::Durable, C::Message>> {
        Node::poll(self)
    }

    fn status(&self) -> Status {
        Node::status(self)
    }

    fn remembers(&self) -> impl Remembered {
        self.core()
    }

    fn armed(&self) -> impl Iterator<Item = (C::Timer, Time)> {
        Node::armed(self)
    }

    fn bring_forward(&mut self, timer: C::Timer, deadline: Time) {
        Node::bring_forward(self, timer, deadline);
    }

    fn timer_named(name: &str) -> Option<C::Timer> {
        C::TIMERS.iter().copied().find(|timer| format!("{timer:?}") == name)
    }

    fn watched(&self) -> impl Iterator<Item = NodeId> {
        Node::watched(self)
    }
}
