//! The protocols: pure state machines, and the shell that the rest of the program knows them by.
//!
//! A [`Node`] decides; it never acts. It owns no socket, clock, thread, file or random source:
//! `now` and a seed come in, effects come out. A program that embeds one does three things:
//!
//! 1. call [`Node::handle`] with everything that happens, `now` never going backwards;
//! 2. after every `handle`, drain [`Node::poll`] and carry the outputs out in their order;
//! 3. call `handle` with [`Input::Wake`] no earlier than the time last named by
//!    [`Output::WakeAt`], and as soon after it as possible.
//!
//! What every node promises in return, whatever its [`Core`]:
//!
//! - **Deadlines first.** The first thing done in *every* `handle`, whatever the input, is to ask
//!   whether deadlines have passed; those that have expire in their order. A message that is
//!   handled after a deadline finds the timer already expired, no matter how late the wake-up is: a
//!   machine that slept, or a thread that was not scheduled, does not act on what it knew before.
//! - **Order of effects.** `Persist` → `Send` → `Event` → `WakeAt`, so that what must be durable
//!   can be made durable before anything that follows from it is sent.
//! - **Spurious wake-ups** change nothing and put nothing out.
//! - **Boot once.** Nothing happens before [`Input::Boot`]; a second `Boot` is a no-op.
//! - **One event for each change** of the role or the leader, and only the changes of role that the
//!   core [allows](Core::may_become).
//! - **Only differences of times matter.** Moving every `now` by the same amount moves every
//!   deadline by it and changes nothing else.
//! - **Nothing that arrives can make it panic.** What cannot be right is ignored and told in an
//!   [`Event::Ignored`].
//!
//! This module is not the place for I/O nor for parsing: see the modules `driver` and `config` of
//! the package `bellwether`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub mod bully;
pub mod chang_roberts;
pub mod commit;
mod core;
mod event;
pub mod garcia_molina;
mod id;
pub mod invitation;
pub mod lease;
pub mod list_ring;
mod node;
pub mod quorum;
pub mod ring;
mod settings;
pub mod stoller;
#[cfg(test)]
pub(crate) mod stories;
mod time;
mod timers;

pub use self::core::{Belief, Context, Core, Nothing, Part};
pub use event::{Event, Reason, Role};
pub use id::{Birth, ClusterId, Members, NodeId};
pub use node::{Node, NodeStep, Trigger};
pub use quorum::Timing;
pub use settings::{
    Config, Conflict, DurationError, MemberError, Membership, Relation, SettingsError,
};
pub use time::{Epoch, Lease, LeaseTerms, Time};
pub use timers::{MAX_TIMERS, Timers};

/// The core that the library and the daemon run unless another is asked for.
pub type Recommended = quorum::Quorum;

/// An input: something that happens to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input<M> {
    /// The node starts, for the first time or again after a crash.
    Boot,
    /// A message is delivered.
    Receive {
        /// The node that says it sent the message; the transport has checked the claim.
        from: NodeId,
        /// The message.
        message: M,
    },
    /// Time has passed. This input may come at any moment: if no deadline has passed, nothing
    /// happens.
    Wake,
    /// The failure detector takes this node for failed. Nothing happens unless it is
    /// [watched](Node::watched) at this moment: a report may come late, or twice.
    Suspect(NodeId),
    /// A person or the embedding program asks something of the node. Nothing happens unless its
    /// core [does](Core::REQUESTS) that.
    Request(Request),
}

/// A request that a person or the embedding program can make of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// The node is to stop leading, and to let this node lead instead, if one is named. Nothing
    /// happens if it does not lead.
    Yield(Option<NodeId>),
    /// The node is to let this node lead instead, and to lead on if that does not come to lead.
    Transfer(NodeId),
    /// The node is to do what it does for [`Request::Yield`], and not to stand for election for
    /// this long from now on, whether it leads or not.
    StepDown(Option<NodeId>, Duration),
    /// The node is told whether its machine is fit to lead: if not, it does not stand for election,
    /// and leads no longer.
    Healthy(bool),
    /// The node is to propose this list of members, if it leads and may lead by it, and if the list
    /// follows the one that is decided. Nothing happens otherwise.
    Change(Members),
    /// The node is to tell the lists of members that it knows to this one, which may have older
    /// ones.
    Tell(NodeId),
}

/// An output: something a node wants done, in the order in which it must be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output<D, M> {
    /// Make this durable (fsync included) before anything is sent that is put out later, and before
    /// the program is told that the node leads.
    Persist(D),
    /// Send a message. It may be lost: the protocol's timers answer for that.
    Send {
        /// The node that shall get it; always another configured member.
        to: NodeId,
        /// The message.
        message: M,
    },
    /// Something a person or the embedding program may want to know.
    Event(Event),
    /// Call back with [`Input::Wake`] at this time; `None`: no timer is armed. Replaces what an
    /// earlier `WakeAt` asked for, and is put out only when it changes.
    WakeAt(Option<Time>),
}

/// The status of a node: what it believes at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Status {
    /// The node itself.
    pub id: NodeId,
    /// The role of the node.
    pub role: Role,
    /// The node that it takes for the leader; itself when it leads, `None` during an election.
    pub leader: Option<NodeId>,
}

/// A visitor that does something with a core that is known only by its protocol's name at run time.
pub trait Visitor {
    /// The type of the result.
    type Output;
    /// Visits the core `C`, and returns the result.
    fn visit<C: Core>(self) -> Self::Output;
}

/// Calls the macro `$each` with every core that there is, as a list of types. For a registry of
/// one's own: what every core must have then is checked by the compiler.
#[macro_export]
macro_rules! for_each_core {
    ($each:ident) => {
        $each! {
            $crate::protocol::bully::Bully,
            $crate::protocol::garcia_molina::GarciaMolina,
            $crate::protocol::invitation::Invitation,
            $crate::protocol::chang_roberts::ChangRoberts,
            $crate::protocol::list_ring::ListRing,
            $crate::protocol::stoller::Stoller,
            $crate::protocol::lease::Lease,
            $crate::protocol::quorum::Quorum,
        }
    };
}

macro_rules! registry {
    ($($core:ty),+ $(,)?) => {
        /// The names of all protocols.
        pub const NAMES: &[&str] = &[$(<$core as Core>::NAME),+];

        /// Calls `visitor` with the core of the protocol called `name`; `None` if there is none.
        pub fn with_core<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $(<$core as Core>::NAME => Some(visitor.visit::<$core>()),)+
                _ => None,
            }
        }
    };
}

for_each_core!(registry);
