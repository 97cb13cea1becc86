//! The transitions of all states, in compressed rows.

use super::list::IndexedSet;
use super::numbered::Numbered;
use super::shard::SHARDS;
use crate::rows::{OUTSIDE, Rows};
use crate::space::{ActionId, Answers, Fairness, STUTTERS, Space};
use std::ops::Range;

/// The graph of every reachable state, and of every transition between them.
pub struct Graph<'s> {
    space: &'s dyn Space,
    found: Numbered,
    /// The number of each shard's first state.
    first: Vec<u32>,
    initial: Vec<u32>,
    offsets: Vec<u64>,
    targets: Vec<u32>,
    answers: Vec<Answers>,
}

impl<'s> Graph<'s> {
    /// The graph that a search with transitions has found. States that it found and did not get to
    /// have none.
    pub(super) fn new(mut found: Numbered, space: &'s dyn Space) -> Self {
        let mut first = vec![0];
        for size in found.lists.iter().map(IndexedSet::count) {
            first.push(first[first.len() - 1] + size as u32);
        }
        let number = |code: u32| match code {
            OUTSIDE => OUTSIDE,
            code => first[code as usize % SHARDS] + code / SHARDS as u32,
        };
        let initial = found.reached.initial.chunks(found.width);
        let initial = initial.filter_map(|state| found.place(state));
        let initial = initial.map(|(shard, at)| first[shard] + at).collect();
        let rows = found.rows.take().unwrap_or_default();
        let edges = rows.iter().map(|rows| rows.targets.len()).sum();
        let states = first[first.len() - 1] as usize;
        let mut offsets = Vec::with_capacity(states + 1);
        let mut targets = Vec::with_capacity(edges);
        let mut answers = Vec::with_capacity(states);
        offsets.push(0);
        for (rows, list) in rows.into_iter().zip(&found.lists) {
            let before = targets.len() as u64;
            offsets.extend(rows.ends.iter().map(|&end| before + u64::from(end)));
            targets.extend(rows.targets.iter().map(|&code| number(code)));
            answers.extend(&rows.answers);
            let missing = list.count() - rows.ends.len();
            offsets.extend(std::iter::repeat_n(targets.len() as u64, missing));
            answers.extend(std::iter::repeat_n(0, missing));
        }
        Graph { space, found, first, initial, offsets, targets, answers }
    }

    /// Returns what is known of a state.
    #[inline]
    pub fn answers(&self, number: u32) -> Answers {
        self.answers[number as usize]
    }

    /// Returns a state in words.
    pub fn words(&self, number: u32) -> Vec<u64> {
        let shard = self.first.partition_point(|&first| first <= number) - 1;
        let number = number - self.first[shard];
        self.found.lists[shard].words(number..number + 1).to_vec()
    }
}

impl Rows for Graph<'_> {
    type Action = ActionId;

    fn len(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    fn initial(&self) -> &[u32] {
        &self.initial
    }

    #[inline]
    fn successors(&self, number: u32) -> &[u32] {
        let at = number as usize;
        &self.targets[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    fn actions(&self, number: u32) -> Vec<ActionId> {
        self.space.actions(&self.words(number))
    }

    fn fairness(&self, action: &ActionId) -> Fairness {
        self.space.fairness(*action)
    }

    fn interruptible(&self, action: &ActionId) -> bool {
        self.space.interruptible(*action)
    }

    fn interrupted(&self, number: u32, position: usize) -> Vec<ActionId> {
        self.space.interrupted(&self.words(number), position)
    }

    /// From the last level to the first: most transitions lead to the next level.
    fn backwards(&self) -> Vec<Range<u32>> {
        let levels = (0..self.found.reached.levels.len()).rev();
        let all = levels.flat_map(|level| {
            self.first.iter().zip(&self.found.lists).map(move |(first, list)| {
                let Range { start, end } = list.level(level);
                first + start..first + end
            })
        });
        all.collect()
    }

    fn has_strong(&self) -> bool {
        self.space.has_strong()
    }

    #[inline]
    fn stutters(&self, number: u32) -> bool {
        self.answers(number) & STUTTERS != 0
    }
}
