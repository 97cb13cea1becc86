//! Two-phase commit with an elected coordinator: all vote, then the coordinator decides (J. Gray,
//! *Notes on Data Base Operating Systems*, 1978; Bernstein, Hadzilacos and Goodman, *Concurrency
//! Control and Recovery in Database Systems*, 1987, section 7.4).
//!
//! A participant that has voted YES is uncertain until it hears the decision. If the coordinator
//! fails in between, the next one asks the others; if none of them knows, all wait. What the two
//! protocols have in common is in [`commit`].

use crate::commit::{self, Commit, Confirm, Heeds, Recovered, Rules, Silence, Steps};
use bellwether_engine::protocol::{Id, Judge, Property, TimerRow, Variant, rule_type};

/// The rules of two-phase commit.
#[rule_type]
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
#[rule_type]
pub enum Termination {
    /// It aborts when all have answered; until then it waits.
    Cooperative,
    /// It aborts.
    Unilateral,
}

protocol_by! { commit: TwoPhaseCommit,
    "two-phase-commit",
    "all vote, then the elected coordinator decides: a commit in two phases (Gray 1978)";
    commit::Process, commit::Record, commit::Message
}

const TIMERS: &[TimerRow<TwoPhaseCommit>] = &commit::timers();
const PROPERTIES: &[Property<Judge<TwoPhaseCommit>>] = &commit::properties();

impl Commit for TwoPhaseCommit {
    fn commit(&self) -> Rules {
        let TwoPhaseCommit { termination, silence, logs, steps, refuses } = *self;
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

const VARIANTS: &[Variant<TwoPhaseCommit>] = variant_table! { TwoPhaseCommit:
    "cooperative":
        "Bernstein, Hadzilacos and Goodman 1987, section 7.4, with cooperative termination"
        => COOPERATIVE;
    "lecture": "lecture, Two Phase Commit: the coordinator blocks until all replies are there"
        => COOPERATIVE { silence: Silence::Waits };
    "unilateral": "a new coordinator aborts what it cannot find out (against section 7.4)"
        => COOPERATIVE { termination: Termination::Unilateral };
    "volatile": "a vote is not written before it is sent (against section 7.4)"
        => COOPERATIVE { logs: false };
};

impl TwoPhaseCommit {
    /// Two-phase commit with a time-out for votes and cooperative termination.
    pub const COOPERATIVE: TwoPhaseCommit = TwoPhaseCommit {
        termination: Termination::Cooperative,
        silence: Silence::Aborts,
        logs: true,
        steps: Steps::OneByOne,
        refuses: None,
    };
}
