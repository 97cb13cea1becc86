//! The rules in which commits with an elected coordinator differ, as data.

use crate::{three_phase_commit, two_phase_commit};
use bellwether_engine::protocol::{Id, RuleDocs};
use serde::{Deserialize, Serialize};

/// The rules in which these protocols differ, each as the protocol at hand has it.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) termination: Termination,
    pub(crate) confirm: Confirm,
    pub(crate) recovered: Recovered,
    pub(crate) heeds: Heeds,
    pub(crate) silence: Silence,
    pub(crate) logs: bool,
    pub(crate) steps: Steps,
    pub(crate) refuses: Option<Id>,
}

impl Rules {
    /// Whether a coordinator that found an undecided record when it recovered waits for all.
    pub(super) fn waits_when_recovered(self) -> bool {
        let live = Termination::Three(three_phase_commit::Termination::Live);
        self.termination == live && self.recovered == Recovered::Waits
    }
}

/// How a coordinator decides that finds an undecided record in its log, when none that answers it
/// knows the decision; and so, how many phases a commit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Termination {
    /// Votes, then the decision.
    Two(two_phase_commit::Termination),
    /// Votes, then the announcement that all have voted YES, then the decision.
    Three(three_phase_commit::Termination),
}

/// Which participants must be committable before a coordinator commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Confirm {
    /// All that answer in time: the others have failed.
    Live,
    /// A majority of all.
    Majority,
}

/// Whether a coordinator that found an undecided record in its log when it recovered decides as one
/// that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Recovered {
    /// It does.
    Decides,
    /// It waits until all have answered: those that do not may have decided in its absence.
    Waits,
}

/// What a coordinator does when a vote has not come in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Silence {
    /// It aborts.
    Aborts,
    /// It goes on as if it had been YES.
    Commits,
    /// It has no time-out, and waits.
    Waits,
}

/// Whose PRECOMMIT and PREABORT a participant follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Heeds {
    /// Those of any process: one that failed may have sent them before another took over.
    Any,
    /// Only those of the coordinator that it last told its vote or its record.
    Latest,
}

/// Whether something can happen between two messages of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Steps {
    /// A crash may come after each record and each message; others act meanwhile.
    OneByOne,
    /// A record and the messages that follow from it are one step.
    AtOnce,
}
