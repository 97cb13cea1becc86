//! The rules in which programs that queue for the leadership differ, and each variant of the recipe
//! as one value of them.
//!
//! Where a text is silent, its variant gets the rule of [`Queue::LOCK`], except for a leader that
//! does not hear from the store: to be told nothing of it is to go on.

use bellwether_engine::protocol::{Variant, rule_type};

/// The rules in which programs that queue for the leadership differ.
#[rule_type]
pub struct Queue {
    /// Which change a client that does not lead wants to be told of.
    pub watch: Watch,
    /// What a client does when it is told of that change.
    pub told: Notified,
    /// What a client does when the entry that it wants to watch has gone since it read.
    pub gone: Gone,
    /// How a client knows its own entry.
    pub own: Own,
    /// What a client does that has just entered and finds no other before it.
    pub alone: Alone,
    /// What a leader does while it does not hear from the store, and when its session has ended.
    pub silence: Silence,
    /// How the store and its clients know that they hear each other.
    pub contact: Contact,
    /// What becomes of the directory when its last entry goes.
    pub directory: Directory,
}

/// Which change a client that does not lead wants to be told of.
#[rule_type]
pub enum Watch {
    /// That the entry before its own goes.
    Predecessor,
    /// That the first entry goes: all watch the same one.
    First,
    /// That any entry comes or goes.
    Directory,
}

/// What a client does when it is told of the change that it watched for.
#[rule_type]
pub enum Notified {
    /// It reads the directory again, and leads if its entry is the first.
    Reads,
    /// It leads: it takes it for granted that the entry before its own was the leader's.
    Leads,
}

/// What a client does when the entry that it wants to watch has gone since it read.
#[rule_type]
pub enum Gone {
    /// It reads the directory again.
    Reads,
    /// It waits to be told, which never happens.
    Waits,
}

/// How a client knows its own entry.
#[rule_type]
pub enum Own {
    /// By a name of its own that the entry carries: it finds it although the reply was lost.
    Named,
    /// By the number in the reply; if the reply was lost, it creates another.
    Replied,
    /// By the number in the reply, which it takes to be there: what it asks after its session has
    /// ended is answered, and it leads as soon as no smaller number is there.
    Remembered,
}

/// What a client does that has just entered and finds no other before it.
#[rule_type]
pub enum Alone {
    /// It leads.
    Leads,
    /// It waits to be told of a change; only then may it find out that it leads.
    Waits,
}

/// What a leader does while it does not hear from the store, and when its session has ended.
#[rule_type]
pub enum Silence {
    /// It stops leading until it hears from the store again; when it hears that its session has
    /// ended, it enters anew.
    StandsDown,
    /// It goes on leading until it hears that its session has ended; then it enters anew.
    GoesOn,
    /// It goes on leading, and takes no notice of the end of its session.
    Ignores,
}

/// How the store and its clients know that they hear each other.
#[rule_type]
pub enum Contact {
    /// By means that are not modelled, as failure detectors: the client notices a broken
    /// connection before the store gives up its session.
    Assumed,
    /// By pings and answers that are messages, and time-outs that they start again.
    Pings,
}

/// What becomes of the directory when its last entry goes.
#[rule_type]
pub enum Directory {
    /// It stays, and its numbers go on.
    Stays,
    /// It goes as well, as a container does; the next one counts from the beginning.
    GoesToo,
}

pub(super) const VARIANTS: &[Variant<Queue>] = variant_table! { Queue:
    "recommended":
        "every process learns which leads, and a leader cut off from the store stands down"
        => RECOMMENDED;
    "lock": "ZooKeeper, Recipes and Solutions: Locks, read as an election" => LOCK;
    "recipe": "ZooKeeper, Recipes and Solutions: Leader Election, prose"
        => LOCK { gone: Gone::Waits };
    "pseudocode": "ZooKeeper, Recipes and Solutions: Leader Election, pseudocode to the letter"
        => LOCK { gone: Gone::Waits, alone: Alone::Waits };
    "herd": "ZooKeeper, Recipes and Solutions: Leader Election, the trivial solution"
        => LOCK { watch: Watch::First };
    "herd-directory": "the same with a watch on the directory, set by reading it"
        => LOCK { watch: Watch::Directory };
    "without-re-check": "a mistake that is often made: who is told leads"
        => LOCK { told: Notified::Leads };
    "lesson": "course lesson, class ZooKeeperLeaderElection"
        => LOCK { own: Own::Replied, silence: Silence::Ignores };
    "container": "the recommended rules in a directory that goes with its last entry"
        => RECOMMENDED { directory: Directory::GoesToo };
    "pings": "the recommended rules, and pings that are messages, to measure time-outs by"
        => RECOMMENDED { contact: Contact::Pings };
};

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
