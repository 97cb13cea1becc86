//! Liveness under weak fairness, decided on the state graph.
//!
//! `◇□ P` fails if and only if some execution that is fair visits a state without `P` for ever
//! again. Such an execution ends up inside one strongly connected component, and weak fairness
//! asks that every owed action that is enabled in all states it visits is also taken. In a maximal
//! component this is the easiest: an owed action that is enabled throughout the whole component and
//! never taken in it has the same fate in every part of it. So it suffices to look at each maximal
//! component once. A state alone is a component too; an execution may stay there for ever
//! (*stutter*) if nothing owed is enabled in it.
//!
//! A transition that leaves the boundary of the search is enabled but cannot be followed. A
//! violation found is real nevertheless; that there is none proves nothing then.

use super::graph::{OUTSIDE, StateGraph};
use super::scc;
use rustc_hash::FxHashMap;
use stateright::Model;
use std::collections::VecDeque;
use std::hash::Hash;

/// A model that says which actions the world owes to the processes.
pub trait Fair: Model {
    /// Whether weak fairness holds for this action: if it stays enabled, it happens.
    fn is_owed(&self, action: &Self::Action) -> bool;
}

/// An execution: `stem` once, then `cycle` for ever; if that is empty, nothing happens any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso<A> {
    /// From an initial state to the cycle.
    pub stem: Vec<A>,
    /// What repeats.
    pub cycle: Vec<A>,
}

/// A fair execution that violates `◇□ good`, if there is one; `None` proves the property unless
/// the graph is [cut short](StateGraph::cut_short) or [leaves its
/// boundary](StateGraph::leaves_boundary). The stem is as short as any.
pub fn violation<M>(
    graph: &StateGraph<'_, M>,
    good: impl Fn(&M::State) -> bool,
) -> Option<Lasso<M::Action>>
where
    M: Fair,
    M::State: Clone + Eq + Hash,
    M::Action: Clone + Eq + Hash,
{
    let components = scc::components(graph.len(), |number| graph.successors(number));
    let mut fair: FxHashMap<u32, bool> = FxHashMap::default();
    // States are numbered in breadth-first order, so the first hit has a shortest stem.
    (0..graph.len()).filter(|&number| !good(graph.state(number))).find_map(|number| {
        let component = components.of(number);
        let members = components.members(component);
        let is_fair = *fair.entry(component).or_insert_with(|| is_fair(graph, members));
        is_fair.then(|| Lasso { stem: graph.path(number), cycle: cycle(graph, members, number) })
    })
}

/// Whether an execution can stay in the component for ever and be fair.
fn is_fair<M>(graph: &StateGraph<'_, M>, members: &[u32]) -> bool
where
    M: Fair,
    M::State: Clone + Eq + Hash,
    M::Action: Clone + Eq + Hash,
{
    // Owed actions that are enabled in every state looked at so far.
    let Some(&first) = members.first() else { return false };
    let mut always: Vec<M::Action> = owed(graph, first);
    for &number in &members[1..] {
        if always.is_empty() {
            return true;
        }
        let here = owed(graph, number);
        always.retain(|action| here.contains(action));
    }
    // Those must be taken somewhere inside.
    for &number in members {
        if always.is_empty() {
            break;
        }
        for (action, target) in transitions(graph, number) {
            if members.binary_search(&target).is_ok() {
                always.retain(|owed| *owed != action);
            }
        }
    }
    always.is_empty()
}

/// A cycle from `start` back to it inside its component that is fair: for every owed action it
/// takes it, or passes a state in which it is not enabled. Empty if staying put is fair.
fn cycle<M>(graph: &StateGraph<'_, M>, members: &[u32], start: u32) -> Vec<M::Action>
where
    M: Fair,
    M::State: Clone + Eq + Hash,
    M::Action: Clone + Eq + Hash,
{
    let mut pending = owed(graph, start);
    let mut cycle = Vec::new();
    let mut at = start;
    while !pending.is_empty() {
        let walk = walk(graph, members, at, |from, action, _| {
            let here = owed(graph, from);
            pending.iter().any(|p| p == action || !here.contains(p))
        });
        // The component is fair, so everything pending can be met somewhere in it.
        let Some(walk) = walk else { break };
        for (from, action, to) in walk {
            let here = owed(graph, from);
            pending.retain(|p| *p != action && here.contains(p));
            cycle.push(action);
            at = to;
        }
    }
    if at != start {
        let home = walk(graph, members, at, |_, _, to| to == start).unwrap_or_default();
        cycle.extend(home.into_iter().map(|(_, action, _)| action));
    }
    cycle
}

type Walk<A> = Vec<(u32, A, u32)>;

/// A shortest walk inside the component from `start` whose last transition satisfies `wanted`.
fn walk<M>(
    graph: &StateGraph<'_, M>,
    members: &[u32],
    start: u32,
    wanted: impl Fn(u32, &M::Action, u32) -> bool,
) -> Option<Walk<M::Action>>
where
    M: Fair,
    M::State: Clone + Eq + Hash,
    M::Action: Clone + Eq + Hash,
{
    let mut came: FxHashMap<u32, (u32, M::Action)> = FxHashMap::default();
    let mut queue = VecDeque::from([start]);
    while let Some(from) = queue.pop_front() {
        for (action, to) in transitions(graph, from) {
            if members.binary_search(&to).is_err() {
                continue;
            }
            if wanted(from, &action, to) {
                let mut walk = vec![(from, action, to)];
                let mut at = from;
                while at != start {
                    let Some((before, action)) = came.get(&at).cloned() else { break };
                    walk.push((before, action, at));
                    at = before;
                }
                walk.reverse();
                return Some(walk);
            }
            if to != start && !came.contains_key(&to) {
                came.insert(to, (from, action));
                queue.push_back(to);
            }
        }
    }
    None
}

fn owed<M>(graph: &StateGraph<'_, M>, number: u32) -> Vec<M::Action>
where
    M: Fair,
    M::State: Clone + Eq + Hash,
    M::Action: Clone + Eq + Hash,
{
    let mut actions = graph.actions(number);
    actions.retain(|action| graph.model().is_owed(action));
    actions
}

fn transitions<M>(graph: &StateGraph<'_, M>, number: u32) -> impl Iterator<Item = (M::Action, u32)>
where
    M: Fair,
    M::State: Clone + Eq + Hash,
    M::Action: Clone + Eq + Hash,
{
    let targets = graph.successors(number).iter().copied();
    graph.actions(number).into_iter().zip(targets).filter(|&(_, target)| target != OUTSIDE)
}
