//! The rules by which a member could do otherwise, and each variant as one value of them.

use bellwether_engine::protocol::{RuleDocs, Variant};
use serde::{Deserialize, Serialize};

/// The rules of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Which pauses of its process a member notices.
    pub pause: Pause,
    /// What follows if a leader can say nothing, as its disk does not answer.
    pub stall: Stall,
    /// When the program is told that its node leads.
    pub leads: Order,
    /// When what a node sends leaves it.
    pub sends: Order,
    /// Whether the program prepares itself before it is told that its node leads.
    pub gate: Gated,
    /// Whether a node that gives up its lease waits for the work under it.
    pub work: Work,
}

/// Which pauses of its process a member notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// Every pause through which its node leads.
    Noticed,
    /// Those that begin while its program knows that the node leads.
    IfTold,
    /// None.
    Ignored,
}

/// What follows if a leader can say nothing, as its disk does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Stall {
    /// Its program is told that it does not lead until the others can have heard of it.
    Withdrawn,
    /// Nothing.
    Ignored,
}

/// When something is done that follows from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// When the state is on stable storage.
    Durable,
    /// At once.
    AtOnce,
}

/// Whether the program prepares itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Gated {
    /// It does, and is told when it is prepared.
    Waits,
    /// It is told before.
    Open,
}

/// Whether a node waits for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// It does, but for no longer than its lease lasts.
    Awaited,
    /// It does not.
    Ignored,
}

pub(super) const VARIANTS: &[Variant<Member>] = &[
    Variant {
        name: "recommended",
        source: "ours: what impl/core/src/member promises",
        rules: Member::RECOMMENDED,
    },
    Variant {
        name: "pause-if-told",
        source: "a mistake: a pause is noticed only by a program that knows that its node leads",
        rules: Member { pause: Pause::IfTold, ..Member::RECOMMENDED },
    },
    Variant {
        name: "pause-ignored",
        source: "a mistake: a leader whose process stood still goes on",
        rules: Member { pause: Pause::Ignored, ..Member::RECOMMENDED },
    },
    Variant {
        name: "stall-ignored",
        source: "a mistake: a leader goes on that was silent, as its disk did not answer",
        rules: Member { stall: Stall::Ignored, ..Member::RECOMMENDED },
    },
    Variant {
        name: "leads-at-once",
        source: "a mistake: the program is told of an epoch that a crash may undo",
        rules: Member { leads: Order::AtOnce, ..Member::RECOMMENDED },
    },
    Variant {
        name: "sends-at-once",
        source: "a mistake: another node is told of an epoch that a crash may undo",
        rules: Member { sends: Order::AtOnce, ..Member::RECOMMENDED },
    },
    Variant {
        name: "gate-open",
        source: "a mistake: the program is told before it is prepared",
        rules: Member { gate: Gated::Open, ..Member::RECOMMENDED },
    },
    Variant {
        name: "work-ignored",
        source: "a mistake: a node hands over while its program works",
        rules: Member { work: Work::Ignored, ..Member::RECOMMENDED },
    },
];

impl Member {
    /// The rules that keep every property.
    pub const RECOMMENDED: Member = Member {
        pause: Pause::Noticed,
        stall: Stall::Withdrawn,
        leads: Order::Durable,
        sends: Order::Durable,
        gate: Gated::Waits,
        work: Work::Awaited,
    };
}
