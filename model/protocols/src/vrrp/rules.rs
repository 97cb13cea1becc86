//! The rules of the election that can be set, or are worth a question, as data.

use bellwether_engine::protocol::{Id, RuleDocs};
use serde::{Deserialize, Serialize};

/// The rules of the election that can be set, or are worth a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct Vrrp {
    /// `Preempt_Mode`: a Backup does not heed an Active router of a lower priority.
    pub preempt: bool,
    /// `Skew_Time`: a Backup waits the longer the lower its priority.
    pub skew: bool,
    /// An Active router contradicts one of a lower priority at once.
    pub asserts: bool,
    /// Whether priorities differ.
    pub priorities: Priorities,
    /// The highest router owns the address: its priority is 255.
    pub owner: bool,
    /// The router that is Active at first is shut down in an orderly way at some moment, once, and
    /// starts again.
    pub restart: bool,
    /// How a router that starts waits, so that it does not preempt at once.
    ///
    /// The standard has no such delay; keepalived calls it `preempt_delay`.
    pub preempt_delay: PreemptDelay,
}

/// How a router that starts waits, so that it does not preempt at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum PreemptDelay {
    /// It does not.
    None,
    /// For a time it heeds an Active router of a lower priority.
    BeforePreemption,
    /// For a time it does not become Active, even if no router is.
    BeforeAll,
}

/// Whether priorities differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Priorities {
    /// A router with a higher id has a higher priority.
    Distinct,
    /// All have the same; a router with a higher id has a higher address.
    Equal,
}

/// The priority of the owner of the address (section 5.2.4).
const OWNER: u8 = 255;
/// The priority of who is configured with none (section 6.1).
const DEFAULT: u8 = 100;

impl Vrrp {
    /// The priority of `id`, one of `nodes`.
    pub(super) fn priority(&self, id: Id, nodes: usize) -> u8 {
        match self.priorities {
            _ if self.owner && id.index() + 1 == nodes => OWNER,
            Priorities::Distinct => DEFAULT + id.number(),
            Priorities::Equal => DEFAULT,
        }
    }
}
