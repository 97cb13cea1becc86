//! Executions that together take every transition at least once, in the fewest steps.
//!
//! An execution is a path from the initial state, and may end anywhere. How often each transition
//! is taken in all is a flow: at least once each, and no state is left more often than it is
//! entered, but for the initial one. The reverse is true as well. Every state is reached over
//! transitions that are all taken, so such a flow can be taken apart into executions without
//! another step. So the fewest steps are the cheapest such flow, which `flow` finds exactly.
//!
//! What shows that there are no fewer is a price for each state, 0 for the initial one, that no
//! transition raises by more than 1. A transition is worth what is left of that 1. The worths on an
//! execution add up to its steps less the price of its last state, so to no more than its steps.
//! Every transition is on some execution. So all executions together have at least as many steps as
//! all transitions are worth: the [bound](Cover::bound). It needs no trust in the flow.

mod arcs;
mod flow;

#[cfg(test)]
mod tests;

use crate::limits::{Reason, Watch};
use crate::rows::Rows;
use arcs::{Arcs, NONE};
use flow::Flow;

/// Executions that together take every transition of a graph. Transitions have numbers.
pub struct Cover {
    arcs: Arcs,
    prices: Vec<u32>,
    executions: Vec<Vec<u32>>,
}

/// Finds executions that together take every transition within the bounds of the search, from the
/// initial state, of which there must be one. A long execution is cut where that costs little: all
/// together have at most a twentieth more steps than the fewest.
///
/// # Errors
/// The reason, if `watch` ends it.
pub fn cover(rows: &impl Rows, watch: &mut Watch<'_>) -> Result<Cover, Reason> {
    let arcs = Arcs::of(rows, watch)?;
    let Flow { again, prices, .. } = Flow::cheapest(&arcs, watch)?;
    let mut cover = Cover { arcs, prices, executions: Vec::new() };
    let paths = Paths::of(&cover.arcs, &again, watch)?;
    cover.executions = paths.shortened(cover.bound() / 20, watch)?;
    Ok(cover)
}

impl Cover {
    /// Returns the number of states.
    #[must_use]
    pub fn states(&self) -> u64 {
        self.arcs.states() as u64
    }

    /// Returns the number of transitions within the bounds of the search: those that are covered.
    #[must_use]
    pub fn transitions(&self) -> u64 {
        self.arcs.within().count() as u64
    }

    /// Returns the number of transitions that leave the bounds of the search. No execution takes
    /// them.
    #[must_use]
    pub fn outside(&self) -> u64 {
        u64::from(self.arcs.len()) - self.transitions()
    }

    /// Returns the numbers of all transitions, those that leave the bounds among them: one more
    /// than the highest.
    #[must_use]
    pub fn numbers(&self) -> u32 {
        self.arcs.len()
    }

    /// Returns the executions, each as the numbers of its transitions; a shorter one comes before a
    /// longer one. Each takes a transition that no other takes.
    #[must_use]
    pub fn executions(&self) -> &[Vec<u32>] {
        &self.executions
    }

    /// Returns the number of steps of all executions.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.executions.iter().map(|execution| execution.len() as u64).sum()
    }

    /// Returns a number of steps that no executions can do with fewer of, if they take every
    /// transition: what all transitions are worth.
    #[must_use]
    pub fn bound(&self) -> u64 {
        let worth = |arc| 1 + self.price(self.arcs.source(arc)) - self.price(self.arcs.target(arc));
        self.arcs.within().map(worth).sum()
    }

    fn price(&self, state: u32) -> u64 {
        u64::from(self.prices[state as usize])
    }

    /// Returns where a transition begins: the number of the state in the rows, and the position
    /// among its successors.
    #[must_use]
    pub fn place(&self, transition: u32) -> (u32, usize) {
        self.arcs.place(transition)
    }

    /// Returns the number of the state in the rows to which a transition leads; `None` if it leaves
    /// the bounds of the search.
    #[must_use]
    pub fn leads_to(&self, transition: u32) -> Option<u32> {
        self.arcs.leads_to(transition)
    }

    /// Returns the first shortest execution that ends with this transition.
    #[must_use]
    pub fn shortest(&self, transition: u32) -> Vec<u32> {
        let mut way = self.arcs.way(self.arcs.source(transition));
        way.push(transition);
        way
    }
}

/// No execution that is shorter is cut.
const SHORT: usize = 64;

/// Executions that together take each transition as often as a flow says.
struct Paths<'a> {
    arcs: &'a Arcs,
    executions: Vec<Vec<u32>>,
}

impl<'a> Paths<'a> {
    /// Those of a flow that takes each transition once, and so often again. If each execution went
    /// back to the initial state from its end, each state would be left as often as it is entered,
    /// and all would be one round (C. Hierholzer, 1873). So that round is found, and cut there.
    fn of(arcs: &'a Arcs, again: &[u32], watch: &mut Watch<'_>) -> Result<Self, Reason> {
        let mut left = vec![0; again.len()];
        let mut ends = vec![0_i64; arcs.states()];
        for arc in arcs.within() {
            let times = again[arc as usize] + 1;
            left[arc as usize] = times;
            ends[arcs.target(arc) as usize] += i64::from(times);
            ends[arcs.source(arc) as usize] -= i64::from(times);
        }
        // The states on the way, and how each was left.
        let mut way: Vec<(u32, u32)> = Vec::new();
        let mut round = Vec::new();
        let mut next: Vec<u32> = (0..arcs.states() as u32).map(|s| arcs.leaving(s).start).collect();
        let mut at = 0;
        while let Some(arc) = next.get_mut(at as usize) {
            watch.step()?;
            let end = arcs.leaving(at).end;
            while *arc < end && left[*arc as usize] == 0 {
                *arc += 1;
            }
            if *arc < end {
                left[*arc as usize] -= 1;
                way.push((at, *arc));
                at = arcs.target(*arc);
            } else if at != 0 && ends[at as usize] > 0 {
                ends[at as usize] -= 1;
                way.push((at, NONE));
                at = 0;
            } else if let Some((from, arc)) = way.pop() {
                round.push(arc);
                at = from;
            } else {
                break;
            }
        }
        round.reverse();
        let executions = round.split(|&arc| arc == NONE).filter(|steps| !steps.is_empty());
        Ok(Paths { arcs, executions: executions.map(<[u32]>::to_vec).collect() })
    }

    /// The same transitions in shorter executions, as far as so many steps more allow; those that
    /// take nothing that no other takes are left out, and the shortest is the first.
    fn shortened(self, spare: u64, watch: &mut Watch<'_>) -> Result<Vec<Vec<u32>>, Reason> {
        let arcs = self.arcs;
        let mut longest = SHORT.max(2 * arcs.deepest() as usize);
        loop {
            watch.now()?;
            let cost = |execution: &Vec<u32>| cuts(arcs, execution, longest).1;
            if self.executions.iter().map(cost).sum::<u64>() <= spare {
                break;
            }
            longest *= 2;
        }
        let mut pieces = Vec::with_capacity(self.executions.len());
        for execution in self.executions {
            let (mut ends, _) = cuts(arcs, &execution, longest);
            ends.push(execution.len());
            let mut begin = 0;
            for end in ends {
                let mut piece = arcs.way(arcs.source(execution[begin]));
                piece.extend(&execution[begin..end]);
                pieces.push(piece);
                begin = end;
            }
        }
        let mut needed = needed(arcs, pieces);
        needed.sort_by_key(Vec::len);
        Ok(needed)
    }
}

/// Where to cut an execution so that no piece is longer than this, each with the way to where it
/// begins; and how many steps these ways have.
fn cuts(arcs: &Arcs, execution: &[u32], longest: usize) -> (Vec<usize>, u64) {
    let depth = |at: usize| arcs.depth(arcs.source(execution[at])) as usize;
    let (mut cuts, mut cost) = (Vec::new(), 0);
    let (mut begin, mut before) = (0, 0);
    while execution.len() - begin + before > longest {
        // `longest` is at least twice as long as each way.
        let room = longest - before;
        let places = (begin + room / 2 + 1)..=(begin + room);
        begin = places.rev().min_by_key(|&at| depth(at)).unwrap_or(begin + room);
        before = depth(begin);
        cuts.push(begin);
        cost += before as u64;
    }
    (cuts, cost)
}

/// The executions without those of which every transition is taken by others as well.
fn needed(arcs: &Arcs, mut executions: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let mut times = vec![0_u32; arcs.len() as usize];
    for &arc in executions.iter().flatten() {
        times[arc as usize] += 1;
    }
    executions.retain(|execution| {
        for &arc in execution {
            times[arc as usize] -= 1;
        }
        let is_needed = execution.iter().any(|&arc| times[arc as usize] == 0);
        if is_needed {
            for &arc in execution {
                times[arc as usize] += 1;
            }
        }
        is_needed
    });
    executions
}
