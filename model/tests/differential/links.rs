//! Which directions of links are dead, kept once more beside random executions: by what each action
//! says, and nothing else.

use super::explore;
use super::scenario::{Case, cases, every_protocol};
use bellwether_model::protocol::Id;
use bellwether_model::world::{Action, Envelope, Faults, Scenario, State, Ways, World};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;

/// The sender and the receiver of each direction.
type Directions = BTreeSet<(Id, Id)>;

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
    let mut pairs = world.ids().flat_map(|a| world.ids().map(move |b| (a, b)));
    let differs = |&(a, b): &(Id, Id)| state.connected(a, b) == dead.contains(&(a, b));
    let link = pairs.find(|pair| pair.0 != pair.1 && differs(pair));
    let link = link.map(|(a, b)| format!("the link from {a} to {b}"));
    let sent = state.in_flight().iter().find(|e| dead.contains(&(e.from, e.to)));
    link.or(sent.map(|e| format!("{} in flight from {} to {}", e.message.label(), e.from, e.to)))
}

fn differ((case, choices): &(Case, Vec<Index>)) -> Result<bool, String> {
    let Ok(world) = case.world() else { return Ok(false) };
    // What numbers are called would be another matter.
    let world = world.concrete();
    let all = world.ids().flat_map(|a| world.ids().map(move |b| (a, b)));
    let missing: Directions =
        all.filter(|&(a, b)| world.scenario().missing.from_to(a, b)).collect();
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
    explore(200, (cases, prop::collection::vec(any::<Index>(), 1..60)), differ);
}
