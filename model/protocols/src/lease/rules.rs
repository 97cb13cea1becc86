//! The rules in which the texts and programs differ, and each variant as one value of them.

use bellwether_engine::protocol::{Unused, Variant, rule_type};

/// The rules in which the variants of leader election by lease differ.
#[rule_type]
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
#[rule_type]
pub enum Count {
    /// From the moment before it sent the request.
    BeforeSending,
    /// From the moment at which it gets the answer.
    FromReceipt,
}

/// How a client gets a lease that is free.
#[rule_type]
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
#[rule_type]
pub enum Reads {
    /// The store.
    #[default]
    Primary,
    /// A replica of the store, which lags behind.
    Replica,
}

/// Which answers a client takes for the answer to what it has asked.
#[rule_type]
pub enum Answers {
    /// That with the number of its latest request.
    Latest,
    /// Any that comes while it waits for one.
    Any,
}

/// How a holder gets more of its lease.
#[rule_type]
pub enum Renewal {
    /// It asks the store.
    Asks,
    /// It sets its own record to later, and asks no store.
    Assumes,
}

/// What a holder does when its lease has expired by its own clock.
#[rule_type]
pub enum Expiry {
    /// It steps down.
    StepsDown,
    /// Nothing: it leads until the store tells it otherwise.
    Ignores,
}

/// What ends a grant that its holder neither renews nor gives back.
#[rule_type]
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
#[rule_type]
pub enum Release {
    /// It steps down, and tells no process: the lease ends when it ends.
    Never,
    /// It ends its work, steps down, and gives the lease back.
    AfterWork,
    /// It gives the lease back, and ends its work when it would have renewed the lease.
    AtOnce,
}

/// What the store compares before it renews or frees a grant.
#[rule_type]
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
#[rule_type]
pub enum Fence {
    /// Those whose token is not that of the newest grant: it knows of each grant before its holder.
    NewestGrant,
    /// Those whose token is lower than one that it has accepted before.
    HighestWritten,
    /// None.
    None,
}

/// What may happen to the store.
#[rule_type]
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
#[rule_type]
pub enum Grants {
    /// To each process that has the id of the holder.
    #[default]
    ToId,
    /// To one start of one process.
    ToStart,
}

/// What an operator does to the record of the store, once and at any moment.
#[rule_type]
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
#[rule_type]
pub enum Claims {
    /// The token of the record.
    #[default]
    Plain,
    /// The token of the record, and the highest of all grants if the client has seen that one since
    /// it started.
    CarrySeen,
}

/// What clients do about a store that has lost its record, or the newest token.
#[rule_type]
pub enum Forgetful {
    /// The clients claim the lease, which the store grants at once.
    #[default]
    GrantsAtOnce,
    /// The clients wait for as long as a grant lasts.
    Waits,
}

/// What clients do about a record of a lease without end.
#[rule_type]
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

    /// What only other rules use.
    pub(super) fn unused(&self) -> Unused {
        let (observed, starts) = (self.term == Term::Observed, self.grants == Grants::ToStart);
        let replica = self.reads == Reads::Replica;
        // The store, or what takes over from it, finds its record after a crash.
        let keeps = [StoreFault::CrashesAndKeeps, StoreFault::FailsOverAndLosesTheLast];
        let keeps = keeps.contains(&self.store);
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

pub(super) const VARIANTS: &[Variant<Lease>] = variant_table! { Lease:
    "recommended":
        "Chubby (Burrows 2006): a conservative clock, and sequencers checked against the store"
        => RECOMMENDED;
    "fenced": "Kleppmann 2016: the storage rejects a token lower than one that it has seen"
        => RECOMMENDED { fence: Fence::HighestWritten };
    "unfenced": "client-go: one leader as far as clocks allow, and no fencing"
        => RECOMMENDED { fence: Fence::None };
    "from-receipt": "the clock starts when the grant arrives, as in many home-made locks"
        => RECOMMENDED { count: Count::FromReceipt };
    "clustering": "article on clustered software, 2016 (Distributed mutex)"
        => RECOMMENDED { fence: Fence::None, store: StoreFault::CrashesAndKeeps };
    "lesson": "course lesson, class LeaseBasedLeader (renew_lease asks no process)"
        => RECOMMENDED { renewal: Renewal::Assumes, fence: Fence::None };
    "lock": "a mutex that no client takes from its holder" => RECOMMENDED { term: Term::Never };
    "read-then-write":
        "a lock by GET and then SET, the mistake that SETNX and its like were made for"
        => RECOMMENDED { acquire: Acquire::ReadThenWrite };
    "kubernetes": "client-go, package leaderelection: who watches a Lease object takes it over"
        => RECOMMENDED {
            count: Count::FromReceipt, term: Term::Observed, release: Release::Never,
            fence: Fence::None
        };
    "etcd":
        "etcd, clientv3: a key under a lease, and writes in a transaction that compares its create \
         revision"
        => RECOMMENDED { count: Count::FromReceipt };
    "consul":
        "Consul, Sessions: a key that a session has acquired, a lock-delay, and a sequencer that \
         what is written to checks"
        => RECOMMENDED { count: Count::FromReceipt, lock_delay: true };
    "postgres-row":
        "PostgreSQL: UPDATE of a row whose time is over, and writes in a transaction that compares \
         its version"
        => RECOMMENDED { store: StoreFault::CrashesAndKeeps };
    "postgres-advisory":
        "PostgreSQL, Advisory Locks: pg_try_advisory_lock in a session that stays open"
        => RECOMMENDED {
            expiry: Expiry::Ignores, term: Term::Session, fence: Fence::None,
            store: StoreFault::CrashesAndForgets
        };
    "redis-setnx": "Redis, SET with NX and PX, and scripts that compare, on a server with a replica"
        => RECOMMENDED {
            acquire: Acquire::SetIfAbsent, fence: Fence::None,
            store: StoreFault::FailsOverAndLosesTheLast
        };
    "redlock":
        "Redis, Distributed Locks: a majority of servers, any of which may restart without its \
         keys; here the majority is one store"
        => RECOMMENDED {
            acquire: Acquire::SetIfAbsent, fence: Fence::None, store: StoreFault::CrashesAndForgets
        };
    "sqlite":
        "SQLite: a row in a file that the clients share, in one transaction with what they write"
        => RECOMMENDED;
    "curator-latch": "Apache Curator, LeaderLatch: a session of ZooKeeper, and SUSPENDED is a loss"
        => RECOMMENDED { count: Count::FromReceipt, fence: Fence::None };
    "copied-machine": "the stores of the daemon: each start of a process has a number of its own"
        => RECOMMENDED { copied: true, grants: Grants::ToStart };
    "changed-by-hand":
        "the stores of the daemon: a record that no client can have written is watched for as long \
         as a lease lasts"
        => RECOMMENDED {
            mistake: Mistake::Lost, claims: Claims::CarrySeen, forgetful: Forgetful::Waits,
            doubt: Doubt::Overdue
        };
};

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
