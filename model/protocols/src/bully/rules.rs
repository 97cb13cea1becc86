//! The rules in which the variants of the bully differ, as data.

use bellwether_engine::protocol::RuleDocs;
use serde::{Deserialize, Serialize};

/// The rules in which the variants of the bully differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct Bully {
    /// A process in an election does not start another when an ELECTION arrives.
    pub guard: bool,
    /// A process that had an OK but no COORDINATOR within `T_coord` starts a new election.
    pub t_coord: bool,
    /// Whose COORDINATOR is accepted.
    pub accept: Accept,
    /// To which processes COORDINATOR is sent.
    pub announce: Announce,
    /// Which process may start an election when the leader has failed.
    pub initiate: Initiate,
    /// What a process does when it recovers.
    pub restart: Restart,
    /// What the process with the highest id of all does when it should start an election.
    pub highest: Highest,
    /// How a follower watches its leader.
    pub watch: Watch,
    /// What a leader does, besides the OK, when an ELECTION arrives.
    pub incumbent: Incumbent,
    /// What a follower does, besides the OK, when an ELECTION arrives.
    pub challenged: Challenged,
    /// Whose answers time-outs wait for, with perfect timing.
    pub awaits: Awaits,
}

/// The rules that are a matter of each process. How leaders are watched is one of the whole group,
/// as one process sends what another listens for.
pub(super) const OWN: &[&str] = &[
    "guard",
    "t_coord",
    "accept",
    "announce",
    "initiate",
    "restart",
    "highest",
    "incumbent",
    "challenged",
];

/// Whose answers time-outs wait for, with perfect timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Awaits {
    /// Those of the processes that are up. A message in flight to another is not waited for,
    /// although its receiver may recover and answer: the fixed text of the baseline, which no clock
    /// keeps to where processes recover.
    Live,
    /// Also those of processes that are down and may recover before the message arrives.
    Recovering,
}

/// Whose COORDINATOR is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Accept {
    /// That of any process.
    Any,
    /// That of a process with a higher id than one's own.
    NotLowerThanSelf,
    /// That of a process with a higher id than one's own that is not lower than the leader one
    /// knows, if one knows a leader.
    NotLowerThanKnown,
    /// A higher one's; a lower one's starts an election.
    LowerStartsElection,
}

/// To which processes COORDINATOR is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Announce {
    /// To every lower id.
    Lower,
    /// To every other id.
    All,
}

/// Which process may start an election when the leader has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Initiate {
    /// Any process that notices.
    Always,
    /// Only a process whose id is higher than the failed leader's; others wait for news.
    AboveFailed,
}

/// What a process does when it recovers from a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// It starts an election.
    Election,
    /// It leads at once and says IM_BACK to all; a process with a lower id takes it for the leader.
    ImBack,
    /// It asks all which leads, and starts an election only if none does.
    CheckFirst,
    /// Nothing: it waits to hear of a leader.
    Nothing,
}

/// What the process with the highest id of all does when it should start an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Highest {
    /// It needs no election and announces itself at once.
    Announces,
    /// It waits `T_elec` like every other process.
    Waits,
}

/// How a follower watches its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Watch {
    /// It asks "are you there?"; any answer will do, also from a process that does not lead.
    Answer,
    /// It listens for a heartbeat that only a leader sends.
    Heartbeat,
    /// The heartbeat is the COORDINATOR itself, repeated: it also corrects those who follow others.
    Announcement,
}

/// What a leader does, besides the OK, when an ELECTION arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Incumbent {
    /// It tells the asker that it leads.
    Answers,
    /// It starts an election like every other process.
    Elects,
}

/// What a follower does, besides the OK, when an ELECTION arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Challenged {
    /// It starts an election.
    Elects,
    /// Nothing while it watches a higher leader: its own watch says when that is gone.
    Answers,
}
