//! The transitions of all states, in compressed rows.

use super::ListSearch;
use super::disk::{read_numbers, write_numbers};
use super::search::SHARDS;
use crate::rows::{OUTSIDE, Rows};
use crate::space::{ActionId, Answers, Fairness, STUTTERS, Space};
use std::io::{self, Read, Write};
use std::ops::Range;

/// Where the states of one shard lead, while the search goes on.
#[derive(Debug, Default)]
pub(super) struct ShardRows {
    /// Where each state's targets end.
    ends: Vec<u32>,
    /// The shard in the low bits, the number in it above.
    targets: Vec<u32>,
    answers: Vec<Answers>,
}

impl ShardRows {
    /// Adds the row of the next state.
    pub(super) fn push(
        &mut self,
        answers: Answers,
        targets: impl Iterator<Item = Option<(usize, u32)>>,
    ) {
        let code = |(shard, number): (usize, u32)| number * SHARDS as u32 + shard as u32;
        self.targets.extend(targets.map(|target| target.map_or(OUTSIDE, code)));
        self.ends.push(self.targets.len() as u32);
        self.answers.push(answers);
    }

    /// The row of a state: the answers about it, and where it leads.
    pub(super) fn row(
        &self,
        number: usize,
    ) -> (Answers, impl Iterator<Item = Option<(usize, u32)>> + '_) {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let targets = &self.targets[begin as usize..self.ends[number] as usize];
        let place = |&code: &u32| match code {
            OUTSIDE => None,
            code => Some((code as usize % SHARDS, code / SHARDS as u32)),
        };
        (self.answers[number], targets.iter().map(place))
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = [&self.ends, &self.targets, &self.answers];
        all.into_iter().try_for_each(|numbers| write_numbers(out, numbers))
    }

    pub(super) fn read(file: &mut dyn Read) -> io::Result<Self> {
        let (ends, targets) = (read_numbers(file)?, read_numbers(file)?);
        Ok(ShardRows { ends, targets, answers: read_numbers(file)? })
    }
}

/// The graph of every reachable state, and of every transition between them.
pub struct Graph<'s> {
    space: &'s dyn Space,
    found: Box<dyn ListSearch>,
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
    pub(super) fn new(mut found: Box<dyn ListSearch>, space: &'s dyn Space) -> Self {
        let sizes = found.sizes();
        let mut first = vec![0];
        for size in &sizes {
            first.push(first[first.len() - 1] + size);
        }
        let number = |code: u32| match code {
            OUTSIDE => OUTSIDE,
            code => first[code as usize % SHARDS] + code / SHARDS as u32,
        };
        let initial = found.initial().iter().map(|&(shard, at)| first[shard] + at).collect();
        let rows = found.take_rows();
        let edges = rows.iter().map(|rows| rows.targets.len()).sum();
        let states = first[first.len() - 1] as usize;
        let mut offsets = Vec::with_capacity(states + 1);
        let mut targets = Vec::with_capacity(edges);
        let mut answers = Vec::with_capacity(states);
        offsets.push(0);
        for (rows, size) in rows.into_iter().zip(sizes) {
            let before = targets.len() as u64;
            offsets.extend(rows.ends.iter().map(|&end| before + u64::from(end)));
            targets.extend(rows.targets.iter().map(|&code| number(code)));
            answers.extend(&rows.answers);
            let missing = size as usize - rows.ends.len();
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
        self.found.words(shard, number - self.first[shard])
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
        let numbers = |(first, range): (&u32, &Range<u32>)| first + range.start..first + range.end;
        let levels = self.found.levels().into_iter().rev();
        levels
            .flat_map(|level| self.first.iter().zip(&level).map(numbers).collect::<Vec<_>>())
            .collect()
    }

    fn has_strong(&self) -> bool {
        self.space.has_strong()
    }

    #[inline]
    fn stutters(&self, number: u32) -> bool {
        self.answers(number) & STUTTERS != 0
    }
}
