//! The states of a search that has ended, with their numbers, and shortest paths to those that are
//! asked for, found by searching the levels once more, backwards.
//!
//! No state remembers how it was reached: that would cost memory for every state, and depend on
//! who was first. Instead the last level is searched for goals, the one before it for states that
//! lead to them, and so on; then the way is walked forwards, each time by the first action that
//! leads on. So of all shortest paths to all goals the one is found that comes first in the order
//! of actions.

use super::edges::ShardRows;
use super::level::{Goal, Reached, level_of};
use super::list::{IndexedSet, hash, shard_of};
use super::parallel;
use super::search::Search;
use crate::space::{ActionId, OUTSIDE_WORD, Space};

/// States with numbers, whatever the number of their words.
pub(super) struct Numbered {
    /// The words of a state.
    pub(super) width: usize,
    pub(super) lists: Vec<IndexedSet>,
    pub(super) reached: Reached,
    /// The transitions of each list's states, if they are kept.
    pub(super) rows: Option<Vec<ShardRows>>,
}

/// Which goals can be reached by a shortest path, one bit each: for each state of each shard of a
/// level.
type Marks = Vec<Vec<u16>>;

impl Numbered {
    pub(super) fn of<const W: usize>(search: Search<W, IndexedSet>) -> Self {
        let Search { shards, reached, rows, .. } = search;
        Numbered { width: W, lists: shards, reached, rows }
    }

    /// The list of a state, and its number there, if the state was found.
    pub(super) fn place(&self, state: &[u64]) -> Option<(usize, u32)> {
        let hash = hash(state);
        let shard = shard_of(hash);
        self.lists[shard].find(state, hash).map(|number| (shard, number))
    }

    /// For each goal that is reached, the actions of the first shortest path.
    pub(super) fn paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<ActionId>>> {
        let some = goals.chunks(u16::BITS as usize);
        some.flat_map(|goals| self.some_paths(space, goals)).collect()
    }

    fn some_paths(&self, space: &dyn Space, goals: &[Goal]) -> Vec<Option<Vec<ActionId>>> {
        let levels: Vec<_> =
            goals.iter().map(|&goal| level_of(&self.reached.levels, goal)).collect();
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
        parallel::map(&self.lists, |list| {
            let (mut scratch, mut next) = (space.scratch(), Vec::new());
            let mark = |state: &[u64]| {
                next.clear();
                // What the search did not get to has not been learned and is not asked for.
                let Ok(answers) = space.expand(state, &mut scratch, &mut next) else { return 0 };
                let reached = here.iter().filter(|(_, goal)| goal.reached(answers));
                let mut mark = reached.fold(0, |mark, (at, _)| mark | 1 << at);
                if let Some(beyond) = beyond {
                    let next = next.chunks(self.width);
                    mark |= next.fold(0, |mark, next| mark | self.marked(next, at + 1, beyond));
                }
                mark
            };
            list.words(list.level(at)).chunks(self.width).map(mark).collect()
        })
    }

    /// The marks of a state if it is in this level.
    fn marked(&self, state: &[u64], level: usize, marks: &Marks) -> u16 {
        if state.iter().all(|&word| word == OUTSIDE_WORD) {
            return 0;
        }
        let Some((shard, number)) = self.place(state) else { return 0 };
        let range = self.lists[shard].level(level);
        if range.contains(&number) { marks[shard][(number - range.start) as usize] } else { 0 }
    }

    /// The actions that lead along the marks.
    fn walk(&self, space: &dyn Space, marks: &[Marks], goal: u16) -> Vec<ActionId> {
        let mut path = Vec::new();
        let (mut scratch, mut next) = (space.scratch(), Vec::new());
        let marked = |at: usize, state: &[u64]| {
            marks.get(at).is_some_and(|marks| self.marked(state, at, marks) & goal != 0)
        };
        let mut initial = self.reached.initial.chunks(self.width);
        let mut at = initial.find(|state| marked(0, state)).map(<[u64]>::to_vec);
        while let Some(state) = at {
            next.clear();
            let known = space.expand(&state, &mut scratch, &mut next).is_ok();
            let mut after = next.chunks(self.width).enumerate();
            let step = after.find(|(_, next)| known && marked(path.len() + 1, next));
            path.extend(step.and_then(|(at, _)| space.actions(&state).into_iter().nth(at)));
            at = step.map(|(_, next)| next.to_vec());
        }
        path
    }
}
