//! Which directions of links are dead, and which majorities are up and connected, found once more
//! beside random executions: by what each action says, and by trying every set of processes.

use super::explore;
use super::liveness::lasting;
use super::scenario::{Case, cases, every_protocol};
use bellwether_model::property;
use bellwether_model::protocol::{Belief, Id};
use bellwether_model::world::{Action, Envelope, Faults, Scenario, State, Ways, World};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;

/// The sender and the receiver of each direction.
type Directions = BTreeSet<(Id, Id)>;

/// Every process with every one.
fn pairs(world: &World) -> impl Iterator<Item = (Id, Id)> {
    let ids = world.ids();
    ids.clone().flat_map(move |a| ids.clone().map(move |b| (a, b)))
}

/// The directions that an action kills, or brings back.
fn directions(a: Id, b: Id, ways: Ways) -> Directions {
    match ways {
        Ways::Both => [(a, b), (b, a)].into(),
        Ways::One => [(a, b)].into(),
    }
}

fn in_flight(state: &State, dead: &Directions) -> Vec<Envelope> {
    let alive = |e: &&Envelope| !dead.contains(&(e.from, e.to));
    state.in_flight().iter().filter(alive).copied().collect()
}

/// What is wrong with the links of a state, if these are dead.
fn wrong(world: &World, state: &State, dead: &Directions) -> Option<String> {
    let differs = |&(a, b): &(Id, Id)| state.connected(a, b) == dead.contains(&(a, b));
    let link = pairs(world).find(|pair| pair.0 != pair.1 && differs(pair));
    let link = link.map(|(a, b)| format!("the link from {a} to {b}"));
    let sent = state.in_flight().iter().find(|e| dead.contains(&(e.from, e.to)));
    link.or(sent.map(|e| format!("{} in flight from {} to {}", e.message.label(), e.from, e.to)))
}

fn links_differ((case, choices): &(Case, Vec<Index>)) -> Result<bool, String> {
    let Ok(world) = case.world() else { return Ok(false) };
    // What numbers are called would be another matter.
    let world = world.concrete();
    let gone = world.scenario().missing;
    let missing: Directions = pairs(&world).filter(|&(a, b)| gone.from_to(a, b)).collect();
    let (mut dead, mut state) = (missing.clone(), world.initial());
    for choice in choices {
        if let Some(wrong) = wrong(&world, &state, &dead) {
            return Err(format!("{wrong}\n{state:?}"));
        }
        let actions = world.actions(&state);
        let Some(action) = (!actions.is_empty()).then(|| choice.get(&actions)) else { break };
        let next = world.apply(&state, action).state;
        match *action {
            Action::Cut(a, b, ways) => {
                let cut = directions(a, b, ways);
                dead.extend(cut.iter().copied());
                if in_flight(&state, &cut) != next.in_flight() {
                    return Err(format!("{action} loses something else\n{state:?}"));
                }
            }
            Action::Heal(a, b, ways) => {
                let healed = directions(a, b, ways);
                if !healed.is_subset(&dead) || !healed.is_disjoint(&missing) {
                    return Err(format!("{action}, but it was not cut\n{state:?}"));
                }
                dead.retain(|direction| !healed.contains(direction));
            }
            _ => {}
        }
        state = next;
    }
    Ok(true)
}

#[test]
fn what_is_cut_is_dead_until_it_heals_and_nothing_else_is() {
    let broken = |(case, (cuts, one_way_cuts)): (Case, (u8, u8))| {
        let faults = Faults { cuts, one_way_cuts, ..case.scenario.faults };
        case.with(Scenario { faults, ..case.scenario })
    };
    let cases = (cases(&every_protocol()), (0..3_u8, 0..3_u8)).prop_map(broken);
    explore(200, (cases, prop::collection::vec(any::<Index>(), 1..60)), links_differ);
}

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
        members.iter().copied().filter(|id| bits & 1 << id.index() != 0).collect()
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
fn majorities_differ((case, choices): &(Case, Vec<Index>)) -> Result<bool, String> {
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
    explore(200, (cases, prop::collection::vec(any::<Index>(), 1..60)), majorities_differ);
}
