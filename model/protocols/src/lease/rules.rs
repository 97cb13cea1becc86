//! The rules in which the texts and programs differ, as data.

use bellwether_engine::protocol::RuleDocs;
use serde::{Deserialize, Serialize};

/// The rules in which the variants of leader election by lease differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// From when on a client counts its lease.
    pub count: Count,
    /// How a client gets a lease that is free.
    pub acquire: Acquire,
    /// Which answers a client takes for the answer to what it has asked.
    pub answers: Answers,
    /// How a holder gets more of its lease.
    pub renewal: Renewal,
    /// What a holder does when its lease has expired by its own clock.
    pub expiry: Expiry,
    /// Whether what the store grants ends by itself.
    pub term: Term,
    /// What a holder does with its lease that is asked to lead no longer.
    pub release: Release,
    /// Whether the first holder is asked, once and at any moment, to lead no longer.
    pub asked: bool,
    /// Which writes the resource rejects.
    pub fence: Fence,
    /// What may happen to the store.
    pub store: StoreFault,
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
    /// The store looks and writes in one step.
    CompareAndSet,
    /// The client reads, and writes if the lease was free.
    ReadThenWrite,
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

/// Whether what the store grants ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Term {
    /// It does: a lease.
    Expires,
    /// It does not: a lock.
    Never,
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
}
