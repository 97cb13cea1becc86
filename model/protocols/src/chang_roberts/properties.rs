//! What is asked of this ring besides what every election is asked.

use super::{ChangRoberts, Message, Role, Rounds, ring};
use bellwether_engine::protocol::{Judge, Property};
use bellwether_engine::temporal::{Liveness, Temporal};

pub(super) const ALL: &[Property<Judge<ChangRoberts>>] = &[
    ring::laps_end(),
    Property {
        name: "announcements-end",
        formula: "◇□ ¬∃ announcement in flight: down(its leader)",
        meaning: "no announcement of a leader that has failed goes round for ever",
        by_default: false,
        premise: None,
        temporal: Temporal::Liveness(Liveness::EventuallyAlways(|_, view| {
            let dead = |message: Message| message.announces().is_some_and(|id| !view.up(id));
            !view.in_flight(|_, _, message| dead(message))
        })),
    },
    Property {
        name: "only-the-highest-leads",
        formula: "□ ∀ up i: leads(i) ⇒ i = max{j: up(j)}",
        meaning: "no process leads but the highest live id (E1 in Coulouris et al., section 15.3)",
        by_default: false,
        premise: None,
        temporal: Temporal::Always(|_, view| {
            let mut live = view.ids().rev().filter(|&id| view.up(id)).skip(1);
            live.all(|id| view.process(id).role != Role::Leader)
        }),
    },
];
