//! The transitions of a graph, in the order in which a breadth-first search meets them.

use crate::limits::{Reason, Watch};
use crate::rows::{OUTSIDE, Rows};
use std::ops::Range;

/// The number of no transition, and of no state.
pub(super) const NONE: u32 = u32::MAX;

/// The states in the order in which a breadth-first search meets them, the initial one being 0, and
/// their transitions in the order of the actions.
pub(super) struct Arcs {
    /// The number of each state in the rows.
    rows: Vec<u32>,
    /// Where the transitions of each state begin, and where the last ones end.
    begins: Vec<u32>,
    sources: Vec<u32>,
    /// Where each leads; [`OUTSIDE`] where it leaves the bounds of the search.
    targets: Vec<u32>,
    /// The transition by which each state is met.
    first: Vec<u32>,
    /// How many transitions each state is away from the initial one.
    depths: Vec<u32>,
}

impl Arcs {
    /// Those of a graph with one initial state.
    pub(super) fn of(rows: &impl Rows, watch: &mut Watch<'_>) -> Result<Arcs, Reason> {
        let mut numbers = vec![NONE; rows.len() as usize];
        let mut arcs = Arcs {
            rows: Vec::new(),
            begins: vec![0],
            sources: Vec::new(),
            targets: Vec::new(),
            first: Vec::new(),
            depths: Vec::new(),
        };
        if let Some(&initial) = rows.initial().first() {
            arcs.meet(initial, NONE, 0, &mut numbers);
        }
        let mut at = 0;
        while let Some(&state) = arcs.rows.get(at) {
            let depth = arcs.depths[at] + 1;
            for &to in rows.successors(state) {
                watch.step()?;
                let arc = arcs.targets.len() as u32;
                if arc == NONE {
                    return Err(Reason::TooMany);
                }
                let target = match numbers.get(to as usize) {
                    // What leaves the bounds has a number beyond all states.
                    None => OUTSIDE,
                    Some(&NONE) => arcs.meet(to, arc, depth, &mut numbers),
                    Some(&known) => known,
                };
                arcs.sources.push(at as u32);
                arcs.targets.push(target);
            }
            arcs.begins.push(arcs.targets.len() as u32);
            at += 1;
        }
        Ok(arcs)
    }

    /// A state that is new; its number.
    fn meet(&mut self, state: u32, by: u32, depth: u32, numbers: &mut [u32]) -> u32 {
        let number = self.rows.len() as u32;
        numbers[state as usize] = number;
        self.rows.push(state);
        self.first.push(by);
        self.depths.push(depth);
        number
    }

    pub(super) fn states(&self) -> usize {
        self.rows.len()
    }

    /// How many transitions there are, those that leave the bounds among them.
    pub(super) fn len(&self) -> u32 {
        self.targets.len() as u32
    }

    /// The transitions within the bounds.
    pub(super) fn within(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter(|&arc| self.is_within(arc))
    }

    pub(super) fn is_within(&self, arc: u32) -> bool {
        self.target(arc) != OUTSIDE
    }

    /// The transitions of a state, those that leave the bounds among them.
    pub(super) fn leaving(&self, state: u32) -> Range<u32> {
        self.begins[state as usize]..self.begins[state as usize + 1]
    }

    pub(super) fn source(&self, arc: u32) -> u32 {
        self.sources[arc as usize]
    }

    pub(super) fn target(&self, arc: u32) -> u32 {
        self.targets[arc as usize]
    }

    pub(super) fn depth(&self, state: u32) -> u32 {
        self.depths[state as usize]
    }

    /// How far away the farthest state is.
    pub(super) fn deepest(&self) -> u32 {
        self.depths.last().copied().unwrap_or(0)
    }

    /// The state of the rows in which a transition begins, and its position there.
    pub(super) fn place(&self, arc: u32) -> (u32, usize) {
        let source = self.source(arc);
        (self.rows[source as usize], (arc - self.leaving(source).start) as usize)
    }

    pub(super) fn leads_to(&self, arc: u32) -> Option<u32> {
        self.rows.get(self.target(arc) as usize).copied()
    }

    /// The first shortest way to a state.
    pub(super) fn way(&self, mut state: u32) -> Vec<u32> {
        let mut way = Vec::new();
        while self.first[state as usize] != NONE {
            let arc = self.first[state as usize];
            way.push(arc);
            state = self.source(arc);
        }
        way.reverse();
        way
    }
}
