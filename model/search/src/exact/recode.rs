//! What happens when states outgrow their words: the same search goes on with other ones.
//!
//! A space makes room for what it learns, and then each state looks different. Nothing that was
//! found is lost: the states are taken one after the other, written as they look now, and put where
//! they belong now. If they have numbers, only those change, and with them the rows of transitions.

use super::graph::ShardRows;
use super::list::List;
use super::parallel;
use super::search::{Level, SHARDS, SHARDS_PER_WORKER, Search, Shard};
use super::table::Table;
use crate::space::Space;
use std::ops::Range;

/// How many states of one shard are recoded together at most.
const TOGETHER: u32 = 1 << 14;

/// How many tables are recoded together: each takes as much memory as a list meanwhile.
const TABLES: usize = 4;

/// What of a search does not depend on how its states look.
struct Common {
    /// The words of a state.
    width: usize,
    initial: Vec<u64>,
    levels: Vec<Level>,
    generated: u64,
    leaves_boundary: bool,
}

impl Common {
    fn of<const W: usize, S: Shard<W>>(search: &mut Search<W, S>) -> Self {
        Common {
            width: W,
            initial: std::mem::take(&mut search.initial).into_flattened(),
            levels: std::mem::take(&mut search.levels),
            generated: search.generated,
            leaves_boundary: search.leaves_boundary,
        }
    }

    /// The search with these shards, that goes on.
    fn go_on<const W: usize, S: Shard<W>>(
        self,
        space: &dyn Space,
        shards: Vec<S>,
        rows: Option<Vec<ShardRows>>,
    ) -> Search<W, S> {
        Search {
            form: S::form(space),
            shards,
            initial: self.initial.chunks(self.width).map(|state| recoded(space, state)).collect(),
            levels: self.levels,
            generated: self.generated,
            leaves_boundary: self.leaves_boundary,
            cut_short: None,
            waiting: 0,
            rows,
        }
    }
}

/// A search over tables whose states look as they did before the space was laid out anew.
pub(super) struct OutgrownTables {
    common: Common,
    tables: Vec<Box<dyn Former>>,
    turn: usize,
}

/// A table, whatever the words of its states.
trait Former: Send + Sync {
    fn into_states(self: Box<Self>) -> (Vec<u64>, Vec<u32>);
}

impl<const W: usize> Former for Table<W> {
    fn into_states(self: Box<Self>) -> (Vec<u64>, Vec<u32>) {
        Table::into_states(*self)
    }
}

impl<const W: usize> From<Search<W, Table<W>>> for OutgrownTables {
    fn from(mut search: Search<W, Table<W>>) -> Self {
        let turn = search.shards[0].turn();
        let common = Common::of(&mut search);
        let boxed = |table| Box::new(table) as Box<dyn Former>;
        let tables = search.shards.into_iter().map(boxed).collect();
        OutgrownTables { common, tables, turn }
    }
}

impl OutgrownTables {
    /// The same search, of states as they look now.
    pub(super) fn recode<const W: usize>(self, space: &dyn Space) -> Search<W, Table<W>> {
        let OutgrownTables { common, tables, turn } = self;
        let (width, form) = (common.width, Table::<W>::form(space));
        let mut shards: Vec<_> =
            (0..SHARDS).map(|shard| Table::new(&form, shard).at_turn(turn)).collect();
        let mut left = tables.into_iter();
        while left.len() > 0 {
            // A table is gone before the next few are looked at.
            let some: Vec<_> = left.by_ref().take(TABLES).collect();
            let sorted = parallel::map(some, |table| {
                let (states, stages) = table.into_states();
                let mut by_shard: Vec<Vec<([u64; W], u32)>> =
                    (0..SHARDS).map(|_| Vec::new()).collect();
                for (state, stage) in states.chunks(width).zip(stages) {
                    let (mixed, shard) = Table::mix(&form, &recoded(space, state));
                    by_shard[shard].push((mixed, stage));
                }
                by_shard
            });
            parallel::each(shards.iter_mut().enumerate(), |(at, shard)| {
                for (mixed, stage) in sorted.iter().flat_map(|by_shard| &by_shard[at]) {
                    shard.take_over(mixed, *stage);
                }
            });
        }
        common.go_on(space, shards, None)
    }
}

/// A search over lists whose states look as they did before the space was laid out anew.
pub(super) struct OutgrownLists {
    common: Common,
    /// The states of each shard, one after the other.
    states: Vec<Vec<u64>>,
    /// Where each level of each shard ends, and what was expanded.
    ends: Vec<Vec<u32>>,
    done: Vec<u32>,
    rows: Option<Vec<ShardRows>>,
}

impl<const W: usize> From<Search<W, List<W>>> for OutgrownLists {
    fn from(mut search: Search<W, List<W>>) -> Self {
        let common = Common::of(&mut search);
        let done = search.shards.iter().map(|list| list.done).collect();
        let parts = search.shards.into_iter().map(List::into_parts);
        let (states, ends) = parts.map(|(states, ends)| (states.into_flattened(), ends)).unzip();
        OutgrownLists { common, states, ends, done, rows: search.rows }
    }
}

/// What one thread has recoded, of its part of the former shards.
struct Recoded<const W: usize> {
    /// The states, by the shard that each belongs to now.
    states: Vec<Vec<[u64; W]>>,
    /// For each former shard, the shards of its states, in order.
    targets: Vec<Vec<u8>>,
}

impl OutgrownLists {
    /// The same search, of states as they look now.
    pub(super) fn recode<const W: usize>(self, space: &dyn Space) -> Search<W, List<W>> {
        let mut shards: Vec<_> = (0..SHARDS).map(|shard| List::new(&(), shard)).collect();
        let mut moved = vec![Vec::new(); SHARDS];
        let mut at = vec![0; SHARDS];
        let levels = self.common.levels.len();
        for level in 0..levels {
            if level + 1 == levels {
                // Of the last level, what has been expanded comes first.
                self.move_until(&mut at, &self.done, space, &mut shards, &mut moved);
                shards.iter_mut().for_each(|list| list.done = list.states().len() as u32);
            }
            let ends: Vec<_> = self.ends.iter().map(|ends| ends[level]).collect();
            self.move_until(&mut at, &ends, space, &mut shards, &mut moved);
            shards.iter_mut().for_each(|list| list.ends.push(list.states().len() as u32));
        }
        let all = self.states.iter().map(|states| (states.len() / self.common.width) as u32);
        self.move_until(&mut at, &all.collect::<Vec<_>>(), space, &mut shards, &mut moved);
        let rows = self.rows.as_ref().map(|rows| move_rows(rows, &moved, &sizes(&shards)));
        self.common.go_on(space, shards, rows)
    }

    /// Moves the states of each former shard from `done` until `ends`. If there are rows, `moved`
    /// tells where each state has gone, by its former place.
    fn move_until<const W: usize>(
        &self,
        done: &mut Vec<u32>,
        ends: &[u32],
        space: &dyn Space,
        shards: &mut [List<W>],
        moved: &mut [Vec<u32>],
    ) {
        while done != ends {
            let next: Vec<_> =
                done.iter().zip(ends).map(|(&from, &end)| end.min(from + TOGETHER)).collect();
            let ranges: Vec<_> = done.iter().zip(&next).map(|(&from, &to)| from..to).collect();
            let workers =
                self.states.chunks(SHARDS_PER_WORKER).zip(ranges.chunks(SHARDS_PER_WORKER));
            let workers = parallel::map(workers, |(of, at)| self.recode_worker(space, of, at));
            let insert = |(at, shard): (usize, &mut List<W>)| -> Vec<Vec<u32>> {
                let one = |worker: &Recoded<W>| {
                    let mut numbers = Vec::new();
                    shard.insert_all(&worker.states[at], None, Some(&mut numbers));
                    numbers
                };
                workers.iter().map(one).collect()
            };
            let numbers = parallel::map(shards.iter_mut().enumerate(), insert);
            if self.rows.is_some() {
                let moved = moved.chunks_mut(SHARDS_PER_WORKER).zip(&workers).enumerate();
                parallel::each(moved, |(at, (moved, worker))| {
                    let mut read = [0usize; SHARDS];
                    for (moved, targets) in moved.iter_mut().zip(&worker.targets) {
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

    fn recode_worker<const W: usize>(
        &self,
        space: &dyn Space,
        shards: &[Vec<u64>],
        ranges: &[Range<u32>],
    ) -> Recoded<W> {
        let mut worker = Recoded { states: vec![Vec::new(); SHARDS], targets: Vec::new() };
        for (states, range) in shards.iter().zip(ranges) {
            let words =
                range.start as usize * self.common.width..range.end as usize * self.common.width;
            let mut targets = Vec::with_capacity(range.len());
            for state in states[words].chunks(self.common.width) {
                let state = recoded(space, state);
                let (state, shard) = List::mix(&(), &state);
                worker.states[shard].push(state);
                targets.push(shard as u8);
            }
            worker.targets.push(targets);
        }
        worker
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

fn sizes<const W: usize>(shards: &[List<W>]) -> Vec<u32> {
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
    parallel::map(former.into_iter().zip(counts), |(former, count)| {
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
    })
}
