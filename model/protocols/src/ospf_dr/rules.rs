//! The rules of the election that are worth a question, as data.

use bellwether_engine::protocol::{Id, RuleDocs};
use serde::{Deserialize, Serialize};

/// The rules of the election that are worth a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct OspfDr {
    /// The highest is the DR and the second highest the BDR, no matter which are in office.
    pub preempt: bool,
    /// A router that comes up listens before it calculates.
    pub waiting: bool,
    /// Only a neighbour that hears this router counts.
    pub two_way: bool,
    /// A router that has come into office, or out of it, by calculating calculates once more.
    pub repeat: bool,
    /// Which router may become DR or BDR.
    pub eligible: Eligible,
}

/// Which router may become DR or BDR: every router whose priority is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Eligible {
    /// Every router.
    All,
    /// Every router but the one with the highest id.
    AllButHighest,
    /// No router but the one with the highest id.
    OnlyHighest,
}

impl OspfDr {
    /// Whether the priority of `id`, one of `nodes`, is not 0.
    pub(super) fn may_lead(&self, id: Id, nodes: usize) -> bool {
        let highest = id.index() + 1 == nodes;
        match self.eligible {
            Eligible::All => true,
            Eligible::AllButHighest => !highest,
            Eligible::OnlyHighest => highest,
        }
    }
}
