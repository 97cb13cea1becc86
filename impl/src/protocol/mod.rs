//! The protocols: pure state machines, and the trait that the rest of the program knows them by.
//!
//! A protocol core decides; it never acts. It owns no socket, clock, thread, file or random
//! source: `now` and a seed come in, effects come out. Whoever embeds a core owes it three things:
//!
//! 1. call [`Protocol::handle`] with everything that happens, `now` never going backwards;
//! 2. after every `handle`, drain [`Protocol::poll`] and carry the outputs out in their order;
//! 3. call `handle` with [`Input::Wake`] no earlier than the time last named by
//!    [`Output::WakeAt`], and as soon after it as possible.
//!
//! What every core owes in return:
//!
//! - **Deadlines first.** The first thing done in *every* `handle`, whatever the input, is to ask
//!   whether a deadline has passed. A message that is handled after a deadline finds the timer
//!   already expired, no matter how late the wake-up is: a machine that slept, or a thread that
//!   was not scheduled, does not act on what it knew before.
//! - **Order of effects.** `Persist` → `Send` → `Event` → `WakeAt`, so that what must be durable
//!   can be made durable before anything that follows from it is sent.
//! - **Spurious wake-ups** change nothing and put nothing out.
//! - **Boot once.** Nothing happens before [`Input::Boot`]; a second `Boot` is a no-op.
//! - **Only differences of times matter.** Moving every `now` by the same amount moves every
//!   deadline by it and changes nothing else.
//! - **Nothing that arrives can make it panic.** What cannot be right is ignored and told in an
//!   [`Event::Ignored`].
//!
//! This module is not the place for I/O (see [`crate::driver`]) nor for parsing (see
//! [`crate::config`]).

use std::fmt::Debug;
use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub mod bully;
pub mod chang_roberts;
mod event;
pub mod garcia_molina;
mod id;
pub mod invitation;
pub mod lease;
pub mod list_ring;
pub mod ring;
mod settings;
pub mod stoller;
mod time;
mod timers;

pub use event::{Event, Ignored, Reason, Role};
pub use id::{Members, NodeId};
pub use settings::{ConfigError, Settings, Timing};
pub use time::Time;
pub use timers::{Ticket, Timers};

// The registry: one line for each protocol.
/// The protocol that the library and the daemon run.
pub type Recommended = bully::Bully;

/// Something that happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input<M> {
    /// The node starts, for the first time or again after a crash.
    Boot,
    /// A message is delivered.
    Receive {
        /// Who says it sent the message; the transport has checked the claim, the core has not.
        from: NodeId,
        /// What it says.
        message: M,
    },
    /// Time has passed. May come at any moment: if no deadline has passed, nothing happens.
    Wake,
    /// The failure detector takes this node for failed. Nothing happens unless the core has it
    /// [watched](Protocol::watched) at this moment: a report may come late, or twice.
    Suspect(NodeId),
}

/// Something a node wants done, in the order in which it must be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output<D, M> {
    /// Make this durable (fsync included) before any later output is carried out.
    Persist(D),
    /// Send a message. It may be lost: the protocol's timers answer for that.
    Send {
        /// Who shall get it; always another configured member.
        to: NodeId,
        /// What it says.
        message: M,
    },
    /// Something a person or the embedding program may want to know.
    Event(Event),
    /// Call back with [`Input::Wake`] at this time; `None`: no timer is armed. Replaces what an
    /// earlier `WakeAt` asked for, and is put out only when it changes.
    WakeAt(Option<Time>),
}

/// What a node believes at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Status {
    /// The node itself.
    pub id: NodeId,
    /// What it is doing.
    pub role: Role,
    /// Whom it takes for the leader; itself when it leads, `None` during an election.
    pub leader: Option<NodeId>,
}

/// A leader election protocol as a pure state machine. The module says what both sides owe.
pub trait Protocol: Sized {
    /// The name it goes by in every wing of the project.
    const NAME: &'static str;
    /// What it must be told before it can start.
    type Config: Clone + Debug;
    /// What must survive a crash; [`std::convert::Infallible`] if nothing must.
    type Durable: Clone + Debug + Eq;
    /// What nodes say to each other.
    type Message: Copy + Eq + Hash + Debug + Serialize + DeserializeOwned;
    /// What it waits for.
    type Timer: Copy + Eq + Hash + Debug;

    /// The volatile state of a node that is not started yet.
    ///
    /// The seed is its only source of randomness: the same seed and the same inputs give the same
    /// outputs.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`], with the numbers and the remedy, when the configuration contradicts
    /// itself.
    fn new(config: Self::Config, seed: u64) -> Result<Self, ConfigError>;

    /// Takes note of something that happened at `now`.
    fn handle(&mut self, now: Time, input: Input<Self::Message>);

    /// The next effect; `None` once all are taken. Drain it after every [`Protocol::handle`].
    fn poll(&mut self) -> Option<Output<Self::Durable, Self::Message>>;

    /// What the node believes.
    fn status(&self) -> Status;

    /// The timers that are armed, with their deadlines, in the order of the timer's definition.
    fn armed(&self) -> impl Iterator<Item = (Self::Timer, Time)>;

    /// The nodes that a failure detector outside the core shall watch, and report by
    /// [`Input::Suspect`]. Look again after every `handle`: whoever is new is to be watched from
    /// then on, whoever is gone is not. A report ends the watch; who is still listed after it is to
    /// be watched anew, and reported again.
    ///
    /// None for a core that detects failures by its own timers, as the bully does: nothing is
    /// watched, nothing is reported, and a report would change nothing. The [driver](crate::driver)
    /// runs such cores only. It has no detector, asks nobody whom to watch, and reports nobody.
    fn watched(&self) -> impl Iterator<Item = NodeId> {
        std::iter::empty()
    }
}
