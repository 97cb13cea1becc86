//! The counterexample to a liveness property: a way to where the execution stays, and round there.
//!
//! All walks are breadth-first in the order of actions, from the initial states on, so they are the
//! same however the states are numbered.

use crate::fair::FairComponents;
use crate::limits::{Reason, Watch};
use crate::rows::{Fairness, OUTSIDE, Rows};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// An execution: `stem` once, then `cycle` for ever; if that is empty, nothing happens any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso<A> {
    /// The actions from an initial state to the cycle.
    pub stem: Vec<A>,
    /// The actions that repeat.
    pub cycle: Vec<A>,
}

/// The ways that violate a formula, watched by an automaton with one bit.
pub struct Monitor<S, E> {
    /// The bit after the next state, given the bit before it; `None` if the way may not go there.
    pub step: S,
    /// Whether the way may end in a state, with this bit.
    pub ends: E,
}

/// A transition: a state, and the position of the action there.
type Move = (u32, usize);

/// Returns the lasso that `monitor` is looking for, if there is one.
///
/// # Errors
/// The reason, if `watch` ends it.
pub fn find<R, S, E>(
    rows: &R,
    fair: &FairComponents,
    monitor: &Monitor<S, E>,
    watch: &mut Watch<'_>,
) -> Result<Option<Lasso<R::Action>>, Reason>
where
    R: Rows,
    S: Fn(bool, u32) -> Option<bool>,
    E: Fn(bool, u32) -> bool,
{
    watch.may_take(u64::from(rows.len()) * 2 * size_of::<u64>() as u64)?;
    let Some((stem, start)) = Ways::new(rows, monitor).first(watch)? else { return Ok(None) };
    let mut cycle = Vec::new();
    if !rows.stutters(start) {
        cycle = Round { rows, fair, start }.go(watch)?;
    }
    let named = |moves: Vec<Move>| {
        moves.into_iter().filter_map(|(from, at)| rows.actions(from).into_iter().nth(at)).collect()
    };
    Ok(Some(Lasso { stem: named(stem), cycle: named(cycle) }))
}

const UNSEEN: u64 = 0;
const ROOT: u64 = 1;
/// Added to where a place was reached from, to tell it from the two above.
const FIRST: u64 = 2;

/// The ways that a monitor allows, in breadth-first order. A *place* is a state with a bit.
struct Ways<'a, R, S, E> {
    rows: &'a R,
    monitor: &'a Monitor<S, E>,
    states: usize,
    /// Where each place was reached from. Memory that no way touches is never used.
    came: Vec<u64>,
    queue: VecDeque<usize>,
}

impl<'a, R, S, E> Ways<'a, R, S, E>
where
    R: Rows,
    S: Fn(bool, u32) -> Option<bool>,
    E: Fn(bool, u32) -> bool,
{
    fn new(rows: &'a R, monitor: &'a Monitor<S, E>) -> Self {
        let states = rows.len() as usize;
        Ways { rows, monitor, states, came: vec![UNSEEN; 2 * states], queue: VecDeque::new() }
    }

    /// A shortest way to where one may end, and its last state; of several ways the first in the
    /// order of actions.
    fn first(mut self, watch: &mut Watch<'_>) -> Result<Option<(Vec<Move>, u32)>, Reason> {
        for &number in self.rows.initial() {
            if let Some(end) = self.reach(None, number) {
                return Ok(Some(self.way(end)));
            }
        }
        let rows = self.rows;
        while let Some(place) = self.queue.pop_front() {
            watch.step()?;
            for &to in rows.successors(self.number(place)) {
                if let Some(end) = self.reach(Some(place), to) {
                    return Ok(Some(self.way(end)));
                }
            }
        }
        Ok(None)
    }

    fn number(&self, place: usize) -> u32 {
        u32::try_from(place % self.states).expect("states have 32-bit numbers")
    }

    /// Goes to a state; its place if a way may end there.
    fn reach(&mut self, before: Option<usize>, number: u32) -> Option<usize> {
        if number >= self.rows.len() {
            return None;
        }
        let had = before.is_some_and(|place| place >= self.states);
        let has = (self.monitor.step)(had, number)?;
        let place = number as usize + usize::from(has) * self.states;
        if self.came[place] != UNSEEN {
            return None;
        }
        self.came[place] = before.map_or(ROOT, |before| before as u64 + FIRST);
        self.queue.push_back(place);
        (self.monitor.ends)(has, number).then_some(place)
    }

    /// The way to a place.
    fn way(&self, end: usize) -> (Vec<Move>, u32) {
        let mut way = Vec::new();
        let mut place = end;
        while self.came[place] >= FIRST {
            let before = usize::try_from(self.came[place] - FIRST).expect("it is a place");
            let (from, to) = (self.number(before), self.number(place));
            way.push((from, position(self.rows, from, to)));
            place = before;
        }
        way.reverse();
        (way, self.number(end))
    }
}

/// Ways inside the fair component of `start`, in which something fair is enabled.
struct Round<'a, R: Rows> {
    rows: &'a R,
    fair: &'a FairComponents,
    start: u32,
}

impl<R: Rows> Round<'_, R> {
    /// A fair cycle. The shortest one there is, if that is fair; otherwise from one action that is
    /// owed to the nearest next one, and home. What becomes owed late may cost a second round, so
    /// the walk is tried again with all that known from the beginning.
    fn go(&self, watch: &mut Watch<'_>) -> Result<Vec<Move>, Reason> {
        let (mut best, owed) = self.tour(FxHashSet::default(), watch)?;
        let mut others = Vec::new();
        if !owed.is_empty() {
            others.push(self.tour(owed, watch)?.0);
        }
        others.extend(self.home(self.start, watch)?.filter(|cycle| self.is_fair(cycle)));
        for other in others {
            if other.len() < best.len() {
                best = other;
            }
        }
        Ok(best)
    }

    fn is_fair(&self, cycle: &[Move]) -> bool {
        let mut owed = Owed::at(self.rows, self.start);
        cycle.iter().for_each(|&(from, at)| owed.pass(self.rows, from, at));
        owed.is_nothing()
    }

    /// A fair cycle that takes all of `strong`, and the strongly fair actions that it takes.
    fn tour(
        &self,
        strong: FxHashSet<R::Action>,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<Move>, FxHashSet<R::Action>), Reason> {
        let mut owed = Owed::at(self.rows, self.start);
        owed.strong.extend(strong);
        let mut tour: Vec<Move> = Vec::new();
        let mut at = self.start;
        loop {
            // The component is fair, so everything that is owed can be met somewhere in it.
            let next = match owed.is_nothing() {
                true => self.home(at, watch)?,
                false => self.settle(at, &owed, watch)?,
            };
            let Some(next) = next else { break };
            for (from, taken) in next {
                owed.pass(self.rows, from, taken);
                at = self.rows.successors(from)[taken];
                tour.push((from, taken));
            }
            // On the way home, something new may have become owed.
            if at == self.start && owed.is_nothing() {
                break;
            }
        }
        owed.taken.retain(|action| self.rows.fairness(action) == Fairness::Strong);
        Ok((tour, owed.taken))
    }

    /// The shortest way on which something that is owed is met in the end.
    fn settle(
        &self,
        from: u32,
        owed: &Owed<R::Action>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<Move>>, Reason> {
        let mut here = (OUTSIDE, Vec::new());
        let wanted = |from, at, _| {
            if here.0 != from {
                here = (from, self.rows.actions(from));
            }
            owed.would_meet(self.rows, &here.1, from, at)
        };
        self.nearest(from, wanted, watch)
    }

    /// The shortest way back to the start, which is not empty.
    fn home(&self, from: u32, watch: &mut Watch<'_>) -> Result<Option<Vec<Move>>, Reason> {
        self.nearest(from, |_, _, to| to == self.start, watch)
    }

    /// A shortest way inside the component whose last transition is `wanted`.
    fn nearest(
        &self,
        start: u32,
        mut wanted: impl FnMut(u32, usize, u32) -> bool,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<Move>>, Reason> {
        // For each state, 1 + that from which it was reached. Pages that are not used cost nothing.
        let mut came = vec![0; self.rows.len() as usize];
        let mut queue = VecDeque::from([start]);
        while let Some(from) = queue.pop_front() {
            watch.step()?;
            for (at, &to) in self.rows.successors(from).iter().enumerate() {
                if to == OUTSIDE || self.fair.of(to) != self.fair.of(start) {
                    continue;
                }
                if wanted(from, at, to) {
                    return Ok(Some(self.way(&came, (from, at))));
                }
                if to != start && came[to as usize] == 0 {
                    came[to as usize] = from + 1;
                    queue.push_back(to);
                }
            }
        }
        Ok(None)
    }

    /// The way that ends with `last`.
    fn way(&self, came: &[u32], last: Move) -> Vec<Move> {
        let mut way = vec![last];
        let mut to = last.0;
        while let Some(from) = came[to as usize].checked_sub(1) {
            way.push((from, position(self.rows, from, to)));
            to = from;
        }
        way.reverse();
        way
    }
}

/// The position of the first action of `from` that leads to `to`, as it does.
fn position<R: Rows>(rows: &R, from: u32, to: u32) -> usize {
    let position = rows.successors(from).iter().position(|&next| next == to);
    position.expect("an action that was taken is among those that can be")
}

/// What a cycle that has come so far still owes before it is fair.
struct Owed<A> {
    /// Enabled in every state so far, weakly fair, and never taken or interrupted.
    weak: Vec<A>,
    /// Enabled in some state so far, strongly fair, and never taken.
    strong: FxHashSet<A>,
    taken: FxHashSet<A>,
}

impl<A: Clone + Eq + std::hash::Hash> Owed<A> {
    fn at<R: Rows<Action = A>>(rows: &R, start: u32) -> Self {
        let mut weak = rows.actions(start);
        let mut owed =
            Owed { weak: Vec::new(), strong: FxHashSet::default(), taken: FxHashSet::default() };
        owed.see(rows, &weak);
        weak.retain(|action| rows.fairness(action) == Fairness::Weak);
        Owed { weak, ..owed }
    }

    fn is_nothing(&self) -> bool {
        self.weak.is_empty() && self.strong.is_empty()
    }

    /// What is strongly fair and enabled is owed from here on.
    fn see<R: Rows<Action = A>>(&mut self, rows: &R, enabled: &[A]) {
        let strong = enabled.iter().filter(|action| rows.fairness(action) == Fairness::Strong);
        let new = strong.filter(|&action| !self.taken.contains(action));
        self.strong.extend(new.cloned());
    }

    /// Whether something owed is no longer so once the action at this position is taken.
    fn would_meet<R: Rows<Action = A>>(
        &self,
        rows: &R,
        enabled: &[A],
        from: u32,
        at: usize,
    ) -> bool {
        let action = &enabled[at];
        self.strong.contains(action)
            || self.weak.iter().any(|owed| owed == action || !enabled.contains(owed))
            || self.interrupted(rows, from, at).iter().any(|ended| self.weak.contains(ended))
    }

    /// What is owed may be among these, which the action at this position interrupts.
    fn interrupted<R: Rows<Action = A>>(&self, rows: &R, from: u32, at: usize) -> Vec<A> {
        let may_be = self.weak.iter().any(|owed| rows.interruptible(owed));
        if may_be { rows.interrupted(from, at) } else { Vec::new() }
    }

    fn pass<R: Rows<Action = A>>(&mut self, rows: &R, from: u32, at: usize) {
        let enabled = rows.actions(from);
        self.see(rows, &enabled);
        let action = &enabled[at];
        let ended = self.interrupted(rows, from, at);
        self.weak.retain(|owed| owed != action && enabled.contains(owed) && !ended.contains(owed));
        self.strong.remove(action);
        self.taken.insert(action.clone());
    }
}
