//! Each variant of the ring of Chang and Roberts as one value of its rules.

use super::{ChangRoberts, Home};
use crate::ring::{Accept, Order, Orphans, Restart, Watch};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<ChangRoberts>] = &[
    Variant {
        name: "recommended",
        source: "repaired; without any of its rules but the order, a property fails that holds \
                 with it",
        rules: ChangRoberts::RECOMMENDED,
    },
    Variant {
        name: "published",
        source: "Chang and Roberts 1979, where no process fails; so also the course lesson's class \
                 RingElection",
        rules: ChangRoberts::PUBLISHED,
    },
    Variant {
        name: "lesson-robust",
        source: "course lesson, class RobustRingElection (backup successors), as it was meant",
        rules: ChangRoberts { skip: true, ..ChangRoberts::PUBLISHED },
    },
];

impl ChangRoberts {
    /// The repaired ring.
    pub const RECOMMENDED: ChangRoberts = ChangRoberts {
        order: Order::Ascending,
        skip: true,
        orphans: Orphans::Removed,
        t_lap: true,
        home: Home::Candidate,
        accept: Accept::NotLowerThanSelf,
        restart: Restart::Nothing,
        watch: Watch::Announcement,
    };

    /// The ring of the paper. It knows no failures; what a follower does when the leader is gone,
    /// and a process that recovers, is what the textbooks say of elections: it holds one.
    pub const PUBLISHED: ChangRoberts = ChangRoberts {
        order: Order::Ascending,
        skip: false,
        orphans: Orphans::Circulate,
        t_lap: false,
        home: Home::Any,
        accept: Accept::Any,
        restart: Restart::Election,
        watch: Watch::Answer,
    };
}
