//! A set of states that takes little more memory than what distinguishes them: no list, no queue.
//!
//! A state's bits are [mixed](Form::mix), and part of them says where it stands, so only the
//! others are stored (quotienting: Cleary, *Compact Hash Tables Using Bidirectional Linear
//! Probing*, 1984; van der Vegt and Laarman, *A Parallel Compact Hash Table*, 2012). Nothing is
//! lost: what stands in a place and the place together are the state, whole. What is to be expanded
//! next is found by looking through the table.
//!
//! Places are in buckets of a cache line or a few. A state stands in the bucket that its bits say,
//! or in one of 15 others after it, and then it is written beside it which. If all of these are
//! full, one of the states in them may stand in a later one of its own. The number of buckets grows
//! by a quarter or less, that of a large table by an eighth or less, and the states move on in the
//! memory where they are.

mod cells;

#[cfg(test)]
mod tests;

use super::form::{
    self, ARRIVAL_BITS, AWAY, AWAY_SHIFT, FARTHEST, Form, LINE, MARK_BITS, STAGE_BITS, Size,
};
use super::shard::Shard;
use super::words::{read_number, read_words, write_words};
use crate::space::{Arrival, NO_ARRIVAL, Space};
use cells::{Cells, find_in_line};
use std::io::{self, Read, Write};

/// How many states of one shard are expanded in one round, or a few more: fewer than of a list,
/// since they are a part of the memory that a table saves.
const ROUND: usize = 128;

/// How many states are looked up together.
const TOGETHER: usize = 64;

/// The parts of a state's [first cell](STAGE_BITS).
const STAGE_SHIFT: u32 = u32::BITS - STAGE_BITS;
const MARK_SHIFT: u32 = u32::BITS - MARK_BITS;
const REST: u32 = (1 << AWAY_SHIFT) - 1;
const OF_AWAY: u32 = (1 << MARK_SHIFT) - 1 - REST;

/// The mark of a state at this stage, by how all of some were reached, if that is known.
#[inline(always)]
fn mark(stage: u32, lasts: Option<&[Arrival]>, at: usize) -> u32 {
    stage << ARRIVAL_BITS | u32::from(lasts.map_or(NO_ARRIVAL, |lasts| lasts[at]))
}

/// In a table with fewer states, it does not matter how many cells each takes.
const MANY: usize = 1 << 9;

/// What follows from a state is known.
const EXPANDED: u32 = 1;
/// In turns: the state is of the level that is being expanded, or of the next one.
const TURNS: [u32; 2] = [2, 3];

/// The states of a shard, each with what has become of it.
#[derive(Debug)]
pub(super) struct Table<const W: usize> {
    form: Form<W>,
    /// The number of this shard: the highest bits of the heads.
    shard: u64,
    size: Size,
    cells: Cells,
    held: usize,
    /// Which of [`TURNS`] the level has that is being expanded.
    turn: usize,
    /// Its states that are left, and those of the next one.
    left: u64,
    fresh: u64,
    /// Up to which bucket the level has been expanded.
    done: usize,
    /// The buckets of this round's states, and the place of each in its bucket.
    round: Vec<(u32, u32)>,
}

/// Where a state belongs, and what it looks like there.
struct Probe<const W: usize> {
    bucket: usize,
    /// As it is in its own bucket, with no mark.
    first: u32,
    second: u32,
    mixed: [u64; W],
}

/// How far from its own bucket the state of this cell stands.
#[inline(always)]
fn away(cell: u32) -> usize {
    usize::from(AWAY[(cell >> AWAY_SHIFT) as usize % AWAY.len()])
}

/// Where in a bucket the state of this cell is, whatever its mark.
#[inline(always)]
fn find(bucket: &[u32; LINE], cell: u32) -> Option<usize> {
    if cell == 0 {
        // It looks like an empty place, but for the mark.
        return bucket.iter().position(|&other| other != 0 && other << MARK_BITS == 0);
    }
    find_in_line(bucket, cell)
}

/// A state that is there was reached in another way. It is enough to know one, and of two that are
/// equally short, the one that leaves out more.
#[inline(always)]
fn reach(cell: &mut u32, mark: u32) {
    let there = *cell >> MARK_SHIFT;
    if there < mark && (there ^ mark) >> ARRIVAL_BITS == 0 {
        *cell = *cell << MARK_BITS >> MARK_BITS | mark << MARK_SHIFT;
    }
}

/// Whether these cells, which are not empty, are of this state: its first one looks like this but
/// for its mark, and what is left of its head takes two or not.
#[inline(always)]
fn same<const W: usize>(
    form: Form<W>,
    cells: &[u32],
    first: u32,
    two: bool,
    probe: &Probe<W>,
) -> bool {
    cells[0] << MARK_BITS == first << MARK_BITS
        && (!two || cells[1] == probe.second)
        && cells[1 + usize::from(two)..].iter().copied().eq(form.tail(&probe.mixed))
}

impl<const W: usize> Table<W> {
    /// The mixed state's place.
    #[inline]
    fn probe(&self, mixed: &[u64; W]) -> Probe<W> {
        let head = mixed[0] & ((1 << self.size.bits) - 1);
        let (bucket, left) = self.size.split(head);
        let (first, second) = (left as u32 & REST, (left >> AWAY_SHIFT) as u32);
        Probe { bucket, first, second, mixed: *mixed }
    }

    /// Adds a mixed state with this mark unless it is there; false if there is no place for it.
    #[inline]
    fn insert(&mut self, probe: &Probe<W>, mark: u32) -> bool {
        match self.size.cells {
            1 => self.insert_small(probe.bucket, probe.first, mark),
            _ => self.insert_large(probe, mark),
        }
    }

    /// One cell each: a bucket is compared at once.
    #[inline(always)]
    fn insert_small(&mut self, bucket: usize, first: u32, mark: u32) -> bool {
        AWAY.iter().enumerate().any(|(away, &there)| {
            let cell = first | (away as u32) << AWAY_SHIFT;
            self.try_line(bucket + usize::from(there), cell, mark)
        })
    }

    /// Adds a cell to a bucket of one line unless it is there; false if it is not, and there is no
    /// place for it.
    #[inline(always)]
    fn try_line(&mut self, bucket: usize, cell: u32, mark: u32) -> bool {
        let line = self.cells.line_mut(bucket);
        if let Some(at) = find(line, cell) {
            reach(&mut line[at % LINE], mark);
            return true;
        }
        // The places are taken from the first on.
        let room = line[LINE - 1] == 0;
        if room {
            let taken = line.partition_point(|&other| other != 0);
            line[taken % LINE] = cell | mark << MARK_SHIFT;
            self.held += 1;
            self.fresh += 1;
        }
        room
    }

    fn insert_large(&mut self, probe: &Probe<W>, mark: u32) -> bool {
        let Size { cells, .. } = self.size;
        let two = cells > 1 + self.form.tail_cells();
        for (away, there) in AWAY.iter().enumerate() {
            let first = probe.first | ((away as u32) << AWAY_SHIFT);
            let bucket = self.cells.bucket_mut(probe.bucket + usize::from(*there));
            for there in bucket.chunks_exact_mut(cells) {
                if there[0] == 0 {
                    there[0] = first | mark << MARK_SHIFT;
                    let rest = two.then_some(probe.second).into_iter();
                    let rest = rest.chain(self.form.tail(&probe.mixed));
                    there[1..].iter_mut().zip(rest).for_each(|(to, cell)| *to = cell);
                    self.held += 1;
                    self.fresh += 1;
                    return true;
                }
                if same(self.form, there, first, two, probe) {
                    reach(&mut there[0], mark);
                    return true;
                }
            }
        }
        false
    }

    /// Lets a state of one of the full buckets of another stand in a later one of its own, and
    /// gives its place to the other, with this mark; false if none can. (No state is looked for
    /// beyond a bucket that is not full, and none becomes emptier by this.)
    #[cold]
    fn squeeze(&mut self, probe: &Probe<W>, mark: u32) -> bool {
        let cells = self.size.cells;
        let last = (self.size.places() - 1) * cells;
        for (which, &there) in AWAY.iter().enumerate() {
            let at = probe.bucket + usize::from(there);
            for place in 0..self.size.places() {
                let mut moved = [0; 2 + 2 * 16];
                let moved = &mut moved[..cells];
                let here = place * cells..(place + 1) * cells;
                moved.copy_from_slice(&self.cells.bucket(at)[here.clone()]);
                let (own, first) = (at - away(moved[0]), (moved[0] >> AWAY_SHIFT) as usize);
                for (farther, &there) in AWAY.iter().enumerate().skip(first % AWAY.len() + 1) {
                    let other = self.cells.bucket_mut(own + usize::from(there));
                    // The places are taken from the first on.
                    if other[last] != 0 {
                        continue;
                    }
                    let mut others = other.chunks_exact_mut(cells);
                    let Some(free) = others.find(|cells| cells[0] == 0) else { continue };
                    free.copy_from_slice(moved);
                    free[0] = free[0] & !OF_AWAY | (farther as u32) << AWAY_SHIFT;
                    let to = &mut self.cells.bucket_mut(at)[here];
                    to[0] = probe.first | (which as u32) << AWAY_SHIFT | mark << MARK_SHIFT;
                    let rest = (cells > 1 + self.form.tail_cells()).then_some(probe.second);
                    let rest = rest.into_iter().chain(self.form.tail(&probe.mixed));
                    to[1..].iter_mut().zip(rest).for_each(|(to, cell)| *to = cell);
                    self.held += 1;
                    self.fresh += 1;
                    return true;
                }
            }
        }
        false
    }

    /// The mixed state of these cells, which stand in this bucket of a table of this size.
    #[inline]
    fn mixed(&self, size: Size, bucket: usize, cells: &[u32]) -> [u64; W] {
        let (&first, rest) = cells.split_first().unwrap_or((&0, &[]));
        let away = away(first);
        let (second, mut tail) = rest.split_at(rest.len() - self.form.tail_cells());
        let second = second.first().map_or(0, |&second| u64::from(second) << AWAY_SHIFT);
        let mut mixed = [0; W];
        mixed[0] = size.join(bucket - away, u64::from(first & REST) | second);
        mixed[0] |= self.shard << size.bits;
        for (word, cells) in mixed.iter_mut().zip(self.form.cells).skip(1) {
            let (here, rest) = tail.split_at(usize::from(cells));
            let halves = here.iter().rev();
            *word = halves.fold(0, |word, &half| word << u32::BITS | u64::from(half));
            tail = rest;
        }
        mixed
    }

    /// The cells of each state, and the bucket in which they stand.
    fn places(&self) -> impl Iterator<Item = (usize, &[u32])> {
        let places = |at| self.cells.bucket(at).chunks_exact(self.size.cells);
        let all =
            (0..self.size.all_buckets()).flat_map(move |at| places(at).map(move |here| (at, here)));
        all.filter(|(_, cells)| cells[0] != 0)
    }

    /// Adds mixed states at this stage, unless they are there.
    fn insert_at(&mut self, mixed: &[[u64; W]], lasts: Option<&[Arrival]>, stage: u32) {
        for (begin, some) in (0..).step_by(TOGETHER).zip(mixed.chunks(TOGETHER)) {
            let lasts = lasts.map(|lasts| &lasts[begin..begin + some.len()]);
            while self.held + some.len() > self.size.most() {
                self.grow();
            }
            if self.size.cells == 1 {
                self.insert_together(some, lasts, stage);
            } else {
                for (at, state) in some.iter().enumerate() {
                    self.insert_one(state, mark(stage, lasts, at));
                }
            }
        }
    }

    fn insert_one(&mut self, state: &[u64; W], mark: u32) {
        let probe = self.probe(state);
        if !self.insert(&probe, mark) && !self.squeeze(&probe, mark) {
            self.grow();
            self.insert_one(state, mark);
        }
    }

    /// Adds some states that take one cell each.
    ///
    /// Each bucket that is looked at is far away, so it is asked for before, and others are looked
    /// at meanwhile: the processor waits once and not each time.
    fn insert_together(&mut self, some: &[[u64; W]], lasts: Option<&[Arrival]>, stage: u32) {
        let (size, mask) = (self.size, (1 << self.size.bits) - 1);
        // Of each state that is not in its place yet: its own bucket, its cell there, and which it
        // is.
        let mut waiting = [(0, 0, 0); TOGETHER];
        for (at, state) in some.iter().enumerate() {
            let (bucket, left) = size.split(state[0] & mask);
            waiting[at] = (bucket, left as u32 | mark(stage, lasts, at) << MARK_SHIFT, at);
            self.cells.fetch(bucket);
        }
        let mut count = some.len();
        for (away, &there) in AWAY.iter().enumerate() {
            let next = AWAY.get(away + 1).copied().unwrap_or_default();
            let mut left = 0;
            for at in 0..count {
                let (bucket, first, which) = waiting[at];
                let cell = first & REST | (away as u32) << AWAY_SHIFT;
                let mark = first >> MARK_SHIFT;
                if !self.try_line(bucket + usize::from(there), cell, mark) {
                    self.cells.fetch(bucket + usize::from(next));
                    waiting[left] = (bucket, first, which);
                    left += 1;
                }
            }
            count = left;
            if count == 0 {
                return;
            }
        }
        // All places of these are taken.
        for &(_, first, which) in &waiting[..count] {
            self.insert_one(&some[which], first >> MARK_SHIFT);
        }
    }

    /// All states as they look to the space, one after the other, and what has become of each.
    pub(super) fn into_states(self) -> (Vec<u64>, Vec<u32>) {
        let (mut states, mut stages) = (Vec::with_capacity(self.held * W), Vec::new());
        for (bucket, cells) in self.places() {
            states.extend(self.form.unmix(&self.mixed(self.size, bucket, cells)));
            stages.push(cells[0] >> STAGE_SHIFT);
        }
        (states, stages)
    }

    /// Adds a mixed state of another table of this search, of which this has become.
    pub(super) fn take_over(&mut self, mixed: &[u64; W], stage: u32) {
        let (held, fresh) = (self.held, self.fresh);
        self.insert_at(std::slice::from_ref(mixed), None, stage);
        let new = (self.held - held) as u64;
        if stage != TURNS[1 - self.turn] {
            self.fresh = fresh;
        }
        if stage == TURNS[self.turn] {
            self.left += new;
        }
    }

    /// How many states of the level have not been expanded.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// The turn of the level that is being expanded.
    pub(super) fn turn(&self) -> usize {
        self.turn
    }

    /// Nothing is in it yet, and its level has this turn.
    pub(super) fn at_turn(self, turn: usize) -> Self {
        Table { turn, ..self }
    }
}

/// How many bits all words of a state may have so that it takes the fewest cells in tables that
/// hold so many states each, `least` being how many they must have.
pub(super) fn room(held: u64, least: u32) -> u32 {
    let first = form::one_cell_bits(held as usize);
    if least <= first { first } else { 63 + least.saturating_sub(63).next_multiple_of(u32::BITS) }
}

impl<const W: usize> Shard<W> for Table<W> {
    type Form = Form<W>;

    fn form(space: &dyn Space) -> Form<W> {
        Form::new(&space.bits())
    }

    fn new(form: &Form<W>, shard: usize) -> Self {
        let size = Size::least(*form);
        Table {
            form: *form,
            shard: shard as u64,
            size,
            cells: Cells::new(size.all_buckets(), size.bucket),
            held: 0,
            turn: 0,
            left: 0,
            fresh: 0,
            done: 0,
            round: Vec::new(),
        }
    }

    fn too_wide(tables: &[Self], space: &dyn Space) -> bool {
        let held = tables.iter().map(|table| table.held).min().unwrap_or(0);
        let large = tables.iter().all(|table| table.size.cells > 1 && table.held >= MANY);
        large && space.least_bits() <= form::one_cell_bits(held)
    }

    #[inline]
    fn mix(form: &Form<W>, state: &[u64; W]) -> ([u64; W], usize) {
        let mixed = form.mix(state);
        (mixed, (mixed[0] >> form.head_bits()) as usize)
    }

    fn held(&self) -> u64 {
        self.held as u64
    }

    fn insert_all(
        &mut self,
        mixed: &[[u64; W]],
        lasts: Option<&[Arrival]>,
        _: Option<&mut Vec<u32>>,
    ) {
        self.insert_at(mixed, lasts, TURNS[1 - self.turn]);
    }

    fn growth(&self, more: usize) -> u64 {
        let mut size = self.size;
        while self.held + more > size.most() {
            size = size.larger(self.form);
        }
        self.cells.growth(size.all_buckets(), size.bucket)
    }

    fn begin_level(&mut self) -> u64 {
        self.turn = 1 - self.turn;
        self.left = std::mem::take(&mut self.fresh);
        self.done = 0;
        self.left
    }

    fn begin_round(&mut self) -> usize {
        let mut round = std::mem::take(&mut self.round);
        round.clear();
        let stage = TURNS[self.turn];
        while (round.len() as u64) < self.left && round.len() < ROUND {
            let bucket = self.cells.bucket(self.done);
            // Most buckets have none.
            if bucket.iter().fold(false, |any, cell| any | (cell >> STAGE_SHIFT == stage)) {
                let places = (0..self.size.places()).map(|place| place * self.size.cells);
                let here = places.filter(|&place| bucket[place] >> STAGE_SHIFT == stage);
                round.extend(here.map(|place| (self.done as u32, place as u32)));
            }
            self.done += 1;
        }
        self.round = round;
        self.round.len()
    }

    fn round(&self, mut each: impl FnMut(&[u64; W], Arrival)) {
        for &(at, place) in &self.round {
            let bucket = self.cells.bucket(at as usize);
            let cells = &bucket[place as usize..place as usize + self.size.cells];
            let last = (cells[0] >> MARK_SHIFT) as Arrival & ((1 << ARRIVAL_BITS) - 1);
            each(&self.form.unmix(&self.mixed(self.size, at as usize, cells)), last);
        }
    }

    fn end_round(&mut self) {
        for &(at, place) in &self.round {
            let cell = &mut self.cells.bucket_mut(at as usize)[place as usize];
            *cell = *cell << MARK_BITS >> MARK_BITS | EXPANDED << STAGE_SHIFT;
        }
        self.left -= self.round.len() as u64;
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Size { factor, log, .. } = self.size;
        let (held, turn) = (self.held as u64, self.turn as u64);
        write_words(out, [u64::from(factor), u64::from(log), held, turn, self.left, self.fresh])?;
        let mut cells = (0..self.size.all_buckets()).flat_map(|at| self.cells.bucket(at));
        cells.try_for_each(|cell| out.write_all(&cell.to_le_bytes()))
    }

    fn read(form: &Form<W>, shard: usize, file: &mut dyn Read) -> io::Result<Self> {
        let [factor, log, held, turn, left, fresh] = read_words::<6>(file)?;
        let size = Size::new(*form, factor as u32, log as u32);
        let mut cells = Cells::new(size.all_buckets(), size.bucket);
        for at in 0..size.all_buckets() {
            for cell in cells.bucket_mut(at) {
                *cell = read_number(file)?;
            }
        }
        let (held, turn) = (held as usize, turn as usize);
        Ok(Table { size, cells, held, turn, left, fresh, ..Table::new(form, shard) })
    }
}

/// From this bucket on, no state moves to an earlier one when a table grows: it grows by a
/// fifteenth at least, and no state stands farther away from its own bucket.
const NEAR: usize = FARTHEST * 16;

impl<const W: usize> Table<W> {
    /// Makes more places, as often as it takes until each state has one.
    fn grow(&mut self) {
        let (former, fresh) = (self.size, self.fresh);
        let mut homeless = Vec::new();
        self.size = former.larger(self.form);
        // How many places of each bucket are taken.
        let mut taken = vec![0; self.size.all_buckets()];
        self.done = former.first_bucket(self.done, self.size);
        self.held = 0;
        if self.size.cells == former.cells {
            self.cells.lengthen(self.size.all_buckets());
            self.spread(former, &mut taken, &mut homeless);
        } else {
            let cells = Cells::new(self.size.all_buckets(), self.size.bucket);
            let cells = std::mem::replace(&mut self.cells, cells);
            for at in 0..former.all_buckets() {
                self.put_all(former, at, cells.bucket(at), &mut taken, &mut homeless);
            }
        }
        for (mixed, mark) in homeless {
            let put = |table: &mut Self| {
                let probe = table.probe(&mixed);
                table.insert(&probe, mark) || table.squeeze(&probe, mark)
            };
            while !put(self) {
                self.grow();
            }
        }
        self.fresh = fresh;
    }

    /// Moves each state of a table of the former size to where it stands in this one. From the last
    /// bucket to the first, for what belongs there now came from there or from before it. Only of
    /// the first buckets a state may move to one that has not been emptied.
    fn spread(&mut self, former: Size, taken: &mut [u8], homeless: &mut Vec<([u64; W], u32)>) {
        let mut bucket = vec![0; former.bucket];
        for at in (NEAR..former.all_buckets()).rev() {
            let here = self.cells.bucket_mut(at);
            bucket.copy_from_slice(here);
            here.fill(0);
            self.put_all(former, at, &bucket, taken, homeless);
        }
        let near = 0..NEAR.min(former.all_buckets());
        let mut cells = Vec::with_capacity(near.len() * former.bucket);
        for at in near {
            let here = self.cells.bucket_mut(at);
            cells.extend_from_slice(here);
            here.fill(0);
        }
        for (at, bucket) in cells.chunks_exact(former.bucket).enumerate() {
            self.put_all(former, at, bucket, taken, homeless);
        }
    }

    /// One cell, of a state that is nowhere yet; false if there is no place for it.
    #[inline(always)]
    fn put_small(&mut self, bucket: usize, first: u32, mark: u32, taken: &mut [u8]) -> bool {
        AWAY.iter().enumerate().any(|(away, &there)| {
            let at = bucket + usize::from(there);
            let place = usize::from(taken[at]);
            let room = place < LINE;
            if room {
                let cell = first | (away as u32) << AWAY_SHIFT | mark << MARK_SHIFT;
                self.cells.line_mut(at)[place] = cell;
                taken[at] += 1;
                self.held += 1;
            }
            room
        })
    }

    /// Puts the states of a bucket of a table of the former size where they stand in this one;
    /// those for which there is no place are `homeless`.
    fn put_all(
        &mut self,
        former: Size,
        at: usize,
        bucket: &[u32],
        taken: &mut [u8],
        homeless: &mut Vec<([u64; W], u32)>,
    ) {
        if former.cells == 1 && self.size.cells == 1 {
            for &cell in bucket.iter().take_while(|&&cell| cell != 0) {
                let head = former.join(at - away(cell), u64::from(cell & REST));
                let ((bucket, left), mark) = (self.size.split(head), cell >> MARK_SHIFT);
                if !self.put_small(bucket, left as u32, mark, taken) {
                    homeless.push((self.mixed(former, at, &[cell]), mark));
                }
            }
            return;
        }
        for cells in bucket.chunks_exact(former.cells).take_while(|cells| cells[0] != 0) {
            let (mixed, mark) = (self.mixed(former, at, cells), cells[0] >> MARK_SHIFT);
            if !self.insert(&self.probe(&mixed), mark) {
                homeless.push((mixed, mark));
            }
        }
    }
}
