//! Each variant of the lease as one value of its rules.

use super::{Acquire, Answers, Count, Expiry, Fence, Lease, Release, Renewal, StoreFault, Term};
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
];

impl Lease {
    /// The rules that keep every property that can be kept.
    pub const RECOMMENDED: Lease = Lease {
        count: Count::BeforeSending,
        acquire: Acquire::CompareAndSet,
        answers: Answers::Latest,
        renewal: Renewal::Asks,
        expiry: Expiry::StepsDown,
        term: Term::Expires,
        release: Release::AfterWork,
        asked: false,
        fence: Fence::NewestGrant,
        store: StoreFault::Lives,
    };
}
