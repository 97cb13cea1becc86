//! The transitions of all states, computed each time they are asked for.
//!
//! When a search over [tables](super::table) has ended, no state moves any more, so the place in
//! which a state stands is its number. What follows from it is expanded as in the search, and then
//! looked up. So no transition takes memory, and a state takes what it takes in the table, besides
//! what the answers about it take and what is decided. Numbers of places in which nothing is are
//! those of states that cannot be reached, and to which and from which nothing leads.

use super::disk::DiskError;
use super::pager::{Paged, Pager};
use super::parallel;
use super::search::{Search, Shard};
use crate::limits::{Reason, Watch};
use crate::rows::{OUTSIDE, Row, Rows};
use crate::space::{ActionId, Answers, Fairness, OUTSIDE_WORD, STUTTERS, Space};
use std::ops::Range;
use std::sync::Arc;

/// How many rows are computed together, and how many of these by one thread after the other.
const TOGETHER: usize = 1 << 16;
const CHUNK: usize = 1 << 10;

/// Of how many states the answers are worked out between two looks at the clock.
const BETWEEN_LOOKS: usize = 1 << 18;

/// The files of a search that has found every state, and from which it can go on.
pub struct Saved(Arc<Pager>);

impl Saved {
    /// Removes the files: everything has been decided.
    pub fn clear(self) {
        self.0.folder.clear();
    }
}

/// A search over tables that has ended, whatever the number of its words.
pub(super) trait TableSearch: Send + Sync {
    /// How many places each shard has.
    fn places(&self) -> Vec<u64>;

    /// How many bytes more it takes to have all in memory.
    fn bytes_away(&self) -> u64;

    /// Brings all into memory.
    fn load(&mut self) -> Result<(), DiskError>;

    /// Its files, if it has any.
    fn saved(&self) -> Option<Saved>;

    /// The shards of the initial states, and their places there.
    fn initial(&self) -> Vec<(usize, usize)>;

    /// Puts the state at a place into `words`; false if nothing is there.
    fn state(&self, shard: usize, place: usize, words: &mut Vec<u64>) -> bool;

    /// Appends the numbers of these states, `first` being those of the shards' first places.
    fn find(&self, states: &[u64], first: &[u32], numbers: &mut Vec<u32>);
}

impl<const W: usize> TableSearch for Search<W, Paged<W>> {
    fn places(&self) -> Vec<u64> {
        self.shards.iter().map(Paged::places).collect()
    }

    fn bytes_away(&self) -> u64 {
        self.shards.iter().map(Paged::bytes_away).sum()
    }

    fn load(&mut self) -> Result<(), DiskError> {
        let Some(pager) = self.shards[0].pager().cloned() else { return Ok(()) };
        parallel::map(&mut self.shards, |shard| shard.load(&pager.folder)).into_iter().collect()
    }

    fn saved(&self) -> Option<Saved> {
        self.shards[0].pager().cloned().map(Saved)
    }

    fn initial(&self) -> Vec<(usize, usize)> {
        let place = |state| {
            let (mixed, shard) = Paged::mix(&self.form, state);
            self.shards[shard].table()?.find(&mixed).map(|place| (shard, place))
        };
        self.initial.iter().filter_map(place).collect()
    }

    fn state(&self, shard: usize, place: usize, words: &mut Vec<u64>) -> bool {
        let state = self.shards[shard].table().and_then(|table| table.state(place));
        words.clear();
        words.extend(state.iter().flatten());
        state.is_some()
    }

    fn find(&self, states: &[u64], first: &[u32], numbers: &mut Vec<u32>) {
        let states: &[[u64; W]] = states.as_chunks().0;
        let place = |state: &[u64; W]| {
            let (mixed, shard) = Paged::mix(&self.form, state);
            (mixed, shard, self.shards[shard].table().expect("all tables have come"))
        };
        let is_outside = |state: &[u64; W]| *state == [OUTSIDE_WORD; W];
        for state in states.iter().filter(|state| !is_outside(state)) {
            let (mixed, _, table) = place(state);
            table.fetch(&mixed);
        }
        numbers.extend(states.iter().map(|state| {
            if is_outside(state) {
                return OUTSIDE;
            }
            let (mixed, shard, table) = place(state);
            let found = table.find(&mixed).expect("what follows from a state was found");
            // All places together have 32-bit numbers.
            first[shard] + found as u32
        }));
    }
}

/// Numbers of a few whole bytes each.
struct Packed {
    width: usize,
    bytes: Vec<u8>,
}

impl Packed {
    fn get(&self, at: u32) -> u32 {
        let at = at as usize * self.width;
        let bytes = self.bytes[at..at + self.width].iter().rev();
        bytes.fold(0, |number, &byte| number << u8::BITS | u32::from(byte))
    }
}

/// How many bytes the answers about a state take, if these are the bits that some have.
fn width(any: Answers) -> usize {
    let bits = Answers::BITS - any.leading_zeros();
    bits.div_ceil(u8::BITS).max(1) as usize
}

/// How many bytes a graph over so many places takes, besides the tables, with what is needed to
/// look for components in it.
pub(super) fn bytes(places: u64, any: Answers) -> u64 {
    // The answers, a number and a component.
    places * (width(any) as u64 + 8)
}

/// A graph of every reachable state, and of every transition between them, of which none is kept.
pub struct Computed<'s> {
    space: &'s dyn Space,
    tables: Box<dyn TableSearch>,
    threads: rayon::ThreadPool,
    /// The number of each shard's first place.
    first: Vec<u32>,
    initial: Vec<u32>,
    answers: Packed,
}

impl<'s> Computed<'s> {
    /// The graph of a search that has found every state, with all tables in memory. `any` are the
    /// answers that some of the states have.
    ///
    /// # Errors
    /// The reason, if `watch` ends it.
    pub(super) fn new(
        tables: Box<dyn TableSearch>,
        threads: rayon::ThreadPool,
        any: Answers,
        space: &'s dyn Space,
        watch: &mut Watch<'_>,
    ) -> Result<Self, Reason> {
        let mut first = vec![0];
        for places in tables.places() {
            let before = first[first.len() - 1];
            first.push(before + u32::try_from(places).expect("all together have 32 bits"));
        }
        let initial = tables.initial().into_iter().map(|(at, place)| first[at] + place as u32);
        let initial = initial.collect();
        let width = width(any);
        let bytes = vec![0; first[first.len() - 1] as usize * width];
        let answers = Packed { width, bytes };
        let mut graph = Computed { space, tables, threads, first, initial, answers };
        graph.answer(watch)?;
        Ok(graph)
    }

    /// Works out the answers about all states.
    fn answer(&mut self, watch: &mut Watch<'_>) -> Result<(), Reason> {
        let Packed { width, mut bytes } =
            std::mem::replace(&mut self.answers, Packed { width: 1, bytes: Vec::new() });
        let mut begin = 0;
        for some in bytes.chunks_mut(BETWEEN_LOOKS * width) {
            watch.now()?;
            let count = (some.len() / width) as u32;
            let chunks = some.chunks_mut(CHUNK * width).zip((0..count).step_by(CHUNK));
            self.threads.install(|| {
                parallel::each(chunks, |(some, at)| {
                    let row = &mut Row::default();
                    for (to, number) in some.chunks_mut(width).zip(begin + at..) {
                        let answers = self.expand(number, row).to_le_bytes();
                        to.copy_from_slice(&answers[..width]);
                    }
                });
            });
            begin += count;
        }
        self.answers = Packed { width, bytes };
        Ok(())
    }

    /// The shard of a place with this number, and which of its places it is.
    fn place(&self, number: u32) -> (usize, usize) {
        let shard = self.first.partition_point(|&first| first <= number) - 1;
        (shard, (number - self.first[shard]) as usize)
    }

    /// Puts into the row what follows from a state; the answers about it. Nothing is known of a
    /// place in which nothing is, and nothing follows from it.
    fn expand(&self, number: u32, row: &mut Row) -> Answers {
        let (shard, place) = self.place(number);
        row.next.clear();
        if !self.tables.state(shard, place, &mut row.from) {
            return 0;
        }
        let scratch = row.scratch.get_or_insert_with(|| self.space.scratch());
        let answers = self.space.expand(&row.from, scratch, &mut row.next);
        answers.expect("what follows from a state was learned")
    }

    fn compute(&self, number: u32, row: &mut Row) {
        self.expand(number, row);
        row.targets.clear();
        self.tables.find(&row.next, &self.first, &mut row.targets);
    }

    /// Returns what is known of a state.
    #[inline]
    pub fn answers(&self, number: u32) -> Answers {
        self.answers.get(number)
    }

    /// A state in words; none if there is no state.
    fn words(&self, number: u32) -> Vec<u64> {
        let (shard, place) = self.place(number);
        let mut words = Vec::new();
        self.tables.state(shard, place, &mut words);
        words
    }
}

/// Rows that one thread has computed, one after the other.
#[derive(Default)]
struct Computation {
    ends: Vec<usize>,
    targets: Vec<u32>,
}

impl Rows for Computed<'_> {
    type Action = ActionId;

    fn len(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    fn initial(&self) -> &[u32] {
        &self.initial
    }

    fn successors<'a>(&'a self, number: u32, row: &'a mut Row) -> &'a [u32] {
        self.compute(number, row);
        &row.targets
    }

    fn rows_of(
        &self,
        mut numbers: impl Iterator<Item = u32>,
        mut tell: impl FnMut(u32, &[u32]) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        loop {
            let some: Vec<u32> = numbers.by_ref().take(TOGETHER).collect();
            if some.is_empty() {
                return Ok(());
            }
            let computed: Vec<Computation> = self.threads.install(|| {
                parallel::map(some.chunks(CHUNK), |numbers| {
                    let (row, mut done) = (&mut Row::default(), Computation::default());
                    for &number in numbers {
                        self.compute(number, row);
                        done.targets.extend(&row.targets);
                        done.ends.push(done.targets.len());
                    }
                    done
                })
            });
            for (numbers, Computation { ends, targets }) in some.chunks(CHUNK).zip(computed) {
                let begins = std::iter::once(0).chain(ends.iter().copied());
                for ((&number, begin), &end) in numbers.iter().zip(begins).zip(&ends) {
                    tell(number, &targets[begin..end])?;
                }
            }
        }
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

    /// Tables do not say of which level a state is.
    fn backwards(&self) -> Vec<Range<u32>> {
        Vec::new()
    }

    fn has_strong(&self) -> bool {
        self.space.has_strong()
    }

    #[inline]
    fn stutters(&self, number: u32) -> bool {
        self.answers(number) & STUTTERS != 0
    }
}
