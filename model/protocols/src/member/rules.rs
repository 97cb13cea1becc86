//! The rules by which a member could do otherwise, and each variant as one value of them.

use bellwether_engine::protocol::{Variant, rule_type};

/// The rules of a member.
#[rule_type]
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
#[rule_type]
pub enum Pause {
    /// Every pause through which its node leads.
    Noticed,
    /// Those that begin while its program knows that the node leads.
    IfTold,
    /// None.
    Ignored,
}

/// What follows if a leader can say nothing, as its disk does not answer.
#[rule_type]
pub enum Stall {
    /// Its program is told that it does not lead until the others can have heard of it.
    Withdrawn,
    /// Nothing.
    Ignored,
}

/// When something is done that follows from a state.
#[rule_type]
pub enum Order {
    /// When the state is on stable storage.
    Durable,
    /// At once.
    AtOnce,
}

/// Whether the program prepares itself.
#[rule_type]
pub enum Gated {
    /// It does, and is told when it is prepared.
    Waits,
    /// It is told before.
    Open,
}

/// Whether a node waits for work.
#[rule_type]
pub enum Work {
    /// It does, but for no longer than its lease lasts.
    Awaited,
    /// It does not.
    Ignored,
}

pub(super) const VARIANTS: &[Variant<Member>] = variant_table! { Member:
    "recommended": "ours: what impl/core/src/member promises" => RECOMMENDED;
    "pause-if-told":
        "a mistake: a pause is noticed only by a program that knows that its node leads"
        => RECOMMENDED { pause: Pause::IfTold };
    "pause-ignored": "a mistake: a leader whose process stood still goes on"
        => RECOMMENDED { pause: Pause::Ignored };
    "stall-ignored": "a mistake: a leader goes on that was silent, as its disk did not answer"
        => RECOMMENDED { stall: Stall::Ignored };
    "leads-at-once": "a mistake: the program is told of an epoch that a crash may undo"
        => RECOMMENDED { leads: Order::AtOnce };
    "sends-at-once": "a mistake: another node is told of an epoch that a crash may undo"
        => RECOMMENDED { sends: Order::AtOnce };
    "gate-open": "a mistake: the program is told before it is prepared"
        => RECOMMENDED { gate: Gated::Open };
    "work-ignored": "a mistake: a node hands over while its program works"
        => RECOMMENDED { work: Work::Ignored };
};

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
