//! What the paper claims of its algorithm, as properties of one state and of executions.

use super::{GarciaMolina, Status};
use bellwether_engine::protocol::{Id, Judge, Property, View};
use bellwether_engine::temporal::{Liveness, Temporal};

pub(super) const ALL: &[Property<Judge<GarciaMolina>>] = &[
    Property {
        name: "assertion-1",
        formula: "□ ∀ i, j: s(i), s(j) ∈ {Reorganization, Normal} ⇒ c(i) = c(j)",
        meaning: "processes that reorganize or are normal agree on the coordinator (1982, \
                  Assertion 1)",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(one_coordinator),
    },
    Property {
        name: "assertion-1-task",
        formula: "□ ∀ i, j: s(i) = s(j) = Normal ⇒ d(i) = d(j)",
        meaning: "processes that are normal work on one task (1982, Assertion 1, second half)",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(one_task),
    },
    Property {
        name: "assertion-2",
        formula: "◇□ ((∃ up i) ⇒ ∃ up l: c(l) = l ∧ ∀ up i: s(i) = Normal ∧ c(i) = l)",
        meaning: "in the end a process is normal and leads, and all others are normal under it \
                  (1982, Assertion 2)",
        by_default: true,
        premise: None,
        temporal: Temporal::Liveness(Liveness::EventuallyAlways(all_normal)),
    },
    Property {
        name: "one-task",
        formula: "◇□ ∀ i, j: s(i) = s(j) = Normal ⇒ d(i) = d(j)",
        meaning: "in the end processes that are normal work on one task, for good",
        by_default: true,
        premise: None,
        temporal: Temporal::Liveness(Liveness::EventuallyAlways(one_task)),
    },
];

fn live<'a>(view: &View<'a, GarciaMolina>) -> impl Iterator<Item = Id> + use<'a> {
    let view = *view;
    view.ids().filter(move |&id| view.up(id))
}

/// Whether all that `of` gives for the live processes, where it gives something, is the same.
fn same<T: PartialEq>(view: &View<'_, GarciaMolina>, of: impl Fn(Id) -> Option<T>) -> bool {
    let mut all = live(view).filter_map(of);
    all.next().is_none_or(|first| all.all(|other| other == first))
}

fn one_coordinator(_: &GarciaMolina, view: &View<'_, GarciaMolina>) -> bool {
    same(view, |id| {
        let process = view.process(id);
        let counts = matches!(process.status, Status::Reorganization | Status::Normal);
        counts.then(|| process.coordinator.of(id))
    })
}

fn one_task(_: &GarciaMolina, view: &View<'_, GarciaMolina>) -> bool {
    same(view, |id| {
        let process = view.process(id);
        (process.status == Status::Normal).then_some(process.task)
    })
}

fn all_normal(_: &GarciaMolina, view: &View<'_, GarciaMolina>) -> bool {
    let under = |leader: Id| {
        live(view).all(|id| {
            let process = view.process(id);
            process.status == Status::Normal && process.coordinator.of(id) == Some(leader)
        })
    };
    live(view).next().is_none() || live(view).any(under)
}
