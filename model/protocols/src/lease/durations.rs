//! How long the lease and what surrounds it take, where time is measured. The store must keep a
//! lease for longer than its holder counts it, so the holder's time comes first.

use bellwether_engine::protocol::Duration;

pub(super) static T_HOLDER: Duration = Duration {
    name: "t-holder",
    meaning: "how long a client counts the lease that it is granted",
    order: 0,
    enough: Some(8),
};

pub(super) static T_GRANT: Duration = Duration {
    name: "t-grant",
    meaning: "how long the store keeps the lease for its holder",
    order: 1,
    enough: Some(9),
};

pub(super) static T_RENEW: Duration = Duration {
    name: "t-renew",
    meaning: "how long a holder waits before it writes, and renews its lease",
    order: 2,
    enough: Some(3),
};

pub(super) static T_RETRY: Duration = Duration {
    name: "t-retry",
    meaning: "how long a client that was refused the lease waits before it asks again",
    order: 3,
    enough: Some(2),
};

pub(super) static T_LAG: Duration = Duration {
    name: "t-lag",
    meaning: "how far the replica of the store is behind at most",
    order: 4,
    enough: None,
};

pub(super) static T_LOCK_DELAY: Duration = Duration {
    name: "t-lock-delay",
    meaning: "how long a lease that has expired is granted to no client",
    order: 5,
    enough: None,
};
