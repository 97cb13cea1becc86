//! What happens when states outgrow their words: the same search goes on with other ones.
//!
//! A space makes room for what it learns, and then each state looks different. Nothing that was
//! found is lost: the states are taken one after the other, written as they look now, and put where
//! they belong now. If they have numbers, only those change, and with them the rows of transitions.

use super::edges::ShardRows;
use super::level::Reached;
use super::list::IndexedSet;
use super::numbered::Numbered;
use super::parallel;
use super::search::Search;
use super::shard::{SHARDS, SHARDS_PER_WORKER, Shard};
use super::table::Table;
use crate::space::Space;
use std::ops::Range;

/// How many states of one shard are recoded together at most.
const TOGETHER: u32 = 1 << 14;

/// How many tables are recoded together: each takes as much memory as a list meanwhile.
const TABLES: usize = 4;

/// The search with these shards, that goes on; its initial states had so many words.
fn go_on<const W: usize, S: Shard<W>>(
    space: &dyn Space,
    width: usize,
    mut reached: Reached,
    shards: Vec<S>,
    rows: Option<Vec<ShardRows>>,
) -> Search<W, S> {
    let initial = reached.initial.chunks(width);
    reached.initial = initial.flat_map(|state| recoded::<W>(space, state)).collect();
    Search { form: S::form(space), shards, reached, cut_short: None, waiting: 0, rows }
}

/// A search over tables whose states look as they did before the space was laid out anew.
pub(super) struct OutgrownTables {
    width: usize,
    reached: Reached,
    tables: Vec<OldWidthStates>,
    turn: usize,
}

/// Takes a table apart, whatever the words of its states: these, and what has become of each.
type OldWidthStates = Box<dyn FnOnce() -> (Vec<u64>, Vec<u32>) + Send + Sync>;

impl<const W: usize> From<Search<W, Table<W>>> for OutgrownTables {
    fn from(search: Search<W, Table<W>>) -> Self {
        let turn = search.shards[0].turn();
        let former = |table: Table<W>| Box::new(move || table.into_states()) as OldWidthStates;
        let tables = search.shards.into_iter().map(former).collect();
        OutgrownTables { width: W, reached: search.reached, tables, turn }
    }
}

impl OutgrownTables {
    /// The same search, of states as they look now.
    pub(super) fn recode<const W: usize>(self, space: &dyn Space) -> Search<W, Table<W>> {
        let OutgrownTables { width, reached, tables, turn } = self;
        let form = Table::<W>::form(space);
        let mut shards: Vec<_> =
            (0..SHARDS).map(|shard| Table::new(&form, shard).at_turn(turn)).collect();
        let mut left = tables.into_iter();
        while left.len() > 0 {
            // A table is gone before the next few are looked at.
            let some: Vec<_> = left.by_ref().take(TABLES).collect();
            let sorted = parallel::map(some, |table| {
                let (states, stages) = table();
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
        go_on(space, width, reached, shards, None)
    }
}

/// What one thread has recoded, of its part of the former shards.
struct Recoded<const W: usize> {
    /// The states, by the shard that each belongs to now.
    states: Vec<Vec<[u64; W]>>,
    /// For each former shard, the shards of its states, in order.
    targets: Vec<Vec<u8>>,
}

impl Numbered {
    /// The same search, of states as they look now, with lists whose states look as they did before
    /// the space was laid out anew.
    pub(super) fn recode<const W: usize>(self, space: &dyn Space) -> Search<W, IndexedSet> {
        let mut shards: Vec<_> =
            (0..SHARDS).map(|shard| <IndexedSet as Shard<W>>::new(&(), shard)).collect();
        let mut moved = vec![Vec::new(); SHARDS];
        let mut at = vec![0; SHARDS];
        let levels = self.reached.levels.len();
        for level in 0..levels {
            if level + 1 == levels {
                // Of the last level, what has been expanded comes first.
                let done: Vec<_> = self.lists.iter().map(|list| list.done).collect();
                self.move_until::<W>(&mut at, &done, space, &mut shards, &mut moved);
                shards.iter_mut().for_each(|list| list.done = list.count() as u32);
            }
            let ends: Vec<_> = self.lists.iter().map(|list| list.ends[level]).collect();
            self.move_until::<W>(&mut at, &ends, space, &mut shards, &mut moved);
            shards.iter_mut().for_each(|list| list.ends.push(list.count() as u32));
        }
        self.move_until::<W>(&mut at, &sizes(&self.lists), space, &mut shards, &mut moved);
        let rows = self.rows.as_ref().map(|rows| move_rows(rows, &moved, &sizes(&shards)));
        go_on(space, self.width, self.reached, shards, rows)
    }

    /// Moves the states of each former shard from `done` until `ends`. If there are rows, `moved`
    /// tells where each state has gone, by its former place.
    fn move_until<const W: usize>(
        &self,
        done: &mut Vec<u32>,
        ends: &[u32],
        space: &dyn Space,
        shards: &mut [IndexedSet],
        moved: &mut [Vec<u32>],
    ) {
        while done != ends {
            let next: Vec<_> =
                done.iter().zip(ends).map(|(&from, &end)| end.min(from + TOGETHER)).collect();
            let ranges: Vec<_> = done.iter().zip(&next).map(|(&from, &to)| from..to).collect();
            let workers =
                self.lists.chunks(SHARDS_PER_WORKER).zip(ranges.chunks(SHARDS_PER_WORKER));
            let workers = parallel::map(workers, |(of, at)| self.recode_worker(space, of, at));
            let insert = |(at, shard): (usize, &mut IndexedSet)| -> Vec<Vec<u32>> {
                let one = |worker: &Recoded<W>| {
                    let mut numbers = Vec::new();
                    let states = &worker.states[at];
                    <IndexedSet as Shard<W>>::insert_all(shard, states, None, Some(&mut numbers));
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
        lists: &[IndexedSet],
        ranges: &[Range<u32>],
    ) -> Recoded<W> {
        let mut worker = Recoded { states: vec![Vec::new(); SHARDS], targets: Vec::new() };
        for (list, range) in lists.iter().zip(ranges) {
            let mut targets = Vec::with_capacity(range.len());
            for state in list.words(range.clone()).chunks(self.width) {
                let (state, shard) = IndexedSet::mix(&(), &recoded::<W>(space, state));
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

fn sizes(lists: &[IndexedSet]) -> Vec<u32> {
    lists.iter().map(|list| list.count() as u32).collect()
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
