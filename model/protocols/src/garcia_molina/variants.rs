//! Each variant of the paper's algorithm as one value of its rules.

use super::{Answered, Check, GarciaMolina, Halt, Recovery, Unfinished};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<GarciaMolina>] = &[
    Variant {
        name: "repaired",
        source: "the paper's, with a Check that asks for the task and a Timeout that never asks \
                 itself",
        rules: GarciaMolina::REPAIRED,
    },
    Variant {
        name: "published",
        source: "Garcia-Molina, IEEE Transactions on Computers C-31(1), 1982, the bully algorithm",
        rules: GarciaMolina::PUBLISHED,
    },
    Variant {
        name: "ported",
        source: "programs that follow the paper procedure by procedure, and where they depart \
                 from it",
        rules: GarciaMolina {
            halt: Halt::GoesOn,
            answered: Answered::Follows,
            ..GarciaMolina::PUBLISHED
        },
    },
];

impl GarciaMolina {
    /// The rules that the program follows.
    pub const REPAIRED: GarciaMolina = GarciaMolina {
        check: Check::SameTask,
        unfinished: Unfinished::Elects,
        ..GarciaMolina::PUBLISHED
    };

    /// The paper's rules.
    pub const PUBLISHED: GarciaMolina = GarciaMolina {
        halt: Halt::Aborts,
        check: Check::Normal,
        answered: Answered::Waits,
        recovery: Recovery::Quiet,
        guard: true,
        unfinished: Unfinished::AsksItself,
    };
}
