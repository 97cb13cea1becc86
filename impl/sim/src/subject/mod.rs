//! The subjects of the simulation: the real core of a protocol, how its nodes are configured, and
//! what its states and messages mean to an observer that sees all nodes. The quorum bully and the
//! lease have files of their own.

use std::time::Duration;

use bellwether_core::protocol::lease::Message;
use bellwether_core::protocol::quorum::Lists;
use bellwether_core::protocol::{Birth, Core, Members, NodeId, bully, garcia_molina};

use crate::store::Semantics;
use crate::wrong::Wrong;

mod lease;
mod quorum;

pub use lease::Lease;
pub use quorum::Quorum;

/// The invariants that hold of every member, whatever its protocol.
const OF_THE_MEMBER: &[&str] = &["pause-is-a-loss", "prepared-first", "stalled-disk-is-a-loss"];

/// A protocol with a configuration.
pub trait Subject: Send + Sync + 'static {
    /// The name of the subject in a [code](crate::code::Code).
    const NAME: &'static str;
    /// True if the core makes anything durable.
    const PERSISTS: bool = true;
    /// True if a leader has a lease; without one it leads until it learns of another leader.
    const LEASES: bool = true;
    /// The names of the [invariants](crate::invariant::ALL) that it promises whatever the faults.
    const PROMISES: &'static [&'static [&'static str]];
    /// The names of those that it promises if one other node than the leader flaps.
    const PROMISES_IN_PEACE: &'static [&'static str] = &[];
    /// True if [operators](crate::faults::Kind::operators) have something to do: a leader can be
    /// asked to let another node lead, or for other members, and durations can be changed.
    const OPERATED: bool = false;
    /// The stores of which one grants the lease, chosen by the seed; none if nodes elect the leader.
    const STORES: &'static [Semantics] = &[];
    /// The core.
    type Core: Core;

    /// The configuration of one node, with the durations of this number; 0 is what they are at
    /// first.
    fn config(
        members: &Members,
        id: NodeId,
        durations: usize,
        wrong: Option<Wrong>,
    ) -> <Self::Core as Core>::Config;

    /// Returns whether nodes with the durations of these numbers talk to each other.
    fn fit(one: usize, other: usize) -> bool {
        one == other
    }

    /// Takes the lists of members from a durable state, if it has any.
    fn lose_lists(_: &mut <Self::Core as Core>::Durable) {}

    /// The birth of a node by what it has made durable, if it has any.
    fn birth(_: &<Self::Core as Core>::Durable) -> Option<Birth> {
        None
    }

    /// The birth that the sender of a message says it has, if it says any.
    fn birth_in(_: &<Self::Core as Core>::Message) -> Option<Birth> {
        None
    }

    /// The lists of members in a message, if there are any.
    fn lists_in(_: &<Self::Core as Core>::Message) -> Option<&Lists> {
        None
    }

    /// The message as one of the protocol `lease`, for its store.
    fn question(_: &<Self::Core as Core>::Message) -> Option<Message> {
        None
    }

    /// The message that a client gets from the store.
    fn answer(_: Message) -> Option<<Self::Core as Core>::Message> {
        None
    }

    /// Returns what a message says to an observer: of grants and epochs, nothing.
    fn observe(_: &<Self::Core as Core>::Message) -> Says {
        Says::Other
    }

    /// Returns what a node has granted, by its durable data: nothing.
    fn granted(_: &<Self::Core as Core>::Durable) -> Option<Granted> {
        None
    }

    /// By how much the rate of a clock may be wrong, in parts per million: one percent.
    fn drift_ppm() -> i64 {
        10_000
    }

    /// How long after the last fault all nodes agree on one leader, at the latest, if no message
    /// takes longer than `delay` and no sync, with the durations of any number up to this one.
    fn bound(nodes: usize, delay: Duration, durations: usize) -> Duration;
}

/// A grant of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The epoch.
    pub epoch: u64,
    /// The node to which it is granted; none if the epoch is only known.
    pub to: Option<NodeId>,
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// The sender grants this epoch to the receiver.
    Grants(u64),
    /// The sender has granted this epoch to that node, whichever it tells.
    Gives(u64, NodeId),
    /// The sender has granted this epoch to itself.
    Claims(u64),
    /// The sender leads this epoch, and says what only a leader may say.
    Leads(u64),
    /// Anything else.
    Other,
}

/// Something to do with a subject that is known only by its name at run time.
pub trait Visitor {
    /// The result of the visit.
    type Output;
    /// Does it.
    fn visit<S: Subject>(self) -> Self::Output;
}

/// The bully with its usual configuration. It promises that all agree in the end, and that is all
/// that it promises where time-outs can be wrong.
#[derive(Clone, Copy, Debug)]
pub struct Bully;

impl Subject for Bully {
    const NAME: &'static str = "bully";
    const PERSISTS: bool = false;
    const LEASES: bool = false;
    const PROMISES: &'static [&'static [&'static str]] = &[OF_THE_MEMBER, &["stabilises"]];
    type Core = bully::Bully;

    fn config(members: &Members, id: NodeId, _: usize, _: Option<Wrong>) -> bully::Config {
        bully::Config { id, members: members.clone(), timing: bully::Timing::DEFAULT }
    }

    /// The highest node leads, or misses its leader within a watch or waits for a winner, and then
    /// starts an election; that of the highest ends at once.
    fn bound(_: usize, delay: Duration, _: usize) -> Duration {
        let bully::Timing { election, coordinator, watch, heartbeat } = bully::Timing::DEFAULT;
        (watch + coordinator + election * 2 + heartbeat + delay * 4) * 2
    }
}

/// The bully of 1982 with its usual configuration.
#[derive(Clone, Copy, Debug)]
pub struct GarciaMolina;

impl Subject for GarciaMolina {
    const NAME: &'static str = "garcia-molina";
    const LEASES: bool = false;
    const PROMISES: &'static [&'static [&'static str]] = &[OF_THE_MEMBER, &["stabilises"]];
    type Core = garcia_molina::GarciaMolina;

    fn config(members: &Members, id: NodeId, _: usize, _: Option<Wrong>) -> garcia_molina::Config {
        garcia_molina::Config {
            id,
            members: members.clone(),
            timing: garcia_molina::Timing::DEFAULT,
        }
    }

    /// The check of the highest node goes round all others, one call after the other, and so does
    /// the election that follows if one of them works for another node.
    fn bound(nodes: usize, delay: Duration, _: usize) -> Duration {
        let garcia_molina::Timing { call, silence, election, check } =
            garcia_molina::Timing::DEFAULT;
        let round = (call + delay * 2) * nodes as u32;
        (silence + election + check + round * 4) * 2
    }
}

macro_rules! registry {
    ($($subject:ty),+ $(,)?) => {
        /// The names of all subjects.
        pub const NAMES: &[&str] = &[$(<$subject as Subject>::NAME),+];

        /// Calls `visitor` with the subject called `name`; `None` if there is none.
        pub fn with<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $(<$subject as Subject>::NAME => Some(visitor.visit::<$subject>()),)+
                _ => None,
            }
        }
    };
}

registry!(
    Quorum<0>,
    Quorum<1>,
    Quorum<2>,
    Bully,
    GarciaMolina,
    Lease<0>,
    Lease<1>,
    Lease<2>,
    Lease<3>,
    Lease<4>,
    Lease<5>,
);
