//! Two-phase commit as it is known, and without what it rests on.

use super::{Termination, TwoPhaseCommit};
use crate::commit::{Silence, Steps};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<TwoPhaseCommit>] = &[
    Variant {
        name: "cooperative",
        source: "Bernstein, Hadzilacos and Goodman 1987, section 7.4, with cooperative termination",
        rules: TwoPhaseCommit::COOPERATIVE,
    },
    Variant {
        name: "lecture",
        source: "lecture, Two Phase Commit: the coordinator blocks until all replies are there",
        rules: TwoPhaseCommit { silence: Silence::Waits, ..TwoPhaseCommit::COOPERATIVE },
    },
    Variant {
        name: "unilateral",
        source: "a new coordinator aborts what it cannot find out (against section 7.4)",
        rules: TwoPhaseCommit {
            termination: Termination::Unilateral,
            ..TwoPhaseCommit::COOPERATIVE
        },
    },
    Variant {
        name: "volatile",
        source: "a vote is not written before it is sent (against section 7.4)",
        rules: TwoPhaseCommit { logs: false, ..TwoPhaseCommit::COOPERATIVE },
    },
];

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
