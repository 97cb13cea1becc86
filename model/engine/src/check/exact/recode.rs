//! What happens when states outgrow their words: the same search goes on with wider ones.
//!
//! A space makes room for what it learns, and then each state looks different. Nothing that was
//! found is lost: the states are taken one after the other, level by level, written as they look
//! now, and put where they belong now. Only their numbers change, and with them the rows of
//! transitions.

use super::graph::ShardRows;
use super::search::{Level, SHARDS_PER_LANE, Search};
use super::shard::{SHARDS, Shard, hash, shard_of};
use crate::space::Space;
use rayon::prelude::*;
use std::ops::Range;

/// How many states of one shard are recoded together at most.
const TOGETHER: u32 = 1 << 14;

/// A search whose states look as they did before the space was laid out anew.
pub(super) struct Outgrown {
    /// The words of a state.
    width: usize,
    /// The states of each shard, one after the other.
    states: Vec<Vec<u64>>,
    initial: Vec<u64>,
    levels: Vec<Level>,
    generated: u64,
    leaves_boundary: bool,
    rows: Option<Vec<ShardRows>>,
}

impl<const W: usize> From<Search<W>> for Outgrown {
    fn from(search: Search<W>) -> Self {
        let states = search.shards.into_iter();
        Outgrown {
            width: W,
            states: states.map(|shard| shard.into_states().into_flattened()).collect(),
            initial: search.initial.into_flattened(),
            levels: search.levels,
            generated: search.generated,
            leaves_boundary: search.leaves_boundary,
            rows: search.rows,
        }
    }
}

/// What one thread has recoded, of its part of the former shards.
struct Recoded<const W: usize> {
    /// The states, by the shard that each belongs to now.
    states: Vec<Vec<[u64; W]>>,
    /// For each former shard, the shards of its states, in order.
    targets: Vec<Vec<u8>>,
}

impl Outgrown {
    /// The same search, of states as they look now.
    pub(super) fn recode<const W: usize>(mut self, space: &dyn Space) -> Search<W> {
        let mut shards: Vec<Shard<W>> = (0..SHARDS).map(|_| Shard::new()).collect();
        let mut moved = vec![Vec::new(); SHARDS];
        let mut levels = std::mem::take(&mut self.levels);
        let mut done = vec![0; SHARDS];
        for level in &mut levels {
            // Of the last level, what has been expanded; of the others, nothing.
            let starts: Vec<_> = level.states.iter().map(|range| range.start).collect();
            self.move_until(&mut done, &starts, space, &mut shards, &mut moved);
            let begins = sizes(&shards);
            let ends: Vec<_> = level.states.iter().map(|range| range.end).collect();
            self.move_until(&mut done, &ends, space, &mut shards, &mut moved);
            let states = begins.into_iter().zip(sizes(&shards));
            level.states = states.map(|(begin, end)| begin..end).collect();
        }
        let all: Vec<_> =
            self.states.iter().map(|states| (states.len() / self.width) as u32).collect();
        self.move_until(&mut done, &all, space, &mut shards, &mut moved);
        let mut initial = Vec::new();
        for state in self.initial.chunks(self.width) {
            initial.push(recoded(space, state));
        }
        Search {
            rows: self.rows.map(|rows| move_rows(&rows, &moved, &sizes(&shards))),
            shards,
            initial,
            levels,
            generated: self.generated,
            leaves_boundary: self.leaves_boundary,
            cut_short: None,
            waiting: 0,
        }
    }

    /// Moves the states of each former shard from `done` until `ends`. If there are rows, `moved`
    /// tells where each state has gone, by its former place.
    fn move_until<const W: usize>(
        &self,
        done: &mut Vec<u32>,
        ends: &[u32],
        space: &dyn Space,
        shards: &mut [Shard<W>],
        moved: &mut [Vec<u32>],
    ) {
        while done != ends {
            let next: Vec<_> =
                done.iter().zip(ends).map(|(&from, &end)| end.min(from + TOGETHER)).collect();
            let ranges: Vec<_> = done.iter().zip(&next).map(|(&from, &to)| from..to).collect();
            let lanes = self.states.par_chunks(SHARDS_PER_LANE);
            let lanes = lanes.zip(ranges.par_chunks(SHARDS_PER_LANE));
            let lanes: Vec<Recoded<W>> =
                lanes.map(|(of, at)| self.recode_lane(space, of, at)).collect();
            let insert = |(at, shard): (usize, &mut Shard<W>)| -> Vec<Vec<u32>> {
                let one = |lane: &Recoded<W>| {
                    let mut numbers = Vec::new();
                    shard.insert_all(&lane.states[at], |number| numbers.push(number));
                    numbers
                };
                lanes.iter().map(one).collect()
            };
            let numbers: Vec<_> = shards.par_iter_mut().enumerate().map(insert).collect();
            if self.rows.is_some() {
                let moved = moved.par_chunks_mut(SHARDS_PER_LANE).zip(&lanes).enumerate();
                moved.for_each(|(at, (moved, lane))| {
                    let mut read = [0usize; SHARDS];
                    for (moved, targets) in moved.iter_mut().zip(&lane.targets) {
                        moved.extend(targets.iter().map(|&shard| {
                            let shard = usize::from(shard);
                            read[shard] += 1;
                            code(shard, numbers[shard][at][read[shard] - 1])
                        }));
                    }
                });
            }
            *done = next;
        }
    }

    fn recode_lane<const W: usize>(
        &self,
        space: &dyn Space,
        shards: &[Vec<u64>],
        ranges: &[Range<u32>],
    ) -> Recoded<W> {
        let mut lane = Recoded { states: vec![Vec::new(); SHARDS], targets: Vec::new() };
        for (states, range) in shards.iter().zip(ranges) {
            let words = range.start as usize * self.width..range.end as usize * self.width;
            let mut targets = Vec::with_capacity(range.len());
            for state in states[words].chunks(self.width) {
                let state = recoded(space, state);
                let shard = shard_of(hash(&state));
                lane.states[shard].push(state);
                targets.push(shard as u8);
            }
            lane.targets.push(targets);
        }
        lane
    }
}

fn recoded<const W: usize>(space: &dyn Space, state: &[u64]) -> [u64; W] {
    let mut words = Vec::with_capacity(W);
    space.recode(state, W, &mut words);
    let mut state = [0; W];
    state.copy_from_slice(&words);
    state
}

/// A state's place in one number: the shard in the low bits, the number in it above.
fn code(shard: usize, number: u32) -> u32 {
    number * SHARDS as u32 + shard as u32
}

fn sizes<const W: usize>(shards: &[Shard<W>]) -> Vec<u32> {
    shards.iter().map(|shard| shard.states().len() as u32).collect()
}

/// The rows of states that have gone where `moved` says. Those that have rows stand before those
/// that do not, in each shard: they have been moved in the order of levels.
fn move_rows(rows: &[ShardRows], moved: &[Vec<u32>], sizes: &[u32]) -> Vec<ShardRows> {
    let mut former: Vec<Vec<u32>> = sizes.iter().map(|&size| vec![0; size as usize]).collect();
    let mut counts = vec![0; SHARDS];
    for (shard, (moved, rows)) in moved.iter().zip(rows).enumerate() {
        for (number, &now) in moved.iter().enumerate() {
            let (at, place) = (now as usize % SHARDS, now as usize / SHARDS);
            former[at][place] = code(shard, number as u32);
            counts[at] += usize::from(number < rows.len());
        }
    }
    let shards = former.into_par_iter().zip(counts).map(|(former, count)| {
        let mut now = ShardRows::default();
        for &was in &former[..count] {
            let (answers, targets) = rows[was as usize % SHARDS].row(was as usize / SHARDS);
            let place = |(shard, number): (usize, u32)| {
                let now = moved[shard][number as usize];
                (now as usize % SHARDS, now / SHARDS as u32)
            };
            now.push(answers, targets.map(|target| target.map(place)));
        }
        now
    });
    shards.collect()
}
