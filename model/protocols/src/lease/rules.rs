//! The rules in which the texts and programs differ, and each variant as one value of them.

use bellwether_engine::protocol::{RuleDocs, Unused, Variant};
use serde::{Deserialize, Serialize};

/// The rules in which the variants of leader election by lease differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// From when on a client counts its lease.
    pub count: Count,
    /// How a client gets a lease that is free.
    pub acquire: Acquire,
    /// What answers a client that reads, and a resource that asks which grant is the newest.
    #[serde(default)]
    pub reads: Reads,
    /// Which answers a client takes for the answer to what it has asked.
    pub answers: Answers,
    /// How a holder gets more of its lease.
    pub renewal: Renewal,
    /// What a holder does when its lease has expired by its own clock.
    pub expiry: Expiry,
    /// What ends a grant that its holder neither renews nor gives back.
    pub term: Term,
    /// Whether a lease that has expired is granted to no client for some time.
    #[serde(default)]
    pub lock_delay: bool,
    /// What a holder does with its lease that is asked to lead no longer.
    pub release: Release,
    /// What the store compares before it renews or frees a grant.
    #[serde(default)]
    pub compares: Compares,
    /// Whether the first holder is asked, once and at any moment, to lead no longer.
    pub asked: bool,
    /// Which writes the resource rejects.
    pub fence: Fence,
    /// What may happen to the store.
    pub store: StoreFault,
    /// Whether the lowest client has the id of the highest: the machine of one was copied.
    #[serde(default)]
    pub copied: bool,
    /// To whom the store grants the lease.
    #[serde(default)]
    pub grants: Grants,
    /// What an operator does to the record of the store, once and at any moment.
    #[serde(default)]
    pub mistake: Mistake,
    /// Above which token a client claims the lease.
    #[serde(default)]
    pub claims: Claims,
    /// What clients do about a store that has lost its record, or the newest token.
    #[serde(default)]
    pub forgetful: Forgetful,
    /// What clients do about a record of a lease without end.
    #[serde(default)]
    pub doubt: Doubt,
}

/// From when on a client counts its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// From the moment before it sent the request.
    BeforeSending,
    /// From the moment at which it gets the answer.
    FromReceipt,
}

/// How a client gets a lease that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Acquire {
    /// The store looks and writes in one step: it grants a lease that is free, or the asker's.
    CompareAndSet,
    /// The store looks and writes in one step, and grants only what is free: what the asker has
    /// been granted already is taken.
    SetIfAbsent,
    /// The client reads, and writes if the lease was free.
    ReadThenWrite,
}

/// What answers a client that reads, and a resource that asks which grant is the newest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// The store.
    #[default]
    Primary,
    /// A replica of the store, which lags behind.
    Replica,
}

/// Which answers a client takes for the answer to what it has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// That with the number of its latest request.
    Latest,
    /// Any that comes while it waits for one.
    Any,
}

/// How a holder gets more of its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Renewal {
    /// It asks the store.
    Asks,
    /// It sets its own record to later, and asks no store.
    Assumes,
}

/// What a holder does when its lease has expired by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Expiry {
    /// It steps down.
    StepsDown,
    /// Nothing: it leads until the store tells it otherwise.
    Ignores,
}

/// What ends a grant that its holder neither renews nor gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Term {
    /// The clock of the store: a lease.
    Expires,
    /// Nothing: a lock.
    Never,
    /// Another client, which has seen the record unchanged for so long: it takes the lease if the
    /// record still has that version.
    Observed,
    /// The store, when it notices that the connection to the holder is lost: a lock of a session.
    Session,
}

/// What a holder does with its lease that is asked to lead no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// It steps down, and tells no process: the lease ends when it ends.
    Never,
    /// It ends its work, steps down, and gives the lease back.
    AfterWork,
    /// It gives the lease back, and ends its work when it would have renewed the lease.
    AtOnce,
}

/// What the store compares before it renews or frees a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Compares {
    /// A renewal and a release name a grant, and another one is neither renewed nor freed.
    #[default]
    Both,
    /// A renewal names a grant; a release frees whatever is granted.
    Renewals,
    /// Nothing: a renewal extends whatever is granted, and a release frees it.
    Nothing,
}

/// Which writes the resource rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Fence {
    /// Those whose token is not that of the newest grant: it knows of each grant before its holder.
    NewestGrant,
    /// Those whose token is lower than one that it has accepted before.
    HighestWritten,
    /// None.
    None,
}

/// What may happen to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum StoreFault {
    /// Nothing: it stands for a group of machines that has its own means.
    Lives,
    /// It may crash; what it has granted is on stable storage.
    CrashesAndKeeps,
    /// It may crash, and has forgotten what it had granted.
    CrashesAndForgets,
    /// It may crash, and what takes over is its replica, which lacks the last that it wrote.
    FailsOverAndLosesTheLast,
}

/// To whom the store grants the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Grants {
    /// To each process that has the id of the holder.
    #[default]
    ToId,
    /// To one start of one process.
    ToStart,
}

/// What an operator does to the record of the store, once and at any moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// The operator deletes the record: the lease is free, and tokens begin anew.
    Lost,
    /// The operator restores an old token: tokens begin anew, and the holder stays.
    SetBack,
    /// The operator writes a holder that is no client, and whose lease has no end.
    SetForward,
}

/// Above which token a client claims the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Claims {
    /// The token of the record.
    #[default]
    Plain,
    /// The token of the record, and the highest of all grants if the client has seen that one since
    /// it started.
    CarrySeen,
}

/// What clients do about a store that has lost its record, or the newest token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Forgetful {
    /// The clients claim the lease, which the store grants at once.
    #[default]
    GrantsAtOnce,
    /// The clients wait for as long as a grant lasts.
    Waits,
}

/// What clients do about a record of a lease without end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The clients believe the record.
    #[default]
    Believed,
    /// The clients wait for as long as a grant lasts, and take the lease.
    Overdue,
}

impl Lease {
    /// Whether clients wait, after the mistake, for as long as a grant lasts.
    pub(super) fn watches(&self) -> bool {
        match self.mistake {
            Mistake::None => false,
            Mistake::Lost | Mistake::SetBack => self.forgetful == Forgetful::Waits,
            Mistake::SetForward => self.doubt == Doubt::Overdue,
        }
    }

    /// Whether the store has a replica that matters, which has what is written some time later.
    pub(super) fn replicates(&self) -> bool {
        self.reads == Reads::Replica || self.store == StoreFault::FailsOverAndLosesTheLast
    }

    /// Whether the store ends its grants by itself: after a time, or when a connection is lost.
    pub(super) fn store_ends(&self) -> bool {
        matches!(self.term, Term::Expires | Term::Session)
    }

    /// Whether the store, or what takes over from it, finds its record after a crash.
    fn store_keeps(&self) -> bool {
        let keeps = [StoreFault::CrashesAndKeeps, StoreFault::FailsOverAndLosesTheLast];
        keeps.contains(&self.store)
    }

    /// What only other rules use.
    pub(super) fn unused(&self) -> Unused {
        let (observed, keeps) = (self.term == Term::Observed, self.store_keeps());
        let replica = self.reads == Reads::Replica;
        let starts = self.grants == Grants::ToStart;
        let process =
            [("unfit", false), ("version", observed), ("replica", replica), ("start", starts)];
        let stable = [
            ("holder", keeps),
            ("token", keeps),
            ("version", keeps && observed),
            ("written", self.store != StoreFault::Lives),
            ("start", keeps && starts),
            ("seen", self.claims == Claims::CarrySeen),
        ];
        let names = |all: &[(&'static str, bool)]| {
            all.iter().filter(|(_, used)| !used).map(|(name, _)| *name).collect()
        };
        Unused { process: names(&process), stable: names(&stable) }
    }
}

pub(super) const VARIANTS: &[Variant<Lease>] = &[
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
    Variant {
        name: "copied-machine",
        source: "the stores of the daemon: each start of a process has a number of its own",
        rules: Lease { copied: true, grants: Grants::ToStart, ..Lease::RECOMMENDED },
    },
    Variant {
        name: "changed-by-hand",
        source: "the stores of the daemon: a record that no client can have written is watched for \
                 as long as a lease lasts",
        rules: Lease {
            mistake: Mistake::Lost,
            claims: Claims::CarrySeen,
            forgetful: Forgetful::Waits,
            doubt: Doubt::Overdue,
            ..Lease::RECOMMENDED
        },
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
        copied: false,
        grants: Grants::ToId,
        mistake: Mistake::None,
        claims: Claims::Plain,
        forgetful: Forgetful::GrantsAtOnce,
        doubt: Doubt::Believed,
    };
}
