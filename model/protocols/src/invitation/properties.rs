//! What the paper asserts of its algorithm, and what the lecture notes say of it.

use super::{Invitation, Process, State};
use bellwether_engine::protocol::{Id, Ids, Judge, Property, View};
use smallvec::SmallVec;

pub(super) const PROPERTIES: &[Property<Judge<Invitation>>] = property_table! {
    "assertion-3":
        "□ ∀ up i, j: s(i), s(j) ∈ {reorganization, normal} ∧ g(i) = g(j) ⇒ c(i) = c(j) ∧ (s(i) = \
         s(j) = normal ⇒ d(i) = d(j))",
        "processes of the same group number have the same coordinator and work on the same task",
        if "two live processes have one group number" => |_, view| {
            pairs(view).any(|(i, j)| same_group(view.process(i), view.process(j)))
        };
        Always(|_, view| pairs(view).all(|(i, j)| consistent(view, i, j)));
    "numbers-unique": "□ ∀ i: no two groups of i have the same number",
        "a group number is never used again";
        Always(|_, view| view.ids().all(|id| !view.stable(id).reused));
    "assertion-4":
        "◇□ ∀ R ∈ maximal sets of up processes that all hear each other: ∃ i ∈ R: ∀ j ∈ R: s(j) = \
         normal ∧ c(j) = i ∧ g(j) = g(i)",
        "in the end all that hear each other are in one group, led by one of them, for good";
        EventuallyAlways(|_, view| {
            let led = |&set: &Ids| set.iter().any(|leader| one_group(view, set, leader));
            cliques(view).iter().all(led)
        });
    "one-group" asked: "□ ∀ i, normal coordinators k ≠ l: ¬(i ∈ Up(k) ∧ i ∈ Up(l)) ∧ k ∉ Up(l)",
        "no process counts as a member of two groups at the same time",
        if "a group has two members" => |_, view| {
            leaders(view).any(|k| !view.process(k).members.is_empty())
        };
        Always(|_, view| {
            let of = |k: Id| view.process(k).members.with(k);
            let apart =
                |k, l| k == l || view.ids().all(|i| !(of(k).contains(i) && of(l).contains(i)));
            leaders(view).all(|k| leaders(view).all(|l| apart(k, l)))
        });
    "halted" asked: "□ ∀ up i: s(i) = normal ∧ up(c(i)) ⇒ g(c(i)) = g(i)",
        "no process works in a group that its live coordinator has left";
        Always(|_, view| {
            view.live().all(|i| {
                let of = view.process(i).coordinator_of(i).filter(|&c| view.up(c));
                view.process(i).state != State::Normal
                    || of.is_none_or(|c| view.process(c).group == view.process(i).group)
            })
        });
    "led-by-its-founder" asked: "□ ∀ up i: s(i) ∈ {reorganization, normal} ∧ g(i) = k.m ⇒ c(i) = k",
        "each group is coordinated by the process that formed it",
        if "a process is a member of another's group" => |_, view| {
            view.live().any(|i| founder(view.process(i)).is_some_and(|founder| founder != i))
        };
        Always(|_, view| {
            view.live().all(|i| {
                let process = view.process(i);
                founder(process).is_none_or(|founder| process.coordinator_of(i) == Some(founder))
            })
        });
    "falls-back-alone" asked:
        "up(1) ∧ down(c(1)) ⇝ (c(1) = 1 ∧ s(1) = normal ∧ Up(1) = ∅) ∨ down(1) ∨ up(c(1))",
        "whenever the coordinator of process 1 has failed, process 1 later coordinates a group of \
         itself, unless one of the two fails or recovers",
        if "the coordinator of process 1 has failed" => |_, view| left_alone(view);
        LeadsTo(
            |_, view| left_alone(view),
            |_, view| {
                let Some(lowest) = view.ids().next() else { return true };
                let process = view.process(lowest);
                !view.up(lowest)
                    || process.leads() && process.members.is_empty()
                    || process.coordinator_of(lowest).is_some_and(|c| c != lowest && view.up(c))
            },
        );
};

/// Whose group a process is in that is at work, or about to be.
fn founder(process: &Process) -> Option<Id> {
    process.group.filter(|_| process.is_settled()).map(|group| group.coordinator)
}

/// Whether process 1 is up, and its coordinator is another and is down.
fn left_alone(view: &View<'_, Invitation>) -> bool {
    view.ids().next().is_some_and(|lowest| {
        let coordinator = view.process(lowest).coordinator_of(lowest);
        view.up(lowest) && coordinator.is_some_and(|c| c != lowest && !view.up(c))
    })
}

fn leaders<'a>(view: &View<'a, Invitation>) -> impl Iterator<Item = Id> + use<'a> {
    let view = *view;
    view.live().filter(move |&id| view.process(id).leads())
}

fn pairs<'a>(view: &View<'a, Invitation>) -> impl Iterator<Item = (Id, Id)> + use<'a> {
    let view = *view;
    view.live().flat_map(move |i| view.live().filter(move |&j| j > i).map(move |j| (i, j)))
}

fn same_group(i: &Process, j: &Process) -> bool {
    i.is_settled() && j.is_settled() && i.group == j.group
}

fn consistent(view: &View<'_, Invitation>, i: Id, j: Id) -> bool {
    let (of_i, of_j) = (view.process(i), view.process(j));
    let both_normal = of_i.state == State::Normal && of_j.state == State::Normal;
    !same_group(of_i, of_j)
        || of_i.coordinator_of(i) == of_j.coordinator_of(j)
            && (!both_normal || of_i.task == of_j.task)
}

/// Whether every process in `set` works in the group of `leader`.
fn one_group(view: &View<'_, Invitation>, set: Ids, leader: Id) -> bool {
    set.iter().all(|id| {
        let process = view.process(id);
        process.state == State::Normal
            && process.coordinator_of(id) == Some(leader)
            && process.group == view.process(leader).group
    })
}

type Sets = SmallVec<[Ids; 8]>;

/// The maximal sets of live processes of which each two hear each other.
fn cliques(view: &View<'_, Invitation>) -> Sets {
    let linked = |i| view.live().filter(|&j| j != i && view.links(i, j)).collect();
    let linked: Sets = view.ids().map(linked).collect();
    let mut found = Sets::new();
    extend(&linked, Ids::NONE, view.live().collect(), Ids::NONE, &mut found);
    found
}

/// Finds the maximal sets that have all of `clique`, some of those that are `open`, and none of
/// those that are `done`, each of which would fit (C. Bron and J. Kerbosch, *Finding all cliques of
/// an undirected graph*, Communications of the ACM 16(9), 1973).
fn extend(linked: &[Ids], clique: Ids, mut open: Ids, mut done: Ids, found: &mut Sets) {
    let fits = |id: &Id| linked[id.index()].common(open).len();
    // Each of the sets has this one, or one that is not linked with it.
    let Some(pivot) = open.and(done).iter().max_by_key(fits) else {
        found.extend(Some(clique).filter(|clique| !clique.is_empty()));
        return;
    };
    for id in open.iter().filter(|&id| !linked[pivot.index()].contains(id)) {
        let others = linked[id.index()];
        extend(linked, clique.with(id), open.common(others), done.common(others), found);
        (open, done) = (open.without(id), done.with(id));
    }
}
