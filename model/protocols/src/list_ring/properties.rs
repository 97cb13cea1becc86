//! What is asked of this ring besides what every election is asked.

use super::{ListRing, Message, Rounds, ring};
use bellwether_engine::protocol::{Id, Judge, Property};
use bellwether_engine::temporal::Temporal;

pub(super) const ALL: &[Property<Judge<ListRing>>] = &[
    ring::laps_end(),
    Property {
        name: "one-result",
        formula: "□ ∀ announcements a, b in flight: leader(a) = leader(b)",
        meaning: "elections at the same time have the same result",
        by_default: false,
        premise: None,
        temporal: Temporal::Always(|_, view| {
            let differ = |a: Option<Id>, b: Option<Id>| a.is_some() && b.is_some() && a != b;
            let other = |a| view.in_flight(|_, _, b| differ(a, b.announces()));
            !view.in_flight(|_, _, a| other(a.announces()))
        }),
    },
    Property {
        name: "announces-the-living",
        formula: "□ ∀ announcement a in flight: up(leader(a))",
        meaning: "a process that is announced is up",
        by_default: false,
        premise: None,
        temporal: Temporal::Always(|_, view| {
            let dead = |message: Message| message.announces().is_some_and(|id| !view.up(id));
            !view.in_flight(|_, _, message| dead(message))
        }),
    },
];
