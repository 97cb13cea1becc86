//! What a search needs whose states are parted among workers, in one process or in many: all but
//! the workers themselves, and what carries their words.
//!
//! Each worker has [tables](Tables) of the states that it owns. The workers of one process share a
//! space that [learns](Learner), and a [folder](Saves) in which the search is saved. When the last
//! worker has ended, what is left of the search is a [`SearchSummary`](super::SearchSummary). The
//! package `bellwether-dataflow` has such a search.

pub use super::disk::{Saves, difference};
pub use super::level::Level;

use super::disk::{Lessons, Logged, Names, Stored};
use super::error::DiskError;
use super::recode::OutgrownTables;
use super::search::{FoundStates, Search};
use super::shard::{SHARDS, Shard};
use super::table::{self, Table};
use super::words::{read_words, write_words};
use crate::space::{Arrival, Space};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A space that all workers of a process share. If the search is saved, it remembers what it has
/// learned, so that another process comes to know the same.
pub struct Learner<S> {
    space: Box<S>,
    lessons: Lessons,
}

impl<S: Space> Learner<S> {
    /// Returns a learner that has learned nothing yet, and remembers what it learns if that
    /// `is_saved`.
    pub fn begin(mut space: Box<S>, is_saved: bool) -> Self {
        let mut logged = match is_saved {
            true => Logged::new(&mut *space),
            false => Logged::without_log(&mut *space),
        };
        let least = logged.least_bits();
        logged.lay_out(table::room(0, least));
        let lessons = logged.into_lessons();
        Learner { space, lessons }
    }

    /// Returns a learner that knows what was known when the save with this number was made, and
    /// that save; later ones are removed.
    ///
    /// # Errors
    /// If a file cannot be read, or is not as it was written.
    pub fn resume<R: DeserializeOwned>(
        mut space: Box<S>,
        saves: &Saves,
        number: u64,
    ) -> Result<(Self, SavedShare<R>), DiskError> {
        let mut logged = Logged::new(&mut *space);
        let saved = saves.resume::<SavedShare<R>>(number, &mut logged)?;
        let lessons = logged.into_lessons();
        Ok((Learner { space, lessons }, saved))
    }

    /// Returns the space, as it looks now.
    pub fn space(&self) -> &dyn Space {
        &*self.space
    }

    /// Learns what follows from these states, as far as it is not known by then: each item is some
    /// of them, one after the other. Returns whether states have outgrown their words by that, so
    /// that they must be [laid out](Learner::lay_out) anew.
    pub fn learn<'s>(&mut self, states: impl IntoIterator<Item = &'s [u64]>) -> bool {
        let mut space = Logged::after(self.lessons.take(), &mut *self.space);
        let width = padded(space.words());
        let (mut scratch, mut next) = (space.scratch(), Vec::new());
        for state in states.into_iter().flat_map(|some| some.chunks(width)) {
            next.clear();
            // What was learned of another state may be enough for this one.
            if space.expand(state, &mut scratch, &mut next).is_err() {
                space.learn(state);
            }
        }
        let outgrown = space.needs_relayout();
        self.lessons = space.into_lessons();
        outgrown
    }

    /// Lays the words of states out anew, for tables of which none has fewer than `least` states.
    /// All [tables](Tables::into_outgrown) must be recoded then.
    pub fn lay_out(&mut self, least: u64) {
        let mut space = Logged::after(self.lessons.take(), &mut *self.space);
        let bits = space.least_bits();
        space.lay_out(table::room(least, bits));
        self.lessons = space.into_lessons();
    }

    /// Saves what all workers of this process have, with what was learned; the save before it
    /// stays, and those before that do not.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save<R: Serialize>(
        &mut self,
        saves: &Saves,
        number: u64,
        saved: SavedShare<R>,
    ) -> Result<(), DiskError> {
        let space = Logged::after(self.lessons.take(), &mut *self.space);
        let written = saves.save(number, &space, saved);
        self.lessons = space.into_lessons();
        written
    }

    /// Returns the space: the search has ended.
    pub fn into_space(self) -> Box<S> {
        self.space
    }
}

/// As many words as states of so many words take, in what
/// [`with_words`](crate::with_words!) calls.
fn padded(words: usize) -> usize {
    const fn same<const W: usize>() -> usize {
        W
    }
    with_words!(words, same())
}

/// The share of one process in a search that was saved.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedShare<R> {
    /// The progress of the search.
    pub reached: R,
    /// The tables of each worker.
    pub parts: Vec<SavedTables>,
}

impl<R> Names for SavedShare<R> {
    fn names(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.states.name.as_str()).collect()
    }
}

/// The tables of one worker in a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SavedTables {
    /// The states of each table, and those that are expanded once more.
    states: Stored,
}

/// The states that one worker owns, each of `W` words: [`with_words`](crate::with_words!) says how
/// many these are.
pub struct Tables<const W: usize> {
    search: Search<W, Table<W>>,
    /// What was found and is not in its table, by the table it belongs to, and how many that are.
    found: Vec<FoundStates<[u64; W]>>,
    finds: usize,
}

/// The states of a worker that are expanded next, and meanwhile all its tables.
pub struct Round<const W: usize> {
    tables: Vec<Table<W>>,
    chosen: usize,
}

/// The states of a worker as they looked before the space was laid out anew.
pub struct Outgrown(OutgrownTables);

impl<const W: usize> Tables<W> {
    fn of(search: Search<W, Table<W>>) -> Self {
        Tables { search, found: vec![FoundStates::nothing(); SHARDS], finds: 0 }
    }

    /// Returns tables in which nothing is, for states as they look to the space now.
    pub fn empty(space: &dyn Space) -> Self {
        Tables::of(Search::empty(space))
    }

    /// Returns the tables that were saved, and the states that are expanded once more.
    ///
    /// # Errors
    /// If a file cannot be read, or is not as it was written.
    pub fn restore(
        space: &dyn Space,
        saves: &Saves,
        saved: &SavedTables,
    ) -> Result<(Self, Vec<[u64; W]>), DiskError> {
        let mut search = Search::<W, Table<W>>::empty(space);
        let again: Vec<_> = saves.folder.load(&saved.states, |file| {
            for (at, table) in search.shards.iter_mut().enumerate() {
                *table = Table::read(&search.form, at, file)?;
            }
            let [count] = read_words::<1>(file)?;
            (0..count).map(|_| read_words::<W>(file)).collect()
        })?;
        Ok((Tables::of(search), again))
    }

    /// Writes everything down, with the states that are expanded once more.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, saves: &Saves, again: &[[u64; W]]) -> Result<SavedTables, DiskError> {
        let states = saves.folder.store("states", |out| {
            self.search.shards.iter().try_for_each(|table| table.write(out))?;
            write_words(out, [again.len() as u64])?;
            write_words(out, again.as_flattened().iter().copied())
        })?;
        Ok(SavedTables { states })
    }

    /// Adds a state that was found, with how it was reached. It waits until all that was found
    /// [settles](Tables::settle).
    #[inline]
    pub fn find(&mut self, state: &[u64; W], last: Arrival) {
        let (mixed, shard) = Table::<W>::mix(&self.search.form, state);
        self.found[shard].push(mixed, last);
        self.finds += 1;
    }

    /// Returns the number of states that wait to settle, repeats included.
    #[inline]
    pub fn finds(&self) -> usize {
        self.finds
    }

    /// Takes everything that was found into the tables, unless it is there.
    pub fn settle(&mut self) {
        for (shard, found) in self.search.shards.iter_mut().zip(&mut self.found) {
            shard.insert_all(&found.states, Some(&found.lasts), None);
            found.clear();
        }
        self.finds = 0;
    }

    /// Makes everything that was taken in and not expanded the level.
    pub fn begin_level(&mut self) {
        for shard in &mut self.search.shards {
            shard.begin_level();
        }
    }

    /// Chooses the next states of the level. Nothing may settle before the round has
    /// [ended](Tables::end_round).
    pub fn begin_round(&mut self) -> Round<W> {
        let mut tables = std::mem::take(&mut self.search.shards);
        let chosen: usize = tables.iter_mut().map(Table::begin_round).sum();
        Round { tables, chosen }
    }

    /// Takes the tables back: the states that were chosen have been expanded.
    pub fn end_round(&mut self, round: Round<W>) {
        self.search.shards = round.tables;
        self.search.shards.iter_mut().for_each(Table::end_round);
    }

    /// Returns the number of states of the level that have not been expanded.
    pub fn left(&self) -> u64 {
        self.search.shards.iter().map(Table::left).sum()
    }

    /// Returns the number of states that were taken in.
    pub fn held(&self) -> u64 {
        self.search.distinct()
    }

    /// Returns the number of states in the table that has the fewest.
    pub fn least(&self) -> u64 {
        self.search.shards.iter().map(Table::held).min().unwrap_or(0)
    }

    /// Decides whether states should look different in words from now on, so that they take less
    /// memory.
    pub fn too_wide(&self, space: &dyn Space) -> bool {
        Table::too_wide(&self.search.shards, space)
    }

    /// Returns the same states, which look as they did before the space was laid out anew.
    pub fn into_outgrown(self) -> Outgrown {
        Outgrown(OutgrownTables::from(self.search))
    }
}

impl<const W: usize> Round<W> {
    /// Returns the number of states that were chosen.
    pub fn states(&self) -> usize {
        self.chosen
    }

    /// Hands each state that was chosen to `each`, with one way in which it was reached, if the way
    /// matters.
    pub fn each(&self, mut each: impl FnMut(&[u64; W], Arrival)) {
        for table in &self.tables {
            table.round(&mut each);
        }
    }
}

impl Outgrown {
    /// Returns the tables of the same states as they look now.
    pub fn recode<const W: usize>(self, space: &dyn Space) -> Tables<W> {
        Tables::of(self.0.recode::<W>(space))
    }
}
