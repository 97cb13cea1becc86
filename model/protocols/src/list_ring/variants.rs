//! Each variant of the ring with lists as one value of its rules.
//!
//! Where a text is silent, it gets the rule of [`ListRing::TANENBAUM`].

use super::{Decides, Home, ListRing};
use crate::ring::{Accept, Order, Orphans, Restart, Watch};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<ListRing>] = &[
    Variant {
        name: "recommended",
        source: "repaired: what lasts holds after crashes, recoveries and lost messages",
        rules: ListRing::RECOMMENDED,
    },
    Variant {
        name: "tanenbaum",
        source: "Tanenbaum and van Steen, Distributed Systems (election algorithms, ring)",
        rules: ListRing::TANENBAUM,
    },
    Variant {
        name: "clustering",
        source: "article on clustered software, 2016 (Ring algorithm, steps 1 to 5)",
        rules: ListRing { restart: Restart::Nothing, ..ListRing::TANENBAUM },
    },
    Variant {
        name: "lecture",
        source: "lecture notes (Ring Election: the process that started a list sees its number in \
                 it)",
        rules: ListRing { home: Home::First, ..ListRing::TANENBAUM },
    },
];

impl ListRing {
    /// The repaired ring.
    pub const RECOMMENDED: ListRing = ListRing {
        order: Order::Ascending,
        skip: true,
        orphans: Orphans::Removed,
        t_lap: true,
        home: Home::First,
        decides: Decides::Candidate,
        accept: Accept::NotLowerThanSelf,
        restart: Restart::Nothing,
        watch: Watch::Announcement,
    };

    /// The ring of the textbook: who finds its own id in a list decides; the announcement goes
    /// round once.
    pub const TANENBAUM: ListRing = ListRing {
        order: Order::Ascending,
        skip: true,
        orphans: Orphans::Circulate,
        t_lap: false,
        home: Home::Listed,
        decides: Decides::Any,
        accept: Accept::Any,
        restart: Restart::Election,
        watch: Watch::Answer,
    };
}
