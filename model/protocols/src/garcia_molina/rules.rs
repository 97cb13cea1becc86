//! The rules in which the variants of the paper's algorithm differ, and each variant as one value
//! of them.

use bellwether_engine::protocol::{Variant, rule_type};

/// The rules in which the variants of the paper's algorithm differ.
#[rule_type]
pub struct GarciaMolina {
    /// What Halt does to the election of its target.
    pub halt: Halt,
    /// What a coordinator asks of the others, again and again.
    pub check: Check,
    /// What a process does that has recovered, and whose first election a higher one answers.
    pub answered: Answered,
    /// When a process that has recovered begins.
    pub recovery: Recovery,
    /// NewCoordinator is obeyed only if its sender was the last to halt the process, and Ready only
    /// if its sender is the coordinator.
    pub guard: bool,
    /// What Timeout does in a process that is its own coordinator but not ready.
    pub unfinished: Unfinished,
}

/// What Halt does to the election of its target.
#[rule_type]
pub enum Halt {
    /// It ends it, and whatever else the target is doing.
    Aborts,
    /// It sets two variables, and the target's election goes on.
    GoesOn,
}

/// What a coordinator asks of the others, again and again.
#[rule_type]
pub enum Check {
    /// "Are you normal, and at the task that I handed out?"
    SameTask,
    /// "Are you normal, and am I your coordinator?"
    LedByMe,
    /// "Are you normal?"
    Normal,
    /// Nothing.
    Never,
}

/// What a process does that has recovered, and whose first election a higher one answers.
#[rule_type]
pub enum Answered {
    /// It waits to be halted.
    Waits,
    /// It takes the one that answered for its coordinator, and is normal.
    Follows,
}

/// When a process that has recovered begins.
#[rule_type]
pub enum Recovery {
    /// Once what it called before it crashed can no longer be answered.
    Quiet,
    /// At once: an answer to what it called before it crashed may pass for another.
    AtOnce,
}

/// What Timeout does in a process that is its own coordinator but not ready: its reorganization
/// failed, and a higher process answered its next election.
#[rule_type]
pub enum Unfinished {
    /// It starts an election.
    Elects,
    /// It asks its coordinator, which is itself, and is there.
    AsksItself,
}

pub(super) const VARIANTS: &[Variant<GarciaMolina>] = variant_table! { GarciaMolina:
    "repaired":
        "the paper's, with a Check that asks for the task and a Timeout that never asks itself"
        => REPAIRED;
    "published": "Garcia-Molina, IEEE Transactions on Computers C-31(1), 1982, the bully algorithm"
        => PUBLISHED;
    "ported": "programs that follow the paper procedure by procedure, and where they depart from it"
        => PUBLISHED { halt: Halt::GoesOn, answered: Answered::Follows };
};

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
