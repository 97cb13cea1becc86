//! How long the lease and what surrounds it take, where time is measured.

use super::{Lease, Term, Timer};
use crate::protocol::{Duration, Wait};

/// The store must keep a lease for longer than its holder counts it, so that comes first.
pub(super) const ALL: &[Duration] = &[
    Duration { name: "t-holder", meaning: "how long a client counts the lease that it is granted" },
    Duration { name: "t-grant", meaning: "how long the store keeps the lease for its holder" },
    Duration {
        name: "t-renew",
        meaning: "how long a holder waits before it writes, and renews its lease",
    },
    Duration {
        name: "t-retry",
        meaning: "how long a client that was refused the lease waits before it asks again",
    },
];

/// How `timer` measures time. A request waits for as long as its lease would last: what is granted
/// later is worth nothing. `None` if by these rules nobody arms the timer.
pub(super) fn of(rules: &Lease, timer: Timer) -> Option<Wait> {
    Some(match timer {
        Timer::Asked | Timer::Lease => Wait::Fixed("t-holder"),
        Timer::Renew => Wait::Fixed("t-renew"),
        Timer::Retry => Wait::Fixed("t-retry"),
        Timer::Grant if rules.term == Term::Never => return None,
        Timer::Grant => Wait::Fixed("t-grant"),
    })
}
