//! The state graph: every reachable state, whole, and every transition between them.
//!
//! States are kept as they are, not as 64-bit fingerprints, so what holds in every state of a
//! complete graph is proved for that world. They are numbered in breadth-first order: the path to
//! a state through its [parents](StateGraph::path) is a shortest one, and the same in every run.

use super::rows::{Fairness, OUTSIDE, Rows};
use super::{Limits, Progress, Reason};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use stateright::Model;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Instant;

/// How many states are expanded between two looks at the clock.
const BETWEEN_LOOKS: u32 = 1 << 10;

/// A model that says what the world owes to the processes.
pub trait Fair: Model {
    /// What it owes to an action.
    fn fairness(&self, action: &Self::Action) -> Fairness;

    /// Whether some action may be strongly fair.
    fn has_strong(&self) -> bool;
}

/// Every reachable state of a model, in breadth-first order, and the transitions between them.
pub struct StateGraph<'m, M: Fair> {
    model: &'m M,
    states: IndexSet<M::State, FxBuildHasher>,
    /// The state from which each was first reached, and the position of the action there.
    parents: Vec<(u32, u16)>,
    /// Where each state's transitions begin in `targets`; empty if transitions were not kept.
    offsets: Vec<usize>,
    /// For each enabled action of each state, in the model's order, the state it leads to.
    targets: Vec<u32>,
    initial: Vec<u32>,
    /// Whether nothing fair is enabled in a state.
    stutters: Vec<bool>,
    generated: u64,
    depth: usize,
    leaves_boundary: bool,
    cut_short: Option<Reason>,
}

impl<'m, M: Fair> StateGraph<'m, M>
where
    M::State: Clone + Eq + Hash,
    M::Action: Clone,
{
    /// Searches `model`, calling `found` with each state's number and the state when it is first
    /// reached, and `look` now and then. Transitions are kept if `edges` is true.
    pub fn explore(
        model: &'m M,
        limits: &Limits,
        edges: bool,
        mut found: impl FnMut(u32, &M::State),
        look: &mut dyn FnMut(Progress),
    ) -> Self {
        let mut graph = StateGraph {
            model,
            states: IndexSet::default(),
            parents: Vec::new(),
            offsets: if edges { vec![0] } else { Vec::new() },
            targets: Vec::new(),
            initial: Vec::new(),
            stutters: Vec::new(),
            generated: 0,
            depth: 0,
            leaves_boundary: false,
            cut_short: None,
        };
        for state in model.init_states() {
            graph.generated += 1;
            let number = graph.reach(state, (0, 0), &mut found);
            graph.initial.push(number);
        }
        let started = Instant::now();
        let mut actions = Vec::new();
        let (mut at, mut level_end) = (0, 0);
        while at < graph.len() {
            if at == level_end {
                graph.depth += 1;
                level_end = graph.len();
            }
            let enough = limits.states.is_some_and(|most| u64::from(graph.len()) >= most);
            if at % BETWEEN_LOOKS == 0 || enough {
                let progress = Progress {
                    distinct: u64::from(graph.len()),
                    generated: graph.generated,
                    frontier: Some(u64::from(graph.len() - at)),
                    elapsed: started.elapsed(),
                };
                graph.cut_short = limits.exceeded(&progress);
                if graph.cut_short.is_some() {
                    break;
                }
                look(progress);
            }
            graph.expand(at, edges, &mut actions, &mut found);
            at += 1;
        }
        graph
    }

    fn expand(
        &mut self,
        at: u32,
        edges: bool,
        actions: &mut Vec<M::Action>,
        found: &mut impl FnMut(u32, &M::State),
    ) {
        let state = self.state(at).clone();
        actions.clear();
        self.model.actions(&state, actions);
        if edges {
            let fair = |action: &M::Action| self.model.fairness(action) != Fairness::None;
            self.stutters.push(!actions.iter().any(fair));
        }
        for (position, action) in actions.drain(..).enumerate() {
            let next = self.model.next_state(&state, action);
            let target = match next {
                Some(next) if self.model.within_boundary(&next) => {
                    self.generated += 1;
                    let position = u16::try_from(position).unwrap_or(u16::MAX);
                    self.reach(next, (at, position), found)
                }
                Some(_) => {
                    self.leaves_boundary = true;
                    OUTSIDE
                }
                None => at,
            };
            if edges {
                self.targets.push(target);
            }
        }
        if edges {
            self.offsets.push(self.targets.len());
        }
    }

    fn reach(
        &mut self,
        state: M::State,
        parent: (u32, u16),
        found: &mut impl FnMut(u32, &M::State),
    ) -> u32 {
        let (index, new) = self.states.insert_full(state);
        let index = u32::try_from(index).unwrap_or(OUTSIDE);
        if new {
            self.parents.push(parent);
            found(index, self.state(index));
        }
        index
    }

    /// The number of states.
    pub fn len(&self) -> u32 {
        u32::try_from(self.states.len()).unwrap_or(OUTSIDE)
    }

    /// Whether there is no state at all.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The model.
    pub fn model(&self) -> &'m M {
        self.model
    }

    /// The state with this number.
    ///
    /// # Panics
    /// If there is none.
    pub fn state(&self, number: u32) -> &M::State {
        &self.states[number as usize]
    }

    /// Initial states and enabled action instances, those that leave the boundary left out.
    pub fn generated(&self) -> u64 {
        self.generated
    }

    /// The number of breadth-first levels, the initial states being the first.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Whether some transition leaves the boundary of the search.
    pub fn leaves_boundary(&self) -> bool {
        self.leaves_boundary
    }

    /// Why the search ended before everything was reached, if it did.
    pub fn cut_short(&self) -> Option<Reason> {
        self.cut_short
    }

    /// The states that the enabled actions of a state lead to, in the order of the actions;
    /// [`OUTSIDE`] where one leaves the boundary. Empty if transitions were not kept.
    pub fn successors(&self, number: u32) -> &[u32] {
        match self.offsets.get(number as usize..=number as usize + 1) {
            Some(&[begin, end]) => &self.targets[begin..end],
            _ => &[],
        }
    }

    /// The actions enabled in a state, in the model's order.
    pub fn actions(&self, number: u32) -> Vec<M::Action> {
        let mut actions = Vec::new();
        self.model.actions(self.state(number), &mut actions);
        actions
    }

    /// The actions of a shortest path from an initial state to this one.
    pub fn path(&self, number: u32) -> Vec<M::Action> {
        let mut path = Vec::new();
        let mut at = number;
        // A parent has a smaller number than its child; an initial state is its own.
        while let Some(&(parent, position)) = self.parents.get(at as usize) {
            if parent >= at {
                break;
            }
            path.extend(self.actions(parent).into_iter().nth(usize::from(position)));
            at = parent;
        }
        path.reverse();
        path
    }
}

impl<M> Rows for StateGraph<'_, M>
where
    M: Fair + Sync,
    M::State: Clone + Eq + Hash + Sync,
    M::Action: Clone + Eq + Hash + Debug,
{
    type Action = M::Action;

    fn len(&self) -> u32 {
        self.len()
    }

    fn initial(&self) -> &[u32] {
        &self.initial
    }

    fn successors(&self, number: u32) -> &[u32] {
        self.successors(number)
    }

    fn actions(&self, number: u32) -> Vec<M::Action> {
        self.actions(number)
    }

    fn fairness(&self, action: &M::Action) -> Fairness {
        self.model.fairness(action)
    }

    fn stutters(&self, number: u32) -> bool {
        self.stutters[number as usize]
    }

    fn has_strong(&self) -> bool {
        self.model.has_strong()
    }
}
