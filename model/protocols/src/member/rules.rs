//! What a member could do otherwise, as data.

use bellwether_engine::protocol::RuleDocs;
use serde::{Deserialize, Serialize};

/// The rules of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Which pauses of its process a member notices.
    pub pause: Pause,
    /// What follows if a leader can say nothing, as its disk does not answer.
    pub stall: Stall,
    /// When the program is told that its node leads.
    pub leads: Order,
    /// When what a node sends leaves it.
    pub sends: Order,
    /// Whether the program prepares itself before it is told that its node leads.
    pub gate: Gated,
    /// Whether a node that gives up its lease waits for the work under it.
    pub work: Work,
}

/// Which pauses of its process a member notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// Every pause through which its node leads.
    Noticed,
    /// Those that begin while its program knows that the node leads.
    IfTold,
    /// None.
    Ignored,
}

/// What follows if a leader can say nothing, as its disk does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Stall {
    /// Its program is told that it does not lead until the others can have heard of it.
    Withdrawn,
    /// Nothing.
    Ignored,
}

/// When something is done that follows from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// When the state is on stable storage.
    Durable,
    /// At once.
    AtOnce,
}

/// Whether the program prepares itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Gated {
    /// It does, and is told when it is prepared.
    Waits,
    /// It is told before.
    Open,
}

/// Whether a node waits for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// It does, but for no longer than its lease lasts.
    Awaited,
    /// It does not.
    Ignored,
}
