//! The rules in which all rings differ, and which decide the same in all of them.

use bellwether_engine::protocol::{Id, RuleDocs};
use serde::{Deserialize, Serialize};

/// The rules that a protocol on a ring has besides its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The order of the processes in the ring.
    pub order: Order,
    /// What goes round is acknowledged; if no ACK comes in time, the next in the ring gets it.
    pub skip: bool,
    /// What becomes of a message whose originator has failed.
    pub orphans: Orphans,
    /// A process in an election that has not ended within `T_lap` starts a new one.
    pub t_lap: bool,
    /// Whose announcement is accepted.
    pub accept: Accept,
    /// What a process does when it recovers.
    pub restart: Restart,
    /// How a follower watches its leader.
    pub watch: Watch,
}

/// The order of the processes in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// 1, 2, …, n, and 1 again: each hands on to the next higher.
    Ascending,
    /// n, n − 1, …, 1, and n again: each hands on to the next lower.
    Descending,
}

impl Order {
    /// The one after `id` in a ring of `nodes`.
    #[must_use]
    pub fn after(self, id: Id, nodes: usize) -> Id {
        let step = match self {
            Order::Ascending => 1,
            Order::Descending => nodes - 1,
        };
        Id::at((id.index() + step) % nodes)
    }
}

/// What becomes of a message that is of no use any more, because its originator, or whom it
/// announces, has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Orphans {
    /// It goes round.
    Circulate,
    /// A process that has to skip that one removes it, and starts an election.
    Removed,
}

/// Whose announcement is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Accept {
    /// Any leader's.
    Any,
    /// That of a leader with a higher id than one's own; a lower one's is removed, and the process
    /// that removes it starts an election.
    NotLowerThanSelf,
}

/// What a process does when it recovers from a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// It starts an election.
    Election,
    /// It waits to hear of a leader: if announcements are awaited, as long as any follower does,
    /// otherwise for ever.
    Nothing,
}

/// How a follower watches its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Watch {
    /// It asks "are you there?"; any answer will do, also from a process that does not lead.
    Answer,
    /// The leader's announcement goes round again and again, as its heartbeat.
    Announcement,
}
