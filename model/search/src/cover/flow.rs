//! How often each transition is taken at least, if all are taken and the steps are as few as can
//! be.
//!
//! Each is taken once. Where a state is then left more often than it is entered, executions must
//! come from elsewhere: from the initial state, where each may begin, or from a state that is
//! entered more often than it is left, where one need not end. They come over transitions that are
//! taken again, and each of these is a step more. To bring them in the fewest steps is a transport
//! with costs, which the primal-dual method solves (L. R. Ford and D. R. Fulkerson, *Flows in
//! Networks*, 1962): the prices say how far each state is from the next supply; what is wanted is
//! first brought over ways that are as short as the prices say, by blocking flows (E. A. Dinic,
//! 1970), and then the prices rise.

use super::arcs::{Arcs, NONE};
use crate::limits::{Reason, Watch};

/// A flow while it grows.
pub(super) struct Flow<'a> {
    arcs: &'a Arcs,
    /// The transitions that lead to each state: where they begin, and which they are.
    begins: Vec<u32>,
    arriving: Vec<u32>,
    /// How often each transition is taken besides the first time.
    pub(super) again: Vec<u32>,
    /// How many executions each state can still give, the initial one any number.
    spare: Vec<u32>,
    /// How many executions each state still lacks.
    wanted: Vec<u32>,
    /// The price of each state. A transition raises it by no more than 1, and one that is taken
    /// again raises it by 1.
    pub(super) prices: Vec<u32>,
    /// How many transitions each state is from a supply, over those that raise the price by 1, and
    /// back over those that are taken again.
    levels: Vec<u32>,
    /// The next way that each state tries.
    next: Vec<u32>,
}

/// The supply of the initial state.
const ANY: u32 = u32::MAX;

impl<'a> Flow<'a> {
    /// The cheapest.
    pub(super) fn cheapest(arcs: &'a Arcs, watch: &mut Watch<'_>) -> Result<Self, Reason> {
        let mut flow = Flow::once(arcs);
        let mut wanting: Vec<u32> =
            (0..arcs.states() as u32).filter(|&state| flow.wanted[state as usize] > 0).collect();
        while !wanting.is_empty() {
            flow.survey(watch)?;
            let reached = |&state: &u32| flow.levels[state as usize] != NONE;
            if wanting.iter().any(reached) {
                flow.next.fill(0);
                for &state in &wanting {
                    while flow.wanted[state as usize] > 0 && flow.bring(state, watch)? {}
                }
                wanting.retain(|&state| flow.wanted[state as usize] > 0);
            } else {
                for (price, level) in flow.prices.iter_mut().zip(&flow.levels) {
                    *price += u32::from(*level == NONE);
                }
            }
        }
        Ok(flow)
    }

    /// Each transition once.
    fn once(arcs: &'a Arcs) -> Self {
        let states = arcs.states();
        let (mut entered, mut left) = (vec![0_u32; states], vec![0_u32; states]);
        for arc in arcs.within() {
            entered[arcs.target(arc) as usize] += 1;
            left[arcs.source(arc) as usize] += 1;
        }
        let mut begins = vec![0_u32; states + 1];
        for (state, &times) in entered.iter().enumerate() {
            begins[state + 1] = begins[state] + times;
        }
        let mut free = begins.clone();
        let mut arriving = vec![0; begins[states] as usize];
        for arc in arcs.within() {
            let place = &mut free[arcs.target(arc) as usize];
            arriving[*place as usize] = arc;
            *place += 1;
        }
        let more = |a: &[u32], b: &[u32]| -> Vec<u32> {
            a.iter().zip(b).map(|(&a, &b)| a.saturating_sub(b)).collect()
        };
        let (mut spare, mut wanted) = (more(&entered, &left), more(&left, &entered));
        if let (Some(spare), Some(wanted)) = (spare.first_mut(), wanted.first_mut()) {
            (*spare, *wanted) = (ANY, 0);
        }
        Flow {
            arcs,
            begins,
            arriving,
            again: vec![0; arcs.len() as usize],
            spare,
            wanted,
            prices: vec![0; states],
            levels: vec![NONE; states],
            next: vec![0; states],
        }
    }

    fn arriving(&self, state: u32) -> &[u32] {
        let state = state as usize;
        &self.arriving[self.begins[state] as usize..self.begins[state + 1] as usize]
    }

    /// Whether a way as short as the prices say may lead over this transition.
    fn is_tight(&self, arc: u32) -> bool {
        let (source, target) = (self.arcs.source(arc), self.arcs.target(arc));
        self.prices[source as usize] + 1 == self.prices[target as usize]
    }

    /// Finds the levels, breadth first.
    fn survey(&mut self, watch: &mut Watch<'_>) -> Result<(), Reason> {
        let mut queue = Vec::new();
        for (state, level) in self.levels.iter_mut().enumerate() {
            let has_some = self.spare[state] > 0;
            *level = if has_some { 0 } else { NONE };
            if has_some {
                queue.push(state as u32);
            }
        }
        let mut at = 0;
        while let Some(&state) = queue.get(at) {
            at += 1;
            let level = self.levels[state as usize] + 1;
            for arc in self.arcs.leaving(state) {
                watch.step()?;
                if self.arcs.is_within(arc) && self.is_tight(arc) {
                    enter(self.arcs.target(arc), level, &mut self.levels, &mut queue);
                }
            }
            let begin = self.begins[state as usize] as usize;
            let end = self.begins[state as usize + 1] as usize;
            for &arc in &self.arriving[begin..end] {
                if self.again[arc as usize] > 0 {
                    enter(self.arcs.source(arc), level, &mut self.levels, &mut queue);
                }
            }
        }
        Ok(())
    }

    /// Brings executions to a state, along one way; whether there is one.
    fn bring(&mut self, to: u32, watch: &mut Watch<'_>) -> Result<bool, Reason> {
        // The transitions from the state on, against the direction of the executions, and whether
        // each is taken once more, rather than once less.
        let mut way: Vec<(u32, bool)> = Vec::new();
        let mut at = to;
        loop {
            watch.step()?;
            if self.levels[at as usize] == 0 && self.spare[at as usize] > 0 {
                self.take(at, to, &way);
                return Ok(true);
            }
            if let Some((arc, more)) = self.back(at) {
                way.push((arc, more));
                at = if more { self.arcs.source(arc) } else { self.arcs.target(arc) };
                continue;
            }
            self.levels[at as usize] = NONE;
            let Some((arc, more)) = way.pop() else { return Ok(false) };
            at = if more { self.arcs.target(arc) } else { self.arcs.source(arc) };
        }
    }

    /// The next transition by which executions can come to a state from a lower level.
    fn back(&mut self, at: u32) -> Option<(u32, bool)> {
        let state = at as usize;
        let below = self.levels[state].checked_sub(1).filter(|_| self.levels[state] != NONE)?;
        let leaving = self.arcs.leaving(at);
        let arriving = self.arriving(at).len() as u32;
        let ways = arriving + leaving.len() as u32;
        while self.next[state] < ways {
            let next = self.next[state];
            if next < arriving {
                let arc = self.arriving(at)[next as usize];
                let from = self.levels[self.arcs.source(arc) as usize];
                if from == below && self.is_tight(arc) {
                    return Some((arc, true));
                }
            } else {
                let arc = leaving.start + (next - arriving);
                let is_again = self.again[arc as usize] > 0;
                if is_again && self.levels[self.arcs.target(arc) as usize] == below {
                    return Some((arc, false));
                }
            }
            self.next[state] += 1;
        }
        None
    }

    /// As many executions as can be come from one state to another.
    fn take(&mut self, from: u32, to: u32, way: &[(u32, bool)]) {
        let less = way.iter().filter(|(_, more)| !more).map(|&(arc, _)| self.again[arc as usize]);
        let most = self.spare[from as usize].min(self.wanted[to as usize]);
        let times = less.fold(most, u32::min);
        for &(arc, more) in way {
            let again = &mut self.again[arc as usize];
            *again = if more { *again + times } else { *again - times };
        }
        self.wanted[to as usize] -= times;
        if self.spare[from as usize] != ANY {
            self.spare[from as usize] -= times;
        }
    }
}

/// A state has this level, unless it has one.
fn enter(state: u32, level: u32, levels: &mut [u32], queue: &mut Vec<u32>) {
    if levels[state as usize] == NONE {
        levels[state as usize] = level;
        queue.push(state);
    }
}
