//! The transitions of the states of one shard.

use super::shard::SHARDS;
use super::words::{read_numbers, write_numbers};
use crate::rows::OUTSIDE;
use crate::space::Answers;
use std::io::{self, Read, Write};

/// Where the states of one shard lead, while the search goes on.
#[derive(Debug, Default)]
pub(super) struct ShardRows {
    /// Where each state's targets end.
    pub(super) ends: Vec<u32>,
    /// The shard in the low bits, the number in it above.
    pub(super) targets: Vec<u32>,
    pub(super) answers: Vec<Answers>,
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
