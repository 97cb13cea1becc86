//! Three-phase commit with a quorum, as it was first published, and as the lecture has it.

use super::{Termination, ThreePhaseCommit};
use crate::commit::{Confirm, Heeds, Recovered, Silence, Steps};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<ThreePhaseCommit>] = &[
    Variant {
        name: "quorum",
        source: "Skeen 1982: nothing is decided without a majority",
        rules: ThreePhaseCommit::QUORUM,
    },
    Variant {
        name: "skeen",
        source: "Skeen 1981; Bernstein, Hadzilacos and Goodman 1987, section 7.5: sites that do \
                 not answer have failed",
        rules: ThreePhaseCommit::SKEEN,
    },
    Variant {
        name: "lecture",
        source: "lecture, Recovery in 3PC; the standard plan to commit is Skeen's of 1981",
        rules: ThreePhaseCommit {
            termination: Termination::Majority,
            confirm: Confirm::Live,
            heeds: Heeds::Any,
            ..ThreePhaseCommit::QUORUM
        },
    },
];

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
