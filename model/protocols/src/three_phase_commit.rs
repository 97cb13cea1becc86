//! Three-phase commit with an elected coordinator: before it commits, it tells all that all have
//! voted YES (D. Skeen, *Nonblocking Commit Protocols*, 1981; the same, *A Quorum-Based Commit
//! Protocol*, 1982; Bernstein, Hadzilacos and Goodman, 1987, section 7.5).
//!
//! No process commits while another may be uncertain, so those that are left know enough to decide
//! when the coordinator fails: by what is known of those that answer, or with a majority. What the
//! two protocols have in common is in [`commit`].

use crate::commit::{self, Commit, Confirm, Heeds, Recovered, Rules, Silence, Steps};
use bellwether_engine::protocol::{Id, Judge, Property, TimerRow, Variant, rule_type};

/// The rules of three-phase commit.
#[rule_type]
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
#[rule_type]
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

protocol_by! { commit: ThreePhaseCommit,
    "three-phase-commit",
    "a commit that tells all that all voted YES before it commits (Skeen 1981, 1982)";
    commit::Process, commit::Record, commit::Message
}

const TIMERS: &[TimerRow<ThreePhaseCommit>] = &commit::timers();
const PROPERTIES: &[Property<Judge<ThreePhaseCommit>>] = &commit::properties();

impl Commit for ThreePhaseCommit {
    fn commit(&self) -> Rules {
        let ThreePhaseCommit { termination, confirm, recovered, heeds, .. } = *self;
        let ThreePhaseCommit { silence, logs, steps, refuses, .. } = *self;
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

const VARIANTS: &[Variant<ThreePhaseCommit>] = variant_table! { ThreePhaseCommit:
    "quorum": "Skeen 1982: nothing is decided without a majority" => QUORUM;
    "skeen":
        "Skeen 1981; Bernstein, Hadzilacos and Goodman 1987, section 7.5: sites that do not answer \
         have failed"
        => SKEEN;
    "lecture": "lecture, Recovery in 3PC; the standard plan to commit is Skeen's of 1981"
        => QUORUM { termination: Termination::Majority, confirm: Confirm::Live, heeds: Heeds::Any };
};

impl ThreePhaseCommit {
    /// Three-phase commit in which every decision has a majority behind it.
    pub const QUORUM: ThreePhaseCommit = ThreePhaseCommit {
        termination: Termination::Quorum,
        confirm: Confirm::Majority,
        recovered: Recovered::Waits,
        heeds: Heeds::Latest,
        silence: Silence::Aborts,
        logs: true,
        steps: Steps::OneByOne,
        refuses: None,
    };

    /// Three-phase commit for sites that fail and networks that do not.
    pub const SKEEN: ThreePhaseCommit = ThreePhaseCommit {
        termination: Termination::Live,
        confirm: Confirm::Live,
        ..ThreePhaseCommit::QUORUM
    };
}
