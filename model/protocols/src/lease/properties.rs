//! What is claimed of leases. That at most one client *believes* that it holds the lease is the
//! usual `at-most-one-leader`.

use super::{Accepted, Lease, Role};
use bellwether_engine::protocol::{Judge, Property, View};
use bellwether_engine::temporal::Temporal;

pub(super) const ALL: &[Property<Judge<Lease>>] = &[
    Property {
        name: "one-grant",
        formula: "□ ∀ i ≠ j: ¬(granted(i) ∧ granted(j))",
        meaning: "the store has granted the lease to at most one client at a time",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(|_, view| {
            view.services().all(|store| view.process(store).granted.len() <= 1)
        }),
    },
    Property {
        name: "tokens-grow",
        formula: "□ ∀ accepted writes v before w: token(v) ≤ token(w)",
        meaning: "the resource accepts no write with a lower token than one before (fencing)",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(|_, view| last(view) != Accepted::Backwards),
    },
    Property {
        name: "no-stale-write",
        formula: "□ ∀ accepted writes w: token(w) = token of the newest grant",
        meaning: "the resource accepts no write of a holder after the lease was granted again",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(|_, view| last(view) == Accepted::Fresh),
    },
    Property {
        name: "lowest-can-lead",
        formula: "reachable: holds(min{i})",
        meaning: "the client with the lowest id can come to hold the lease; ids are nothing but \
                  names",
        by_default: false,
        premise: None,
        temporal: Temporal::Reachable(|_, view| {
            view.ids().next().is_some_and(|id| view.process(id).role == Role::Holder)
        }),
    },
];

/// What the last write was that the resource has accepted.
fn last(view: &View<'_, Lease>) -> Accepted {
    view.services().map(|store| view.process(store).accepted).next().unwrap_or_default()
}
