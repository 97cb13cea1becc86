//! The rules of two-phase commit, as data.

use crate::commit::{self, Confirm, Heeds, Recovered, Rules, Silence, Steps};
use bellwether_engine::protocol::{Id, RuleDocs};
use serde::{Deserialize, Serialize};

/// The rules of two-phase commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct TwoPhaseCommit {
    /// How a coordinator decides that finds an undecided record in its log, when none that answers
    /// it knows the decision.
    pub termination: Termination,
    /// What a coordinator does when a vote has not come in time.
    pub silence: Silence,
    /// A vote is on stable storage before it is sent.
    pub logs: bool,
    /// Whether something can happen between two messages of a process.
    pub steps: Steps,
    /// A process that votes NO.
    #[rule(values = "the id of a process, such as 1, or null for none")]
    pub refuses: Option<Id>,
}

/// How a coordinator decides when none that answers it knows the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Termination {
    /// It aborts when all have answered; until then it waits.
    Cooperative,
    /// It aborts.
    Unilateral,
}

impl TwoPhaseCommit {
    pub(super) fn rules(self) -> Rules {
        let TwoPhaseCommit { termination, silence, logs, steps, refuses } = self;
        Rules {
            termination: commit::Termination::Two(termination),
            confirm: Confirm::Live,
            recovered: Recovered::Decides,
            heeds: Heeds::Latest,
            silence,
            logs,
            steps,
            refuses,
        }
    }
}
