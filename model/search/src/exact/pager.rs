//! Shards of which the tables need not be in memory.
//!
//! As long as there is memory, all tables stand in it. When there is not, the shards are parted
//! into groups, and the tables of one group at a time are in memory; the others lie in files. What
//! is found for a table that lies in a file is written down beside it, and taken in when its group
//! is next. So in each level each table is read once and written once, whatever its states lead to.

use super::disk::{DiskError, Folder, Spill, Spilled, Stored};
use super::form::{Form, Size};
use super::parallel;
use super::search::Shard;
use super::table::{STAGES, Summary, Table};
use crate::space::{Last, NO_LAST, Space};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time after which a search is saved once more, if all of it is in memory.
pub const SELDOM: Duration = Duration::from_secs(600);
/// The same, if most of it is in files.
const OFTEN: Duration = Duration::from_secs(60);

/// What all shards of a search have in common.
#[derive(Debug)]
pub(super) struct Pager {
    pub(super) folder: Folder,
    /// Shards are in memory together if their numbers are the same modulo this, a power of two.
    groups: AtomicUsize,
    /// Whether every step is taken, because what follows from every state is asked for.
    all: bool,
    /// How often it is saved, if that is said.
    every: Option<Duration>,
    saved: Mutex<Instant>,
    error: Mutex<Option<DiskError>>,
}

impl Pager {
    /// With all shards in memory, if there is one group.
    pub(super) fn new(folder: Folder, groups: usize, all: bool, every: Option<Duration>) -> Self {
        let (groups, saved) = (AtomicUsize::new(groups), Mutex::new(Instant::now()));
        Pager { folder, groups, all, every, saved, error: Mutex::default() }
    }

    pub(super) fn groups(&self) -> usize {
        self.groups.load(Ordering::Relaxed)
    }

    /// Everything has been saved.
    pub(super) fn saved_now(&self) {
        *self.saved.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_due(&self) -> bool {
        let saved = *self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let usual = if self.groups() > 1 { OFTEN } else { SELDOM };
        saved.elapsed() >= self.every.unwrap_or(usual)
    }

    /// The first thing that went wrong.
    pub(super) fn error(&self) -> Option<DiskError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn record(&self, result: Result<(), DiskError>) {
        if let Err(error) = result {
            let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(error);
        }
    }

    fn is_broken(&self) -> bool {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// A shard that may be in memory.
#[derive(Debug)]
pub(super) struct Paged<const W: usize> {
    form: Form<W>,
    shard: usize,
    pager: Option<Arc<Pager>>,
    summary: Summary,
    /// If it is in memory.
    table: Option<Table<W>>,
    /// The file in which the table is as it is now.
    stored: Option<Stored>,
    /// States that came while the table was away, by the turn of their level.
    found: [Option<Spill>; 2],
    /// States of another form that were moved here while the table was away, by their stages.
    moved: [Option<Spill>; STAGES],
}

/// What a shard has in files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Files {
    summary: Summary,
    table: Option<Stored>,
    found: [Option<Spilled>; 2],
    moved: [Option<Spilled>; STAGES],
}

impl Files {
    /// The names of all.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let spilled = self.found.iter().chain(&self.moved).flatten();
        let files = spilled.flat_map(|spilled| &spilled.files).chain(&self.table);
        files.map(|stored| stored.name.as_str())
    }
}

impl<const W: usize> Paged<W> {
    /// Nothing is in it yet, and its level has this turn.
    pub(super) fn at_turn(self, turn: usize) -> Self {
        let table = self.table.map(|table| table.at_turn(turn));
        Paged { table, summary: Summary { turn, ..self.summary }, ..self }
    }

    /// The same shard of a search that has a pager; if another group is in memory, away.
    pub(super) fn with(mut self, pager: Option<&Arc<Pager>>) -> Self {
        self.pager = pager.cloned();
        if self.pager.as_ref().is_some_and(|pager| !self.shard.is_multiple_of(pager.groups())) {
            self.table = None;
        }
        self
    }

    /// The shard that was saved.
    pub(super) fn saved(
        form: Form<W>,
        shard: usize,
        pager: Option<&Arc<Pager>>,
        files: Files,
    ) -> Self {
        let Files { summary, table, found, moved } = files;
        let spill = |spilled: Option<Spilled>| spilled.map(Spill::from);
        Paged {
            form,
            shard,
            pager: pager.cloned(),
            summary,
            table: None,
            stored: table,
            found: found.map(spill),
            moved: moved.map(spill),
        }
    }

    /// Writes down what is not in files, and what is.
    pub(super) fn save(&mut self, folder: &Folder) -> Result<Files, DiskError> {
        if let Some(table) = &self.table {
            self.summary = table.summary();
            // One in which nothing is needs no file.
            if self.stored.is_none() && table.held() > 0 {
                self.stored = Some(folder.store("table", |out| table.write(out))?);
            }
        }
        let found = finish(&mut self.found, folder)?;
        let moved = finish(&mut self.moved, folder)?;
        Ok(Files { summary: self.summary, table: self.stored.clone(), found, moved })
    }

    pub(super) fn turn(&self) -> usize {
        self.table.as_ref().map_or(self.summary.turn, Table::turn)
    }

    pub(super) fn pager(&self) -> Option<&Arc<Pager>> {
        self.pager.as_ref()
    }

    /// See [`Table::room`].
    pub(super) fn room(shards: &[Self], least: u32) -> u32 {
        let held = shards.iter().map(|shard| shard.held() as usize).min().unwrap_or(0);
        Self::room_for(held, least)
    }

    /// The same, if no shard has fewer states than so many.
    pub(super) fn room_for(held: usize, least: u32) -> u32 {
        Table::<W>::room(held, least)
    }

    /// All states that were taken in, with their stages, and those that wait to be, by the turn of
    /// their level.
    pub(super) fn into_states(mut self) -> Result<States, DiskError> {
        let mut waiting = [Vec::new(), Vec::new()];
        let Some(pager) = self.pager.clone() else {
            let (states, stages) = self.table.map(Table::into_states).unwrap_or_default();
            return Ok(States { states, stages, waiting });
        };
        for (waiting, spill) in waiting.iter_mut().zip(&mut self.found) {
            if let Some(spill) = spill.take() {
                spill.read::<W>(&pager.folder, |states| {
                    waiting.extend(states.iter().flat_map(|mixed| self.form.unmix(mixed)));
                })?;
            }
        }
        self.load(&pager.folder)?;
        let (states, stages) = self.table.map(Table::into_states).unwrap_or_default();
        Ok(States { states, stages, waiting })
    }

    /// Adds a mixed state of another form of this search, of which this has become.
    pub(super) fn take_over(&mut self, mixed: &[u64; W], stage: u32) {
        if let Some(table) = &mut self.table {
            return table.take_over(mixed, stage);
        }
        let Some(pager) = self.pager.clone() else { return };
        self.summary.count(stage);
        let spill = self.moved[stage as usize - 1].get_or_insert_default();
        pager.record(spill.write(&pager.folder, 1, mixed.iter()));
    }

    /// Adds mixed states that wait to be taken in, in the level of this turn.
    pub(super) fn spill(&mut self, mixed: &[[u64; W]], turn: usize) {
        let Some(pager) = &self.pager else { return };
        let spill = self.found[turn].get_or_insert_default();
        let words = mixed.as_flattened().iter();
        pager.record(spill.write(&pager.folder, mixed.len(), words));
    }

    /// The table, if it is in memory.
    pub(super) fn table(&self) -> Option<&Table<W>> {
        self.table.as_ref()
    }

    /// How many places for states it has, wherever it is.
    pub(super) fn places(&self) -> u64 {
        let size = self.table.as_ref().map_or(self.summary.size, |table| table.summary().size);
        (size.all_buckets() * size.places()) as u64
    }

    /// How many bytes it takes in memory, if it lies in files.
    pub(super) fn bytes_away(&self) -> u64 {
        let Size { bucket, .. } = self.summary.size;
        let bytes = self.summary.size.all_buckets() * bucket * size_of::<u32>();
        if self.table.is_some() { 0 } else { bytes as u64 }
    }

    /// Takes in what waits for the level, if the table is in memory.
    pub(super) fn take_in(&mut self) {
        if let Some(pager) = self.pager.clone().filter(|_| self.table.is_some()) {
            pager.record(self.load(&pager.folder));
        }
    }

    /// Whether states of this level are in files.
    fn has_pages(&self) -> bool {
        self.found[self.turn()].is_some() || (self.table.is_none() && self.left() > 0)
    }

    /// Goes into a file.
    fn evict(&mut self, folder: &Folder) -> Result<(), DiskError> {
        self.save(folder)?;
        self.table = None;
        Ok(())
    }

    /// Comes into memory, with what was found of its level meanwhile.
    pub(super) fn load(&mut self, folder: &Folder) -> Result<(), DiskError> {
        if self.table.is_none() {
            let Summary { turn, .. } = self.summary;
            let mut table = match &self.stored {
                Some(stored) => folder
                    .load(stored, |file| Table::read(self.form, self.shard, self.summary, file))?,
                None => Table::new(&self.form, self.shard).at_turn(turn),
            };
            for (moved, stage) in self.moved.iter_mut().zip(1..) {
                if let Some(moved) = moved.take() {
                    self.stored = None;
                    let take = |states: &[_]| states.iter().for_each(|s| table.take_over(s, stage));
                    moved.read::<W>(folder, take)?;
                }
            }
            self.table = Some(table);
        }
        let turn = self.turn();
        if let (Some(found), Some(table)) = (self.found[turn].take(), &mut self.table) {
            self.stored = None;
            found.read::<W>(folder, |states| table.insert_of(states, None, turn))?;
        }
        Ok(())
    }
}

fn finish<const N: usize>(
    spills: &mut [Option<Spill>; N],
    folder: &Folder,
) -> Result<[Option<Spilled>; N], DiskError> {
    let mut done = [const { None }; N];
    for (done, spill) in done.iter_mut().zip(spills) {
        *done = spill.as_mut().map(|spill| spill.finish(folder)).transpose()?;
    }
    Ok(done)
}

/// The states of a shard, as they look to the space, one after the other.
pub(super) struct States {
    pub(super) states: Vec<u64>,
    /// What has become of each.
    pub(super) stages: Vec<u32>,
    /// Those that were not taken in yet, by the turn of their level.
    pub(super) waiting: [Vec<u64>; 2],
}

impl<const W: usize> Shard<W> for Paged<W> {
    /// Fewer than of a list: they are a part of the memory that a table saves.
    const ROUND: usize = 128;

    type Form = Form<W>;

    fn form(space: &dyn Space) -> Form<W> {
        Form::new(&space.bits())
    }

    fn new(form: &Form<W>, shard: usize) -> Self {
        let table = Table::new(form, shard);
        Paged {
            form: *form,
            shard,
            pager: None,
            summary: table.summary(),
            table: Some(table),
            stored: None,
            found: [None, None],
            moved: [None, None, None],
        }
    }

    fn too_wide(shards: &[Self], space: &dyn Space) -> bool {
        let summary = |shard: &Self| shard.table.as_ref().map_or(shard.summary, Table::summary);
        Table::<W>::too_wide(shards.iter().map(summary), space.least_bits())
    }

    #[inline]
    fn mix(form: &Form<W>, state: &[u64; W]) -> ([u64; W], usize) {
        let mixed = form.mix(state);
        (mixed, (mixed[0] >> form.head_bits()) as usize)
    }

    fn held(&self) -> u64 {
        self.table.as_ref().map_or(self.summary.held, Table::held) as u64
    }

    fn insert_all(&mut self, mixed: &[[u64; W]], lasts: Option<&[Last]>, _: Option<&mut Vec<u32>>) {
        if mixed.is_empty() {
            return;
        }
        let next = 1 - self.turn();
        match &mut self.table {
            Some(table) => {
                self.stored = None;
                table.insert_of(mixed, lasts, next);
            }
            None => self.spill(mixed, next),
        }
    }

    fn growth(&self, more: usize) -> u64 {
        self.table.as_ref().map_or(0, |table| table.growth(more))
    }

    /// What waits for a table that is in memory is taken in at once: if states of the level were
    /// expanded before, they could lead to one that waits, and it would be taken for one of the
    /// next level.
    fn begin_level(&mut self) -> u64 {
        if let Some(table) = &mut self.table {
            table.begin_level();
            self.take_in();
            return self.left();
        }
        self.summary.begin_level() + self.found[self.turn()].as_ref().map_or(0, Spill::states)
    }

    fn left(&self) -> u64 {
        self.table.as_ref().map_or(self.summary.left, Table::left)
    }

    fn begin_round(&mut self) -> usize {
        let groups = self.pager.as_ref().map_or(1, |pager| pager.groups());
        self.table.as_mut().map_or(0, |table| table.begin_round(Self::ROUND * groups.min(16)))
    }

    fn round(&self, mut each: impl FnMut(&[u64; W], Last)) {
        let all = self.pager.as_ref().is_some_and(|pager| pager.all);
        if let Some(table) = &self.table {
            table.round(|state, last| each(state, if all { NO_LAST } else { last }));
        }
    }

    fn end_round(&mut self) {
        if self.table.as_mut().is_some_and(|table| table.end_round() > 0) {
            self.stored = None;
        }
    }

    fn load_next_group(shards: &mut [Self]) -> bool {
        let Some(pager) = shards[0].pager.clone() else { return false };
        let pages = shards.iter().find(|shard| shard.has_pages());
        let Some(group) = pages.map(|shard| shard.shard % pager.groups()) else { return false };
        let in_group = |shard: &&mut Self| shard.shard % pager.groups() == group;
        let others = |shard: &&mut Self| !in_group(shard) && shard.table.is_some();
        let go = shards.iter_mut().filter(others);
        parallel::each(go, |shard| pager.record(shard.evict(&pager.folder)));
        if !pager.is_broken() {
            let group = shards.iter_mut().filter(in_group);
            parallel::each(group, |shard| pager.record(shard.load(&pager.folder)));
        }
        true
    }

    fn evict_group(shards: &mut [Self]) -> bool {
        let Some(pager) = shards[0].pager.clone() else { return false };
        let first = shards.iter().find(|shard| shard.table.is_some()).map(|shard| shard.shard);
        let groups = pager.groups() * 2;
        let Some(first) = first.filter(|_| groups <= shards.len()) else { return false };
        pager.groups.store(groups, Ordering::Relaxed);
        shards.iter_mut().filter_map(|shard| shard.table.as_mut()).for_each(Table::leave_round);
        let go =
            |shard: &&mut Self| shard.table.is_some() && shard.shard % groups != first % groups;
        parallel::each(shards.iter_mut().filter(go), |shard| {
            pager.record(shard.evict(&pager.folder));
        });
        true
    }

    fn is_broken(shards: &[Self]) -> bool {
        shards[0].pager.as_ref().is_some_and(|pager| pager.is_broken())
    }

    fn save_is_due(shards: &[Self]) -> bool {
        shards[0].pager.as_ref().is_some_and(|pager| pager.is_due())
    }
}
