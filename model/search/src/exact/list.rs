//! A set of states in the order in which they came: each has a number, which the transitions
//! between states need.

use super::form::digest;
use super::shard::{LOG_SHARDS, Shard};
use super::words::{read_numbers, read_words, write_numbers, write_words};
use crate::space::{Arrival, NO_ARRIVAL, Space};
use std::io::{self, Read, Write};
use std::ops::Range;

/// How many states of one shard are expanded in one round. What follows from them is kept until the
/// end of the round, so that much of each shard is looked up while it is in the processor's cache.
const ROUND: u32 = 2048;

/// How many states are looked up together.
const TOGETHER: usize = 32;

/// A place in the table that holds nothing.
const EMPTY: u32 = 0;
/// The bits of a place that say which state it is, from 1; the others are part of its hash.
const INDEX: u32 = (1 << INDEX_BITS) - 1;
const INDEX_BITS: u32 = 26;

/// The largest number of states in one shard.
const MOST: usize = INDEX as usize - 1;

/// A hash of which all bits depend on all bits of the state.
#[inline]
pub(super) fn hash(state: &[u64]) -> u64 {
    digest(state).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// In which shard a state with this hash belongs.
#[inline]
pub(super) fn shard_of(hash: u64) -> usize {
    (hash >> (u64::BITS - LOG_SHARDS)) as usize
}

/// States in the order in which they came, and a table to find them.
#[derive(Debug, Default)]
pub(super) struct IndexedSet {
    /// The words of a state.
    width: usize,
    states: Vec<u64>,
    /// Open addressing; each place is [`EMPTY`] or a state's number and part of its hash.
    table: Vec<u32>,
    /// Where the states of each level end, the last one being expanded.
    pub(super) ends: Vec<u32>,
    /// How many states have been expanded.
    pub(super) done: u32,
    /// Those of this round.
    round: Range<u32>,
}

impl IndexedSet {
    /// The numbers of the states of a level.
    pub(super) fn level(&self, level: usize) -> Range<u32> {
        let begin = level.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin..self.ends[level]
    }

    /// How many states there are.
    pub(super) fn count(&self) -> usize {
        self.states.len() / self.width
    }

    /// The words of the states with these numbers, one after the other.
    pub(super) fn words(&self, numbers: Range<u32>) -> &[u64] {
        &self.states[numbers.start as usize * self.width..numbers.end as usize * self.width]
    }

    /// Gives up the table: no state is looked for any more.
    pub(super) fn give_up_table(&mut self) {
        self.table = Vec::new();
    }

    /// How many places the table has when so many states more have come.
    fn size_with(&self, more: usize) -> usize {
        let mut size = self.table.len().max(16);
        while (self.count() + more) * 4 >= size * 3 {
            size *= 2;
        }
        size
    }

    /// The first place that a state with this hash may have: one with its tag, or an empty one.
    #[inline]
    fn likely(&self, hash: u64) -> usize {
        let mask = self.table.len() - 1;
        let tag = tag(hash);
        let mut place = slot(hash) & mask;
        while self.table[place] != EMPTY && self.table[place] & !INDEX != tag {
            place = (place + 1) & mask;
        }
        place
    }

    /// Adds a state unless it is there, no place before `place` being one for it; its number. The
    /// table must have room.
    #[inline]
    fn insert_from<const W: usize>(&mut self, place: usize, state: &[u64; W], hash: u64) -> u32 {
        match self.place(place, state, hash) {
            Ok(number) => number,
            Err(place) => {
                // At most 2^26 states.
                let number = (self.states.len() / W) as u32;
                self.states.extend_from_slice(state);
                self.table[place] = tag(hash) | (number + 1);
                number
            }
        }
    }

    /// The number of a state, if it is there.
    #[inline]
    pub(super) fn find(&self, state: &[u64], hash: u64) -> Option<u32> {
        if self.table.is_empty() {
            None
        } else {
            self.place(slot(hash) & (self.table.len() - 1), state, hash).ok()
        }
    }

    /// The number of a state, or the place in the table where it would stand, no place before
    /// `place` being one for it.
    #[inline(always)]
    fn place(&self, mut place: usize, state: &[u64], hash: u64) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let tag = tag(hash);
        loop {
            let entry = self.table[place];
            if entry == EMPTY {
                return Err(place);
            }
            let number = (entry & INDEX) - 1;
            let at = number as usize * state.len();
            if entry & !INDEX == tag && self.states[at..at + state.len()] == *state {
                return Ok(number);
            }
            place = (place + 1) & mask;
        }
    }

    fn grow<const W: usize>(&mut self, size: usize) {
        assert!(self.count() < MOST, "more than 4 billion states");
        self.table = Vec::new();
        self.table = vec![EMPTY; size];
        for (number, state) in (1u32..).zip(self.states.as_chunks::<W>().0) {
            let hash = hash(state);
            let mut place = slot(hash) & (size - 1);
            while self.table[place] != EMPTY {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = tag(hash) | number;
        }
    }
}

impl<const W: usize> Shard<W> for IndexedSet {
    type Form = ();

    fn form(_: &dyn Space) {}

    fn new((): &(), _: usize) -> Self {
        IndexedSet { width: W, ..IndexedSet::default() }
    }

    #[inline]
    fn mix((): &(), state: &[u64; W]) -> ([u64; W], usize) {
        (*state, shard_of(hash(state)))
    }

    fn held(&self) -> u64 {
        self.count() as u64
    }

    /// Every state costs two visits to places in memory that are far apart: in the table, and among
    /// the states. So what many of them will need is read first, all together: the processor then
    /// waits once and not each time.
    fn insert_all(
        &mut self,
        states: &[[u64; W]],
        _: Option<&[Arrival]>,
        mut numbers: Option<&mut Vec<u32>>,
    ) {
        for states in states.chunks(TOGETHER) {
            let size = self.size_with(states.len());
            if size > self.table.len() {
                self.grow::<W>(size);
            }
            let mask = self.table.len() - 1;
            let mut hashes = [0; TOGETHER];
            let mut seen = 0;
            for (state, hash) in states.iter().zip(&mut hashes) {
                *hash = self::hash(state);
                seen ^= self.table[slot(*hash) & mask];
            }
            let mut places = [0; TOGETHER];
            for (place, &hash) in places.iter_mut().zip(&hashes[..states.len()]) {
                *place = self.likely(hash);
                let entry = (self.table[*place] & INDEX) as usize;
                let first = self.states.get(entry.wrapping_sub(1).wrapping_mul(W));
                seen ^= first.map_or(0, |&word| word as u32);
            }
            std::hint::black_box(seen);
            for ((state, hash), place) in states.iter().zip(hashes).zip(places) {
                let number = self.insert_from(place, state, hash);
                if let Some(numbers) = &mut numbers {
                    numbers.push(number);
                }
            }
        }
    }

    fn growth(&self, more: usize) -> u64 {
        ((self.size_with(more) - self.table.len()) * size_of::<u32>()) as u64
    }

    fn begin_level(&mut self) -> u64 {
        let end = self.count() as u32;
        self.ends.push(end);
        u64::from(end - self.done)
    }

    fn begin_round(&mut self) -> usize {
        let end = self.ends.last().map_or(0, |&end| end.min(self.done + ROUND));
        self.round = self.done..end;
        self.round.len()
    }

    fn round(&self, mut each: impl FnMut(&[u64; W], Arrival)) {
        let (round, _) = self.words(self.round.clone()).as_chunks::<W>();
        round.iter().for_each(|state| each(state, NO_ARRIVAL));
    }

    fn end_round(&mut self) {
        self.done = self.round.end;
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_words(out, [u64::from(self.done), self.count() as u64])?;
        write_words(out, self.states.iter().copied())?;
        write_numbers(out, &self.ends)
    }

    fn read((): &(), _: usize, file: &mut dyn Read) -> io::Result<Self> {
        let [done, count] = read_words::<2>(file)?;
        let states = (0..count).map(|_| read_words::<W>(file)).collect::<io::Result<Vec<_>>>()?;
        let (states, ends, done) = (states.into_flattened(), read_numbers(file)?, done as u32);
        let mut list = IndexedSet { width: W, states, ends, done, ..IndexedSet::default() };
        list.grow::<W>(list.size_with(0));
        Ok(list)
    }
}

/// How many bytes so many states of so many words take at most, in all lists.
pub(super) fn bytes(states: u64, words: usize) -> u64 {
    // A list has room for twice as many at most, and a table has 8 places of 4 bytes for 3 states.
    states * (16 * words as u64 + 11)
}

#[inline]
fn tag(hash: u64) -> u32 {
    (hash as u32) << INDEX_BITS
}

#[inline]
fn slot(hash: u64) -> usize {
    (hash >> 24) as usize
}
