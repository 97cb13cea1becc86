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
mod paths;

#[cfg(test)]
mod tests;

use crate::limits::Reason;
use crate::rows::Rows;
use crate::watch::Watch;
use arcs::Arcs;
use flow::Flow;
use paths::Paths;

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
