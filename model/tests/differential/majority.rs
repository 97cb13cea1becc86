//! Which majorities are up and connected, found once more: every set of processes is tried.

use super::explore;
use super::liveness::lasting;
use super::scenario::{Case, cases, every_protocol};
use bellwether_model::property;
use bellwether_model::protocol::{Belief, Id};
use bellwether_model::world::{Faults, Scenario, State, World};
use proptest::prelude::*;
use proptest::sample::Index;

const NAME: &str = "majority-settles";

/// Every majority of the voters that are up and hear each other and the services, and that is part
/// of no larger one.
fn majorities(world: &World, state: &State) -> Vec<Vec<Id>> {
    let nodes = world.scenario().nodes;
    let all: Vec<Id> = state.ids().collect();
    let (members, services) = all.split_at(nodes);
    let voters = world.machine().voters(nodes);
    let hear = |a: Id, b: Id| a == b || (state.connected(a, b) && state.connected(b, a));
    let is_one = |set: &[Id]| {
        let fit = set.iter().chain(services).all(|&id| state.up(id));
        let known = set.iter().chain(services);
        fit && set.iter().all(|&id| voters.contains(id))
            && set.iter().all(|&a| known.clone().all(|&b| hear(a, b)))
            && set.len() > voters.len() / 2
    };
    let set = |bits: usize| -> Vec<Id> {
        members
            .iter()
            .enumerate()
            .filter(|&(at, _)| bits & 1 << at != 0)
            .map(|(_, &id)| id)
            .collect()
    };
    let fit: Vec<usize> = (0..1 << nodes).filter(|&bits| is_one(&set(bits))).collect();
    let largest =
        |bits: &&usize| fit.iter().all(|&other| other == **bits || other & **bits != **bits);
    fit.iter().filter(largest).map(|&bits| set(bits)).collect()
}

fn leader(state: &State, id: Id) -> Option<Id> {
    match state.belief(id)? {
        Belief::Leads => Some(id),
        Belief::Follows(leader) => Some(leader),
        Belief::Undecided => None,
    }
}

fn agrees(state: &State, group: &[Id]) -> bool {
    state.ids().filter(|&one| state.up(one)).any(|one| {
        let hears = |&id: &Id| id == one || (state.connected(id, one) && state.connected(one, id));
        group.iter().all(hears) && group.iter().all(|&id| leader(state, id) == Some(one))
    })
}

/// Compares in each state of a random execution.
fn differ((case, choices): &(Case, Vec<Index>)) -> Result<bool, String> {
    let Ok(world) = case.world() else { return Ok(false) };
    let asked = property::select(&world, &[NAME.to_owned()]).expect("it exists");
    let (_, premise) = asked[0].premise.clone().expect("it has one");
    let condition = lasting(&world, NAME);
    let mut state = world.initial();
    for choice in choices {
        let majorities = majorities(&world, &state);
        let agrees = majorities.iter().any(|group| agrees(&state, group));
        let found = (premise.holds(&world, &state), condition.holds(&world, &state));
        if found != (!majorities.is_empty(), majorities.is_empty() || agrees) {
            return Err(format!("{found:?}, by definition {majorities:?} {agrees}\n{state:?}"));
        }
        let actions = world.actions(&state);
        let Some(action) = (!actions.is_empty()).then(|| choice.get(&actions)) else { break };
        state = world.apply(&state, action).state;
    }
    Ok(true)
}

#[test]
fn a_majority_is_connected_if_some_set_is() {
    let broken = |(case, nodes): (Case, usize)| {
        let faults = Faults { crashes: 1, cuts: 3, one_way_cuts: 3, ..case.scenario.faults };
        case.with(Scenario { nodes, faults, ..case.scenario })
    };
    let cases = (cases(&every_protocol()), 2..=5_usize).prop_map(broken);
    explore(200, (cases, prop::collection::vec(any::<Index>(), 1..60)), differ);
}
