//! The variants of the quorum bully: all of its rules, and what it is without its parts.

use super::{
    Absent, Canvass, Count, Decides, Defers, Deposed, Expiry, Forgotten, Founding, Grants,
    Handover, Heir, Late,
};
use super::{Lists, Observing, Preemption, Promises, Quorum, Rounds, Storage};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<Quorum>] = &[
    Variant {
        name: "recommended",
        source: "the rules that keep every property that can be kept",
        rules: Quorum::RECOMMENDED,
    },
    Variant {
        name: "preemptive",
        source: "the same, and a higher process takes over once it has followed for a while",
        rules: Quorum { preemption: Preemption::Dwell, ..Quorum::RECOMMENDED },
    },
    Variant {
        name: "bare",
        source: "nothing but an epoch that is granted once: what the other rules are added to",
        rules: Quorum {
            canvass: Canvass::None,
            outrank: false,
            backoff: false,
            promises: Promises::Broken,
            quiet: false,
            ..Quorum::RECOMMENDED
        },
    },
];

impl Quorum {
    /// The rules that keep every property that can be kept.
    pub const RECOMMENDED: Quorum = Quorum {
        canvass: Canvass::Asks,
        outrank: true,
        defers: Defers::Waits,
        returns: true,
        backoff: true,
        grants: Grants::Once,
        promises: Promises::Kept,
        binds_itself: true,
        quiet: true,
        storage: Storage::Durable,
        count: Count::BeforeSending,
        rounds: Rounds::Own,
        expiry: Expiry::StepsDown,
        late: Late::LooksFirst,
        deposed: Deposed::StepsDown,
        answer_lower: true,
        preemption: Preemption::Never,
        handover: Handover::Entrusted,
        heir: Heir::FromChallenge,
        absent: Absent::LeadsOn,
        unhealthy: None,
        transfer: None,
        step_down: false,
        epochs: None,
        lists: Lists::One,
        lists_joint: true,
        up_to_date: true,
        decides: Decides::ByMajority,
        reproposes: true,
        observer: None,
        observing: Observing::Follows,
        witness: None,
        wiped: None,
        forgotten: Forgotten::Follows,
        founding: Founding::Given,
    };
}
