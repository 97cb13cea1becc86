//! Each variant of the recipe as one value of its rules.
//!
//! Where a text is silent, it gets the rule of [`Queue::LOCK`], except for what a leader does that
//! does not hear from the store: to be told nothing of it is to go on.

use super::{Alone, Contact, Directory, Gone, Notified, Own, Queue, Silence, Watch};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<Queue>] = &[
    Variant {
        name: "recommended",
        source: "every process learns which leads, and a leader cut off from the store stands down",
        rules: Queue::RECOMMENDED,
    },
    Variant {
        name: "lock",
        source: "ZooKeeper, Recipes and Solutions: Locks, read as an election",
        rules: Queue::LOCK,
    },
    Variant {
        name: "recipe",
        source: "ZooKeeper, Recipes and Solutions: Leader Election, prose",
        rules: Queue { gone: Gone::Waits, ..Queue::LOCK },
    },
    Variant {
        name: "pseudocode",
        source: "ZooKeeper, Recipes and Solutions: Leader Election, pseudocode to the letter",
        rules: Queue { gone: Gone::Waits, alone: Alone::Waits, ..Queue::LOCK },
    },
    Variant {
        name: "herd",
        source: "ZooKeeper, Recipes and Solutions: Leader Election, the trivial solution",
        rules: Queue { watch: Watch::First, ..Queue::LOCK },
    },
    Variant {
        name: "herd-directory",
        source: "the same with a watch on the directory, set by reading it",
        rules: Queue { watch: Watch::Directory, ..Queue::LOCK },
    },
    Variant {
        name: "without-re-check",
        source: "a mistake that is often made: who is told leads",
        rules: Queue { told: Notified::Leads, ..Queue::LOCK },
    },
    Variant {
        name: "lesson",
        source: "course lesson, class ZooKeeperLeaderElection",
        rules: Queue { own: Own::Replied, silence: Silence::Ignores, ..Queue::LOCK },
    },
    Variant {
        name: "container",
        source: "the recommended rules in a directory that goes with its last entry",
        rules: Queue { directory: Directory::GoesToo, ..Queue::RECOMMENDED },
    },
    Variant {
        name: "pings",
        source: "the recommended rules, and pings that are messages, to measure time-outs by",
        rules: Queue { contact: Contact::Pings, ..Queue::RECOMMENDED },
    },
];

impl Queue {
    /// What keeps most: all watch the first entry, and a client that does not hear from the store
    /// does not lead.
    pub const RECOMMENDED: Queue =
        Queue { watch: Watch::First, silence: Silence::StandsDown, ..Queue::LOCK };

    /// The recipe for locks, which is that for elections told more carefully.
    pub const LOCK: Queue = Queue {
        watch: Watch::Predecessor,
        told: Notified::Reads,
        gone: Gone::Reads,
        own: Own::Named,
        alone: Alone::Leads,
        silence: Silence::GoesOn,
        contact: Contact::Assumed,
        directory: Directory::Stays,
    };
}
