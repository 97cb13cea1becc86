//! What the bridge drives: a node of the program, by its public face.
//!
//! That is [`Node`], or something that behaves like one. A program with a mistake, as the tests
//! have them, is a wrong core in a node, or a wrong shell around a core.

use bellwether_core::protocol::{Core, Epoch, Input, Lease, Node, NodeId, Output, Status, Time};
use std::fmt::Debug;
use std::time::Duration;

/// The reason why a program cannot be configured.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// The output of a node with this core.
pub type OutputOf<C> = Output<<C as Core>::Durable, <C as Core>::Message>;

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

/// What a node tells the outside beside its role and its leader. Applications and what surrounds a
/// node act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts<T> {
    /// The epoch of the leader that the node follows or is: see [`Node::epoch`].
    pub epoch: Option<Epoch>,
    /// The lease of the node: see [`Node::lease`].
    pub lease: Option<Lease>,
    /// The node that would be best to lead after this one: see [`Node::successor`].
    pub successor: Option<NodeId>,
    /// The nodes that it waits for, and the timer that runs for them alone: see
    /// [`Node::skippable_wait`].
    pub waits_for: Option<(T, Vec<NodeId>)>,
    /// The epoch for which its program is asked to prepare itself, if it is: see
    /// [`PreparationRequest`](bellwether_core::member::PreparationRequest).
    pub prepares: Option<Epoch>,
}

impl<T> Facts<T> {
    /// The facts of a program that tells none.
    pub const NONE: Self =
        Facts { epoch: None, lease: None, successor: None, waits_for: None, prepares: None };
}

/// The durations by which what surrounds a node acts. They follow from its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time for which a message is worth sending: see [`Core::message_lifetime`].
    pub lifetime: Duration,
    /// The time from which on a leader that does nothing has paused: see
    /// [`Core::max_leader_silence`].
    pub silence: Duration,
    /// The time that an election takes: see [`Core::typical_election`].
    pub election: Duration,
    /// How much later than it is due a round may begin, so that those of many nodes begin together:
    /// see [`Core::round_slack`]. It is zero if there is no such round.
    pub slack: Duration,
}

/// Returns the durations by which what surrounds this node acts.
#[must_use]
pub fn limits<C: Core>(node: &Node<C>) -> Limits {
    let config = node.config();
    Limits {
        lifetime: C::message_lifetime(config),
        silence: C::max_leader_silence(config),
        election: C::typical_election(config),
        slack: C::round_slack(config).map_or(Duration::ZERO, |(_, slack)| slack),
    }
}

/// One node of the program, and what is around it. The methods are those of [`Node`].
pub trait Program: Clone + Send + Sync + 'static {
    /// The core of the node.
    type Core: Core;
    /// The timer of a node: what it waits for.
    type Timer: Copy;

    /// Returns the node itself.
    fn node(&self) -> &Node<Self::Core>;

    /// Handles an input: see [`Node::handle`].
    fn handle(&mut self, now: Time, input: Input<<Self::Core as Core>::Message>);

    /// Returns the next output: see [`Node::poll`].
    fn poll(&mut self) -> Option<OutputOf<Self::Core>>;

    /// Returns the role and the leader of the node: see [`Node::status`].
    fn status(&self) -> Status {
        self.node().status()
    }

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
    fn timer_named(_name: &str) -> Option<Self::Timer> {
        None
    }

    /// Returns a promise that was broken, and that no output shows. To be given where more is driven
    /// than a node: what surrounds it has promises of its own.
    fn broken_promise(&self) -> Option<BrokenPromise> {
        None
    }

    /// Returns what the node tells the outside beside its [status](Program::status).
    fn facts(&self) -> Facts<Self::Timer> {
        Facts::NONE
    }

    /// Returns the epoch that the node leads at this moment: see [`Node::leads`].
    fn leads(&self, now: Time) -> Option<Epoch> {
        let lease = self.facts().lease.filter(|lease| lease.until > now);
        lease.map(|lease| lease.epoch)
    }
}

impl<C: Core> Program for Node<C> {
    type Core = C;
    type Timer = C::Timer;

    fn node(&self) -> &Node<C> {
        self
    }

    fn handle(&mut self, now: Time, input: Input<C::Message>) {
        Node::handle(self, now, input);
    }

    fn poll(&mut self) -> Option<OutputOf<C>> {
        Node::poll(self)
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

    fn facts(&self) -> Facts<C::Timer> {
        Facts {
            epoch: Node::epoch(self),
            lease: Node::lease(self),
            successor: Node::successor(self),
            waits_for: Node::skippable_wait(self),
            prepares: None,
        }
    }

    fn leads(&self, now: Time) -> Option<Epoch> {
        Node::leads(self, now)
    }
}
