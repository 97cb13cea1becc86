//! The rules of three-phase commit, as data.

use crate::commit::{self, Confirm, Heeds, Recovered, Rules, Silence, Steps};
use bellwether_engine::protocol::{Id, RuleDocs};
use serde::{Deserialize, Serialize};

/// The rules of three-phase commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct ThreePhaseCommit {
    /// How a coordinator decides that finds an undecided record in its log, when none that answers
    /// it knows the decision.
    pub termination: Termination,
    /// Which participants must be committable before a coordinator commits.
    pub confirm: Confirm,
    /// Whether, with `termination=live`, a coordinator that has recovered decides as one that did
    /// not fail.
    pub recovered: Recovered,
    /// Whose PRECOMMIT and PREABORT a participant follows.
    pub heeds: Heeds,
    /// What a coordinator does when a vote has not come in time.
    pub silence: Silence,
    /// A record is on stable storage before what follows from it is sent.
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
    /// Those that do not answer have failed: it commits if one that answers is committable, and
    /// aborts otherwise.
    Live,
    /// With a majority that is committable or uncertain, one of them committable, it commits; with
    /// a majority that is uncertain and none committable, it aborts; otherwise it waits.
    Majority,
    /// With a majority that is committable or uncertain, one of them committable, it commits; with
    /// a majority that is uncertain or abortable, it aborts; otherwise it waits.
    Quorum,
    /// With a majority that is committable or uncertain, it commits; otherwise it waits.
    Optimistic,
}

impl ThreePhaseCommit {
    pub(super) fn rules(self) -> Rules {
        let ThreePhaseCommit { termination, confirm, recovered, heeds, .. } = self;
        let ThreePhaseCommit { silence, logs, steps, refuses, .. } = self;
        Rules {
            termination: commit::Termination::Three(termination),
            confirm,
            recovered,
            heeds,
            silence,
            logs,
            steps,
            refuses,
        }
    }
}
