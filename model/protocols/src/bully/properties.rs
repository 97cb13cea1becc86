//! What the encyclopedia's article asserts of the algorithm, beside what every protocol is asked.

use super::{Bully, Role};
use bellwether_engine::protocol::{Id, Judge, Property, View};
use bellwether_engine::temporal::Temporal;

pub(super) const ALL: &[Property<Judge<Bully>>] = &[Property {
    name: "one-coordinator",
    formula: "□ ∀ up i, j, both normal: leader(i) = leader(j)",
    meaning: "processes that are in no election have the same coordinator, at every moment",
    by_default: false,
    premise: None,
    temporal: Temporal::Always(one_coordinator),
}];

/// A process is normal when it leads or follows, and is in no election.
fn one_coordinator(_: &Bully, view: &View<'_, Bully>) -> bool {
    let normal = |id: Id| {
        let process = view.process(id);
        let counts = matches!(process.role, Role::Leader | Role::Follower);
        process.leader.filter(|_| counts && view.up(id))
    };
    let mut all = view.ids().filter_map(normal);
    all.next().is_none_or(|first| all.all(|other| other == first))
}
