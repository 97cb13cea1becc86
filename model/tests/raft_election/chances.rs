//! What becomes of a group if chance alone decides what happens next: a second opinion on liveness,
//! that knows nothing of fairness.

use super::{Fate, RaftElection};
use bellwether_model::property::{self, Condition, Liveness, Temporal};
use bellwether_model::world::{State, World};
use std::collections::HashMap;

/// What happens with probability 1, if each step that the world owes has some probability: every
/// execution ends in a part of the graph that no owed step leaves.
///
/// A step out of the boundary may lead anywhere, so where there is one, nothing is `Stable`. That
/// no leader lasts is said of what is inside.
pub(crate) fn fate(world: &World) -> Fate {
    let graph = Graph::of(world);
    let following = following();
    let (with, without): (Vec<usize>, Vec<usize>) =
        (0..graph.states.len()).partition(|&at| following.holds(world, &graph.states[at]));
    let beyond = graph.beyond.iter().copied();
    let loses_it = graph.leads_to(without.iter().copied().chain(beyond.clone()).collect());
    let for_good: Vec<usize> = with.iter().copied().filter(|&at| !loses_it[at]).collect();
    let none_lasts = for_good.is_empty();
    let lasts = graph.leads_to(for_good);
    let finds_one = graph.leads_to(with.into_iter().chain(beyond).collect());
    if finds_one.contains(&false) {
        Fate::Stuck
    } else if none_lasts {
        Fate::Churn
    } else if graph.beyond.is_empty() && !lasts.contains(&false) {
        Fate::Stable
    } else {
        Fate::Open
    }
}

/// That some leader has a majority behind it.
fn following() -> Condition {
    let named = property::all::<RaftElection>().into_iter().find(|p| p.name == "stable-leader");
    match named.expect("it exists").temporal {
        Temporal::Liveness(Liveness::EventuallyAlways(following)) => following,
        _ => panic!("stable-leader says what lasts in the end"),
    }
}

/// All reachable states within the bounds, and the fair steps between them.
struct Graph {
    states: Vec<State>,
    before: Vec<Vec<usize>>,
    /// Those with an owed step out of the boundary.
    beyond: Vec<usize>,
}

impl Graph {
    fn of(world: &World) -> Graph {
        let mut graph = Graph { states: Vec::new(), before: Vec::new(), beyond: Vec::new() };
        let mut known = HashMap::new();
        graph.number(&mut known, world.initial());
        let mut next = 0;
        while let Some(state) = graph.states.get(next).cloned() {
            let mut actions = Vec::new();
            world.enabled(&state, &mut actions);
            for action in actions {
                let after = world.apply(&state, &action).state;
                if world.within_bounds(&after) {
                    let after = graph.number(&mut known, after);
                    if world.is_fair(&action) {
                        graph.before[after].push(next);
                    }
                } else if world.is_fair(&action) {
                    graph.beyond.push(next);
                }
            }
            next += 1;
        }
        graph
    }

    fn number(&mut self, known: &mut HashMap<State, usize>, state: State) -> usize {
        *known.entry(state).or_insert_with_key(|state| {
            self.states.push(state.clone());
            self.before.push(Vec::new());
            self.states.len() - 1
        })
    }

    /// For each state, whether owed steps can lead from it to one of these.
    fn leads_to(&self, mut these: Vec<usize>) -> Vec<bool> {
        let mut reached = vec![false; self.states.len()];
        these.iter().for_each(|&at| reached[at] = true);
        while let Some(at) = these.pop() {
            for &before in &self.before[at] {
                if !reached[before] {
                    reached[before] = true;
                    these.push(before);
                }
            }
        }
        reached
    }
}
