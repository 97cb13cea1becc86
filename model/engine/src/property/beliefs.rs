//! What the live processes of one state believe of the leadership.

use crate::protocol::{Belief, Elects, Id, Ids};
use crate::world::{State, World};

/// The leader of a live process, if it has one: itself if it leads.
fn leader(state: &State, id: Id) -> Option<Id> {
    match state.belief(id)? {
        Belief::Leads => Some(id),
        Belief::Follows(leader) => Some(leader),
        Belief::Undecided => None,
    }
}

fn leads(state: &State, id: Id) -> bool {
    state.belief(id) == Some(Belief::Leads)
}

pub(super) fn at_most_one_leader(_: &World, state: &State) -> bool {
    state.members().filter(|&id| leads(state, id)).count() <= 1
}

pub(super) fn follower_bound(world: &World, state: &State) -> bool {
    let below = |l, k| world.rank(l) < world.rank(k);
    state.members().all(|i| match state.belief(i) {
        Some(Belief::Follows(l)) => {
            state.members().all(|k| k == i || !leads(state, k) || !below(l, k))
        }
        _ => true,
    })
}

pub(super) fn agreement(state: &State) -> bool {
    let mut leaders = state.members().filter_map(|id| leader(state, id));
    leaders.next().is_none_or(|first| leaders.all(|other| other == first))
}

pub(super) fn validity(world: &World, state: &State) -> bool {
    let mut leaders = state.members().filter_map(|id| leader(state, id));
    leaders.all(|leader| !state.up(leader) || world.highest_up(state) == Some(leader))
}

pub(super) fn decided(state: &State) -> bool {
    let mut live = state.members().filter(|&id| state.up(id));
    live.all(|id| leader(state, id).is_some_and(|leader| state.up(leader)))
}

/// Whether the election has come to its end: every process agrees on the one that the protocol is
/// to elect.
pub(crate) fn agreed(world: &World, state: &State) -> bool {
    match world.machine().elects() {
        Elects::Highest => on_the_highest(world, state),
        Elects::Any => one_live_leader(state),
    }
}

pub(super) fn on_the_highest(world: &World, state: &State) -> bool {
    let highest = world.highest_up(state);
    state.members().filter(|&id| state.up(id)).all(|id| leader(state, id) == highest)
}

/// A process leads that did not at the beginning.
pub(super) fn succession(world: &World, state: &State) -> bool {
    state.members().any(|id| leads(state, id) && !world.leads_initially(id))
}

/// A process leads, if any is up.
pub(super) fn led(state: &State) -> bool {
    state.members().any(|id| leads(state, id)) || !state.members().any(|id| state.up(id))
}

/// Every live process takes the same live one for the leader, not always the highest.
pub(super) fn one_live_leader(state: &State) -> bool {
    decided(state) && agreement(state)
}

/// A majority of the voters is up and connected.
pub(super) fn majority_is_connected(world: &World, state: &State) -> bool {
    some_majority(world, state, &|_| true)
}

/// Some majority of the voters that is up and connected agrees on a live leader that it hears.
pub(super) fn connected_majority_agrees(world: &World, state: &State) -> bool {
    some_majority(world, state, &|group| {
        let hears = |other| group.iter().all(|id| id == other || linked(state, id, other));
        let first = group.iter().next().and_then(|id| leader(state, id));
        first.is_some_and(|first| {
            let agree = group.iter().all(|id| leader(state, id) == Some(first));
            agree && state.up(first) && hears(first)
        })
    })
}

/// Whether two processes hear each other, as far as their link goes.
fn linked(state: &State, a: Id, b: Id) -> bool {
    state.connected(a, b) && state.connected(b, a)
}

/// Whether `judge` holds of some majority of the voters that are up and all hear each other and
/// every service, to which no other such process could be added.
fn some_majority(world: &World, state: &State, judge: &dyn Fn(Ids) -> bool) -> bool {
    let nodes = world.scenario().nodes;
    let voters = world.machine().voters(nodes);
    let served = |id: Id| {
        let mut services = state.ids().skip(nodes);
        services.all(|service| state.up(service) && linked(state, id, service))
    };
    let up: Ids = voters.iter().filter(|&id| state.up(id) && served(id)).collect();
    some_group(state, (up, up), voters.len() / 2 + 1, judge)
}

/// The same of the groups that are in this part of those that are up, and have at least so many.
fn some_group(
    state: &State,
    (up, part): (Ids, Ids),
    least: usize,
    judge: &dyn Fn(Ids) -> bool,
) -> bool {
    if part.len() < least {
        return false;
    }
    let mut pairs = part.iter().flat_map(|a| part.iter().map(move |b| (a, b)));
    match pairs.find(|&(a, b)| a < b && !linked(state, a, b)) {
        // One of the two is not in the group.
        Some((a, b)) => {
            [a, b].into_iter().any(|out| some_group(state, (up, part.without(out)), least, judge))
        }
        None => {
            let could_join = |id: Id| part.iter().all(|other| linked(state, id, other));
            !up.except(part).iter().any(could_join) && judge(part)
        }
    }
}
