//! Each variant of the member as one value of its rules.

use super::{Gated, Member, Order, Pause, Stall, Work};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<Member>] = &[
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
