//! Shortest paths to states that are asked for, found by searching the levels once more, backwards.
//!
//! No state remembers how it was reached: that would cost memory for every state, and depend on
//! who was first. Instead the last level is searched for goals, the one before it for states that
//! lead to them, and so on; then the way is walked forwards, each time by the first action that
//! leads on. So of all shortest paths to all goals the one is found that comes first in the order
//! of actions.

use super::list::{List, hash, shard_of};
use super::parallel;
use super::search::{Level, Search};
use crate::space::{Answers, OUTSIDE_WORD, Space};

/// The goal of a path: the first state in breadth-first order for which bit `question` of the
/// answers is `answer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The number of the bit.
    pub question: u32,
    /// Whether the bit is to be set.
    pub answer: bool,
}

impl Goal {
    fn reached(self, answers: Answers) -> bool {
        (answers & (1 << self.question) != 0) == self.answer
    }

    /// Decides whether a state of this level that was expanded has the answer.
    #[must_use]
    pub fn reached_in(self, level: &Level) -> bool {
        self.reached(if self.answer { level.any } else { level.all })
    }
}

/// Which goals can be reached by a shortest path, one bit each: for each state of each shard of a
/// level.
type Marks = Vec<Vec<u16>>;

/// The breadth-first level in which a goal is first reached, the initial states being 0.
pub(super) fn level_of(levels: &[Level], goal: Goal) -> Option<usize> {
    levels.iter().position(|level| goal.reached_in(level))
}

impl<const W: usize> Search<W, List<W>> {
    /// For each goal that is reached, the positions of the actions of the first shortest path.
    pub(super) fn paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<usize>>> {
        let some = goals.chunks(u16::BITS as usize);
        some.flat_map(|goals| self.some_paths(space, goals)).collect()
    }

    fn some_paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<usize>>> {
        let levels: Vec<_> = goals.iter().map(|&goal| level_of(&self.levels, goal)).collect();
        let Some(last) = levels.iter().flatten().copied().max() else {
            return vec![None; goals.len()];
        };
        let mut marks: Vec<Marks> = vec![Marks::new(); last + 1];
        for at in (0..=last).rev() {
            let here = |(goal, _): &(usize, _)| levels[*goal] == Some(at);
            let here: Vec<_> = goals.iter().copied().enumerate().filter(here).collect();
            marks[at] = self.mark(space, at, &here, marks.get(at + 1));
        }
        let walk = |(goal, level): (usize, &Option<usize>)| {
            level.map(|level| self.walk(space, &marks[..=level], 1 << goal))
        };
        levels.iter().enumerate().map(walk).collect()
    }

    /// The marks of the states of one level, given those of the next.
    fn mark(
        &self,
        space: &dyn Space,
        at: usize,
        here: &[(usize, Goal)],
        beyond: Option<&Marks>,
    ) -> Marks {
        parallel::map(&self.shards, |shard| {
            let (mut scratch, mut next) = (space.scratch(), Vec::new());
            let range = shard.level(at);
            let states = &shard.states()[range.start as usize..range.end as usize];
            let mark = |state: &[u64; W]| {
                next.clear();
                // What the search did not get to has not been learned and is not asked for.
                let Ok(answers) = space.expand(state, &mut scratch, &mut next) else { return 0 };
                let reached = here.iter().filter(|(_, goal)| goal.reached(answers));
                let mut mark = reached.fold(0, |mark, (at, _)| mark | 1 << at);
                if let Some(beyond) = beyond {
                    let (next, _) = next.as_chunks();
                    mark |= next.iter().fold(0, |m, next| m | self.marked(next, at + 1, beyond));
                }
                mark
            };
            states.iter().map(mark).collect()
        })
    }

    /// The marks of a state if it is in this level.
    fn marked(&self, state: &[u64; W], level: usize, marks: &Marks) -> u16 {
        if *state == [OUTSIDE_WORD; W] {
            return 0;
        }
        let hash = hash(state);
        let shard = shard_of(hash);
        let range = self.shards[shard].level(level);
        let number = self.shards[shard].find(state, hash).filter(|number| range.contains(number));
        number.map_or(0, |number| marks[shard][(number - range.start) as usize])
    }

    /// The positions of the actions that lead along the marks.
    fn walk(&self, space: &dyn Space, marks: &[Marks], goal: u16) -> Vec<usize> {
        let mut path = Vec::new();
        let (mut scratch, mut next) = (space.scratch(), Vec::new());
        let marked = |at: usize, state: &[u64; W]| {
            marks.get(at).is_some_and(|marks| self.marked(state, at, marks) & goal != 0)
        };
        let mut at = self.initial.iter().find(|state| marked(0, state)).copied();
        while let Some(state) = at {
            next.clear();
            let known = space.expand(&state, &mut scratch, &mut next).is_ok();
            let (next, _) = next.as_chunks();
            let step = next.iter().position(|next| known && marked(path.len() + 1, next));
            path.extend(step);
            at = step.map(|step| next[step]);
        }
        path
    }
}
