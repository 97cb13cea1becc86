//! Each variant of the lease as one value of its rules.

use super::{Acquire, Answers, Compares, Count, Expiry, Fence, Lease, Reads, Release, Renewal};
use super::{StoreFault, Term};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<Lease>] = &[
    Variant {
        name: "recommended",
        source: "Chubby (Burrows 2006): a conservative clock, and sequencers checked against the \
                 store",
        rules: Lease::RECOMMENDED,
    },
    Variant {
        name: "fenced",
        source: "Kleppmann 2016: the storage rejects a token lower than one that it has seen",
        rules: Lease { fence: Fence::HighestWritten, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "unfenced",
        source: "client-go: one leader as far as clocks allow, and no fencing",
        rules: Lease { fence: Fence::None, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "from-receipt",
        source: "the clock starts when the grant arrives, as in many home-made locks",
        rules: Lease { count: Count::FromReceipt, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "clustering",
        source: "article on clustered software, 2016 (Distributed mutex)",
        rules: Lease {
            fence: Fence::None,
            store: StoreFault::CrashesAndKeeps,
            ..Lease::RECOMMENDED
        },
    },
    Variant {
        name: "lesson",
        source: "course lesson, class LeaseBasedLeader (renew_lease asks no process)",
        rules: Lease { renewal: Renewal::Assumes, fence: Fence::None, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "lock",
        source: "a mutex that no client takes from its holder",
        rules: Lease { term: Term::Never, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "read-then-write",
        source: "a lock by GET and then SET, the mistake that SETNX and its like were made for",
        rules: Lease { acquire: Acquire::ReadThenWrite, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "kubernetes",
        source: "client-go, package leaderelection: who watches a Lease object takes it over",
        rules: Lease {
            count: Count::FromReceipt,
            term: Term::Observed,
            release: Release::Never,
            fence: Fence::None,
            ..Lease::RECOMMENDED
        },
    },
    Variant {
        name: "etcd",
        source: "etcd, clientv3: a key under a lease, and writes in a transaction that compares \
                 its create revision",
        rules: Lease { count: Count::FromReceipt, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "consul",
        source: "Consul, Sessions: a key that a session has acquired, a lock-delay, and a \
                 sequencer that what is written to checks",
        rules: Lease { count: Count::FromReceipt, lock_delay: true, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "postgres-row",
        source: "PostgreSQL: UPDATE of a row whose time is over, and writes in a transaction that \
                 compares its version",
        rules: Lease { store: StoreFault::CrashesAndKeeps, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "postgres-advisory",
        source: "PostgreSQL, Advisory Locks: pg_try_advisory_lock in a session that stays open",
        rules: Lease {
            expiry: Expiry::Ignores,
            term: Term::Session,
            fence: Fence::None,
            store: StoreFault::CrashesAndForgets,
            ..Lease::RECOMMENDED
        },
    },
    Variant {
        name: "redis-setnx",
        source: "Redis, SET with NX and PX, and scripts that compare, on a server with a replica",
        rules: Lease {
            acquire: Acquire::SetIfAbsent,
            fence: Fence::None,
            store: StoreFault::FailsOverAndLosesTheLast,
            ..Lease::RECOMMENDED
        },
    },
    Variant {
        name: "redlock",
        source: "Redis, Distributed Locks: a majority of servers, any of which may restart without \
                 its keys; here the majority is one store",
        rules: Lease {
            acquire: Acquire::SetIfAbsent,
            fence: Fence::None,
            store: StoreFault::CrashesAndForgets,
            ..Lease::RECOMMENDED
        },
    },
    Variant {
        name: "sqlite",
        source: "SQLite: a row in a file that the clients share, in one transaction with what they \
                 write",
        rules: Lease::RECOMMENDED,
    },
    Variant {
        name: "curator-latch",
        source: "Apache Curator, LeaderLatch: a session of ZooKeeper, and SUSPENDED is a loss",
        rules: Lease { count: Count::FromReceipt, fence: Fence::None, ..Lease::RECOMMENDED },
    },
];

impl Lease {
    /// The rules that keep every property that can be kept.
    pub const RECOMMENDED: Lease = Lease {
        count: Count::BeforeSending,
        acquire: Acquire::CompareAndSet,
        reads: Reads::Primary,
        answers: Answers::Latest,
        renewal: Renewal::Asks,
        expiry: Expiry::StepsDown,
        term: Term::Expires,
        lock_delay: false,
        release: Release::AfterWork,
        compares: Compares::Both,
        asked: false,
        fence: Fence::NewestGrant,
        store: StoreFault::Lives,
    };
}
