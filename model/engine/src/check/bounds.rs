//! The most of something that an execution can gain: the longest path over the state graph.
//!
//! Where a transition inside a component gains, going round it again and again gains without end.
//! Fairness does not matter: each of these executions can stop going round after any number of
//! rounds and be fair from then on. Otherwise the components form an acyclic graph, and the
//! longest path is found backwards, each component after those that can be reached from it.

mod tally;
mod until;
mod world;

pub use tally::Tally;
pub(super) use tally::gains;
pub use until::Until;
pub use world::{Bounds, Line, bounds};
pub(super) use world::{THE_MOST, UNBOUNDED};

use super::liveness::Lasso;
use super::rows::{OUTSIDE, Rows};
use super::{Reason, Watch};
use bellwether_search::scc::{self, Groups, NEW};
use std::collections::VecDeque;

/// The bound on what an execution gains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound<A> {
    /// The most that an execution gains, and one that gains it: a shortest one, and of those the
    /// first in the order of actions.
    Most(u64, Vec<A>),
    /// The gain has no bound: an execution that gains in every round of its cycle.
    Unbounded(Lasso<A>),
}

impl<A> Bound<A> {
    /// Returns the same bound, with its execution in what actions stand for.
    pub fn map<B>(self, of: impl Fn(&[A]) -> Vec<B>) -> Bound<B> {
        match self {
            Bound::Most(most, steps) => Bound::Most(most, of(&steps)),
            Bound::Unbounded(Lasso { stem, cycle }) => {
                Bound::Unbounded(Lasso { stem: of(&stem), cycle: of(&cycle) })
            }
        }
    }
}

/// The order of the components of a graph, in which longest paths are found.
pub struct ComponentOrder<'r, R: Rows> {
    rows: &'r R,
    /// Each component after those that can be reached from it.
    components: Groups,
    /// The number of each state's component.
    home: Vec<u32>,
}

/// A transition: a state, and the position of the action there.
type Move = (u32, usize);

impl<'r, R: Rows> ComponentOrder<'r, R> {
    /// Returns the order of this graph.
    ///
    /// # Errors
    /// The reason, if `watch` ends it.
    pub fn new(rows: &'r R, watch: &mut Watch<'_>) -> Result<Self, Reason> {
        let mut marks = vec![NEW; rows.len() as usize];
        let mut home = vec![0; rows.len() as usize];
        let mut components = Groups::default();
        let mut number = 0;
        let tell = |members: &[u32], _| {
            for &member in members {
                home[member as usize] = number;
            }
            components.push(members);
            number += 1;
        };
        scc::search(rows, 0..rows.len(), |_| true, &mut marks, watch, tell)?;
        Ok(ComponentOrder { rows, components, home })
    }

    /// Returns the most that an execution gains, if a transition gains what `gain` says of its
    /// state and the position of its action there.
    ///
    /// # Errors
    /// The reason, if `watch` ends it.
    pub fn bound(
        &self,
        gain: impl Fn(u32, usize) -> u32,
        watch: &mut Watch<'_>,
    ) -> Result<Bound<R::Action>, Reason> {
        let Some(ahead) = self.ahead(&gain, watch)? else {
            return Ok(Bound::Unbounded(self.gaining_round(&gain, watch)?));
        };
        let first = self.rows.initial().iter();
        let most = first.map(|&number| ahead[number as usize]).max().unwrap_or(0);
        let begins = |number: u32| ahead[number as usize] == most;
        // An execution that keeps to transitions that lose nothing gains the most.
        let keeps = |from: u32, at: usize, to: u32| {
            to != OUTSIDE && ahead[from as usize] == ahead[to as usize] + u64::from(gain(from, at))
        };
        let way = self.shortest(begins, keeps, |number| ahead[number as usize] == 0, watch)?;
        Ok(Bound::Most(most, self.named(way.unwrap_or_default())))
    }

    fn named(&self, moves: Vec<Move>) -> Vec<R::Action> {
        let name = |(from, at)| self.rows.actions(from).into_iter().nth(at);
        moves.into_iter().filter_map(name).collect()
    }

    /// What can still be gained from each state on; `None` if that is unbounded somewhere.
    fn ahead(
        &self,
        gain: impl Fn(u32, usize) -> u32,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<u64>>, Reason> {
        let mut ahead = vec![0_u64; self.rows.len() as usize];
        for members in self.components.iter() {
            let mut most = 0;
            for &from in members {
                watch.step()?;
                for (at, &to) in self.rows.successors(from).iter().enumerate() {
                    if to == OUTSIDE {
                    } else if self.home[to as usize] != self.home[from as usize] {
                        most = most.max(ahead[to as usize] + u64::from(gain(from, at)));
                    } else if gain(from, at) > 0 {
                        return Ok(None);
                    }
                }
            }
            // Inside, everything can be reached without a gain.
            for &member in members {
                ahead[member as usize] = most;
            }
        }
        Ok(Some(ahead))
    }

    /// The first transition, breadth-first, that gains inside a component, and the way back.
    fn gaining_round(
        &self,
        gain: impl Fn(u32, usize) -> u32,
        watch: &mut Watch<'_>,
    ) -> Result<Lasso<R::Action>, Reason> {
        let inside = |from: u32, to: u32| {
            to != OUTSIDE && self.home[to as usize] == self.home[from as usize]
        };
        let gains = |from: u32| {
            let targets = self.rows.successors(from).iter().copied().enumerate();
            targets.filter(|&(_, to)| inside(from, to)).find(|&(at, _)| gain(from, at) > 0)
        };
        let ends = |number| gains(number).is_some();
        let stem = self.shortest(|_| true, |_, _, to| to != OUTSIDE, ends, watch)?;
        let stem = stem.unwrap_or_default();
        let target = |&(from, at): &Move| self.rows.successors(from)[at];
        let end = stem.last().map(target);
        let start = end.or(self.rows.initial().first().copied()).unwrap_or(0);
        let mut cycle = Vec::new();
        if let Some((at, to)) = gains(start) {
            cycle.push((start, at));
            let within = |from, _, to| inside(from, to);
            let home = self.walk(&[to], within, |number| number == start, watch)?;
            cycle.extend(home.unwrap_or_default());
        }
        Ok(Lasso { stem: self.named(stem), cycle: self.named(cycle) })
    }

    /// The shortest way from an initial state that `begins` to one that `ends`, by transitions that
    /// `keeps` allows; of several the first in the order of actions.
    fn shortest(
        &self,
        begins: impl Fn(u32) -> bool,
        keeps: impl Fn(u32, usize, u32) -> bool,
        ends: impl Fn(u32) -> bool,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<Move>>, Reason> {
        let from = self.rows.initial().iter().copied().filter(|&number| begins(number));
        self.walk(&from.collect::<Vec<_>>(), keeps, ends, watch)
    }

    fn walk(
        &self,
        starts: &[u32],
        keeps: impl Fn(u32, usize, u32) -> bool,
        ends: impl Fn(u32) -> bool,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<Move>>, Reason> {
        if starts.iter().any(|&start| ends(start)) {
            return Ok(Some(Vec::new()));
        }
        // For each state, 1 + that from which it was reached; a start is its own.
        let mut came = vec![0; self.rows.len() as usize];
        let mut queue: VecDeque<u32> = VecDeque::new();
        for &start in starts {
            came[start as usize] = start + 1;
            queue.push_back(start);
        }
        while let Some(from) = queue.pop_front() {
            watch.step()?;
            for (at, &to) in self.rows.successors(from).iter().enumerate() {
                if !keeps(from, at, to) || came[to as usize] != 0 {
                    continue;
                }
                came[to as usize] = from + 1;
                if ends(to) {
                    return Ok(Some(self.way(&came, keeps, to)));
                }
                queue.push_back(to);
            }
        }
        Ok(None)
    }

    /// The way on which a state was reached.
    fn way(&self, came: &[u32], keeps: impl Fn(u32, usize, u32) -> bool, end: u32) -> Vec<Move> {
        let mut way = Vec::new();
        let mut to = end;
        loop {
            let from = came[to as usize] - 1;
            if from == to {
                break;
            }
            let mut targets = self.rows.successors(from).iter().enumerate();
            let taken = targets.find(|&(at, &next)| next == to && keeps(from, at, to));
            way.extend(taken.map(|(at, _)| (from, at)));
            to = from;
        }
        way.reverse();
        way
    }
}
