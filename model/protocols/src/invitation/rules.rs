//! The rules in which the variants of the invitation algorithm differ, as data.

use bellwether_engine::protocol::RuleDocs;
use serde::{Deserialize, Serialize};

/// The rules in which the variants of the invitation algorithm differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct Invitation {
    /// What keeps two coordinators that have found each other from inviting each other.
    pub priority: Priority,
    /// Where a process keeps the number of its last group.
    pub counter: Counter,
    /// READY is acknowledged, and a coordinator that misses an acknowledgement starts anew.
    pub acknowledge: bool,
}

/// What keeps two coordinators that have found each other from inviting each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// A coordinator waits before it merges, the longer the higher the highest that it has found.
    Delay,
    /// Nothing: both merge at once.
    None,
    /// A coordinator conceals from lower ones that it is one.
    IgnoreLower,
}

/// Where a process keeps the number of its last group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    /// On stable storage: the next number is a new one, also after a crash.
    Stable,
    /// In memory: after a crash it counts from the beginning.
    Volatile,
}
