//! What is asked of this election besides what every election is asked.

use super::{Phase, Vrrp};
use bellwether_engine::protocol::{Judge, Property, View};
use bellwether_engine::temporal::{Liveness, Temporal};

pub(super) const ALL: &[Property<Judge<Vrrp>>] = &[Property {
    name: "one-active-again",
    formula: "□◇ |{up i: active(i)}| ≤ 1",
    meaning: "again and again there is no more than one Active router (RFC 9568, section 1)",
    by_default: true,
    premise: None,
    temporal: Temporal::Liveness(Liveness::AlwaysEventually(at_most_one_active)),
}];

fn active(view: &View<'_, Vrrp>) -> usize {
    view.ids().filter(|&id| view.up(id) && view.process(id).phase == Phase::Active).count()
}

fn at_most_one_active(_: &Vrrp, view: &View<'_, Vrrp>) -> bool {
    active(view) <= 1
}
