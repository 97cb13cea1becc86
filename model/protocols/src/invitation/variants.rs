//! Each variant of the invitation algorithm as one value of its rules.

use super::{Counter, Invitation, Priority};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<Invitation>] = &[
    Variant {
        name: "paper",
        source: "Garcia-Molina 1982, the invitation algorithm (priority delay, safe storage)",
        rules: Invitation::PAPER,
    },
    Variant {
        name: "no-delay",
        source: "lecture notes (The Invitation Algorithm), before they come to priorities",
        rules: Invitation { priority: Priority::None, ..Invitation::PAPER },
    },
    Variant {
        name: "ignore-lower",
        source: "lecture notes (The Invitation Algorithm), the first of their two ways out",
        rules: Invitation { priority: Priority::IgnoreLower, ..Invitation::PAPER },
    },
    Variant {
        name: "volatile",
        source: "the paper without its safe storage",
        rules: Invitation { counter: Counter::Volatile, ..Invitation::PAPER },
    },
    Variant {
        name: "unacknowledged",
        source: "the paper with READY as a message instead of a call that returns",
        rules: Invitation { acknowledge: false, ..Invitation::PAPER },
    },
];

impl Invitation {
    /// The rules of the paper.
    pub const PAPER: Invitation =
        Invitation { priority: Priority::Delay, counter: Counter::Stable, acknowledge: true };

    /// A process that has formed more groups is beyond the bounds of the search. Where groups
    /// are called by their ranks, none comes near it.
    pub const MOST_GROUPS: u8 = 6;
}
