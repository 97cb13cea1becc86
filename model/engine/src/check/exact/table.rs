//! A set of states that takes little more memory than what distinguishes them: no list, no queue.
//!
//! A state's bits are [stirred](Form::stir), and part of them says where it stands, so only the
//! others are stored (quotienting: Cleary, *Compact Hash Tables Using Bidirectional Linear
//! Probing*, 1984; van der Vegt and Laarman, *A Parallel Compact Hash Table*, 2012). Nothing is
//! lost: what stands in a place and the place together are the state, whole. What is to be expanded
//! next is found by looking through the table.
//!
//! Places are in buckets of a cache line or two. A state stands in the bucket that its bits say, or
//! in one of the next 15, and then it is written beside it which. The number of buckets grows by a
//! quarter or less.

mod file;

pub(super) use file::Summary;

use super::form::{self, AWAY_SHIFT, FARTHEST, Form, LINE, Size};
use std::ops::{Deref, DerefMut, Range};

/// How many states are looked up together.
const TOGETHER: usize = 64;

/// As many cells as the processor compares at once.
const QUARTER: usize = LINE / 4;

/// The bits of a state's first cell, from the highest: two for what has become of it (0 is no
/// state), four for how far it stands from its bucket, and the rest for what is left of its head.
const STAGE_BITS: u32 = 2;
const STAGE_SHIFT: u32 = u32::BITS - STAGE_BITS;
const REST: u32 = (1 << AWAY_SHIFT) - 1;

/// In a table with fewer states, it does not matter how many cells each takes.
const MANY: usize = 1 << 9;

/// What follows from a state is known.
const EXPANDED: u32 = 1;
/// In turns: the state is of the level that is being expanded, or of the next one.
const TURNS: [u32; 2] = [2, 3];

/// How many stages there are, from 1.
pub(super) const STAGES: usize = 3;

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
    /// The places of this round, and the bucket of each.
    round: Vec<(u32, u32)>,
}

/// Cells of which each bucket of a line is a line of the processor's cache.
#[derive(Debug)]
struct Cells {
    all: Vec<u32>,
    /// Where they begin.
    from: usize,
}

impl Cells {
    fn new(cells: usize) -> Self {
        let all = vec![0; cells + LINE];
        // Where this cannot be told, it only takes longer.
        let from = all.as_ptr().align_offset(LINE * size_of::<u32>());
        Cells { all, from: if from < LINE { from } else { 0 } }
    }
}

impl Deref for Cells {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        &self.all[self.from..]
    }
}

impl DerefMut for Cells {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.all[self.from..]
    }
}

/// Where a state belongs, and what it looks like there.
struct Probe<const W: usize> {
    bucket: usize,
    /// As it is in its own bucket, with no stage.
    first: u32,
    second: u32,
    stirred: [u64; W],
}

/// Whether the state of this cell is in a bucket, and how many are. All cells are compared at once.
#[inline]
fn look_at(bucket: &[u32; LINE], cell: u32) -> (bool, usize) {
    let (mut there, mut taken) = ([0u32; QUARTER], [0u32; QUARTER]);
    for quarter in bucket.as_chunks::<QUARTER>().0 {
        for ((there, taken), other) in there.iter_mut().zip(&mut taken).zip(quarter) {
            let held = u32::from(*other != 0);
            *there |= u32::from((other ^ cell) << STAGE_BITS == 0) & held;
            *taken += held;
        }
    }
    (there != [0; QUARTER], taken.iter().sum::<u32>() as usize)
}

impl<const W: usize> Table<W> {
    /// The stirred state's place.
    #[inline]
    fn probe(&self, stirred: &[u64; W]) -> Probe<W> {
        let head = stirred[0] & ((1 << self.size.bits) - 1);
        let (bucket, left) = self.size.split(head);
        let (first, second) = (left as u32 & REST, (left >> AWAY_SHIFT) as u32);
        Probe { bucket, first, second, stirred: *stirred }
    }

    /// The other words as they stand in cells.
    fn tail(&self, stirred: &[u64; W]) -> impl Iterator<Item = u32> {
        let words = stirred.iter().zip(self.form.cells).skip(1);
        let words: [(u64, u8); W] = {
            let mut all = [(0, 0); W];
            all.iter_mut().zip(words).for_each(|(to, (&word, cells))| *to = (word, cells));
            all
        };
        words.into_iter().flat_map(|(word, cells)| {
            [word as u32, (word >> u32::BITS) as u32].into_iter().take(usize::from(cells))
        })
    }

    /// Adds a stirred state at this stage unless it is there, which need not be looked for if it
    /// cannot be; false if there is no place for it.
    #[inline]
    fn insert(&mut self, probe: &Probe<W>, stage: u32, look: bool) -> bool {
        match (self.size.cells, look) {
            (1, true) => self.insert_small::<true>(probe, stage),
            (1, false) => self.insert_small::<false>(probe, stage),
            _ => self.insert_large(probe, stage),
        }
    }

    /// One cell each: a bucket is compared at once.
    #[inline]
    fn insert_small<const LOOK: bool>(&mut self, probe: &Probe<W>, stage: u32) -> bool {
        let buckets = self.cells.as_chunks_mut::<LINE>().0;
        for away in 0..=FARTHEST {
            let cell = probe.first | (away << AWAY_SHIFT);
            let bucket = &mut buckets[probe.bucket + away as usize];
            let (there, taken) = look_at(bucket, cell);
            if LOOK && there {
                return true;
            }
            if let Some(place) = bucket.get_mut(taken) {
                *place = cell | (stage << STAGE_SHIFT);
                self.held += 1;
                self.fresh += 1;
                return true;
            }
        }
        false
    }

    fn insert_large(&mut self, probe: &Probe<W>, stage: u32) -> bool {
        let Size { cells, bucket, .. } = self.size;
        let two = cells > 1 + self.form.tail_cells();
        for away in 0..=FARTHEST {
            let first = probe.first | (away << AWAY_SHIFT);
            let from = (probe.bucket + away as usize) * bucket;
            for place in (from..from + bucket).step_by(cells) {
                let there = self.cells[place];
                if there == 0 {
                    self.cells[place] = first | (stage << STAGE_SHIFT);
                    let rest =
                        two.then_some(probe.second).into_iter().chain(self.tail(&probe.stirred));
                    let rest: smallvec::SmallVec<[u32; 8]> = rest.collect();
                    self.cells[place + 1..place + cells].copy_from_slice(&rest);
                    self.held += 1;
                    self.fresh += 1;
                    return true;
                }
                let same = there << STAGE_BITS == first << STAGE_BITS
                    && (!two || self.cells[place + 1] == probe.second)
                    && {
                        let tail = place + 1 + usize::from(two)..place + cells;
                        self.cells[tail].iter().copied().eq(self.tail(&probe.stirred))
                    };
                if same {
                    return true;
                }
            }
        }
        false
    }

    /// The stirred state that stands in the place, `away` being written there.
    #[inline]
    fn stirred(&self, bucket: usize, place: usize) -> [u64; W] {
        let Size { bits, cells, .. } = self.size;
        let first = self.cells[place];
        let away = ((first >> AWAY_SHIFT) & FARTHEST) as usize;
        let tail = self.form.tail_cells();
        let mut left = u64::from(first & REST);
        if cells > 1 + tail {
            left |= u64::from(self.cells[place + 1]) << AWAY_SHIFT;
        }
        let mut stirred = [0; W];
        stirred[0] = self.size.join(bucket - away, left) | (self.shard << bits);
        let mut from = place + cells - tail;
        for (word, cells) in stirred.iter_mut().zip(self.form.cells).skip(1) {
            for at in 0..usize::from(cells) {
                *word |= u64::from(self.cells[from + at]) << (u32::BITS as usize * at);
            }
            from += usize::from(cells);
        }
        stirred
    }

    /// Each place of these buckets in which a state stands: the bucket, the place, the stage.
    fn places(&self, buckets: Range<usize>) -> impl Iterator<Item = (usize, usize, u32)> {
        let Size { cells, bucket, .. } = self.size;
        let places = move |at| (at * bucket..(at + 1) * bucket).step_by(cells);
        let all = buckets.flat_map(move |at| places(at).map(move |place| (at, place)));
        all.map(|(at, place)| (at, place, self.cells[place] >> STAGE_SHIFT))
            .filter(|&(.., stage)| stage != 0)
    }

    /// Looks up every state in a larger table, as often as it takes until each has a place.
    fn grow(&mut self) {
        let mut size = self.size.larger(self.form);
        while !self.move_to(size) {
            size = size.larger(self.form);
        }
    }

    fn move_to(&mut self, size: Size) -> bool {
        let mut larger = Table {
            size,
            cells: Cells::new(size.all_cells()),
            held: 0,
            round: Vec::new(),
            done: 0,
            ..*self
        };
        for (bucket, place, stage) in self.places(0..self.all_buckets()) {
            let probe = larger.probe(&self.stirred(bucket, place));
            if !larger.insert(&probe, stage, false) {
                return false;
            }
        }
        larger.fresh = self.fresh;
        *self = larger;
        true
    }

    fn all_buckets(&self) -> usize {
        self.size.buckets() + FARTHEST as usize
    }

    /// Adds stirred states that are not there, at this stage.
    ///
    /// Each costs a visit to a place far away. So what many of them need is read first, all
    /// together: the processor then waits once and not each time.
    fn insert_at(&mut self, stirred: &[[u64; W]], stage: u32) {
        for some in stirred.chunks(TOGETHER) {
            while self.held + some.len() > self.size.most() {
                self.grow();
            }
            let mut seen = 0;
            for state in some {
                let head = state[0] & ((1 << self.size.bits) - 1);
                seen ^= self.cells[self.size.split(head).0 * self.size.bucket];
            }
            std::hint::black_box(seen);
            for state in some {
                while !self.insert(&self.probe(state), stage, true) {
                    self.grow();
                }
            }
        }
    }

    /// All states as they look to the space, one after the other, and what has become of each.
    pub(super) fn into_states(self) -> (Vec<u64>, Vec<u32>) {
        let (mut states, mut stages) = (Vec::with_capacity(self.held * W), Vec::new());
        for (bucket, place, stage) in self.places(0..self.all_buckets()) {
            states.extend(self.form.still(&self.stirred(bucket, place)));
            stages.push(stage);
        }
        (states, stages)
    }

    /// Adds a stirred state of another table of this search, of which this has become.
    pub(super) fn take_over(&mut self, stirred: &[u64; W], stage: u32) {
        let (held, fresh) = (self.held, self.fresh);
        self.insert_at(std::slice::from_ref(stirred), stage);
        let new = (self.held - held) as u64;
        if stage != TURNS[1 - self.turn] {
            self.fresh = fresh;
        }
        if stage == TURNS[self.turn] {
            self.left += new;
        }
    }

    /// The shard with this number, in which nothing is.
    pub(super) fn new(form: &Form<W>, shard: usize) -> Self {
        let size = Size::new(*form, 4, 0);
        Table {
            form: *form,
            shard: shard as u64,
            size,
            cells: Cells::new(size.all_cells()),
            held: 0,
            turn: 0,
            left: 0,
            fresh: 0,
            done: 0,
            round: Vec::new(),
        }
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Adds stirred states, unless they are there, to the level that has this turn.
    pub(super) fn insert_of(&mut self, stirred: &[[u64; W]], turn: usize) {
        let (held, fresh) = (self.held, self.fresh);
        self.insert_at(stirred, TURNS[turn]);
        if turn == self.turn {
            self.fresh = fresh;
            self.left += (self.held - held) as u64;
            // They may stand in what has been looked through.
            self.done = 0;
        }
    }

    /// How many bytes more it takes when so many states come that are not there yet.
    pub(super) fn growth(&self, more: usize) -> u64 {
        let mut size = self.size;
        while self.held + more > size.most() {
            size = size.larger(self.form);
        }
        ((size.all_cells().saturating_sub(self.cells.len())) * size_of::<u32>()) as u64
    }

    /// Everything that was added and not expanded is the level now; how many that are.
    pub(super) fn begin_level(&mut self) -> u64 {
        self.turn = 1 - self.turn;
        self.left = std::mem::take(&mut self.fresh);
        self.done = 0;
        self.left
    }

    /// How many states of the level have not been expanded.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Chooses the next states of the level, so many or a few more; how many.
    pub(super) fn begin_round(&mut self, most: usize) -> usize {
        let mut round = std::mem::take(&mut self.round);
        round.clear();
        let Size { cells, bucket, .. } = self.size;
        let stage = TURNS[self.turn];
        while (round.len() as u64) < self.left && round.len() < most {
            let at = self.done;
            let all = &self.cells[at * bucket..(at + 1) * bucket];
            // Most buckets have none.
            if all.iter().fold(false, |any, cell| any | (cell >> STAGE_SHIFT == stage)) {
                let here = (0..bucket).step_by(cells).filter(|&at| all[at] >> STAGE_SHIFT == stage);
                round.extend(here.map(|place| (at as u32, (at * bucket + place) as u32)));
            }
            self.done += 1;
        }
        self.round = round;
        self.round.len()
    }

    /// The states that were chosen.
    pub(super) fn round(&self, mut each: impl FnMut(&[u64; W])) {
        for &(bucket, place) in &self.round {
            each(&self.form.still(&self.stirred(bucket as usize, place as usize)));
        }
    }

    /// They have been expanded; how many there were.
    pub(super) fn end_round(&mut self) -> usize {
        for &(_, place) in &self.round {
            let cell = &mut self.cells[place as usize];
            *cell = (*cell & (u32::MAX >> STAGE_BITS)) | (EXPANDED << STAGE_SHIFT);
        }
        self.left -= self.round.len() as u64;
        self.round.len()
    }

    /// They have not been expanded after all, and are chosen once more.
    pub(super) fn leave_round(&mut self) {
        self.round.clear();
        self.done = 0;
    }

    /// The turn of the level that is being expanded.
    pub(super) fn turn(&self) -> usize {
        self.turn
    }

    /// Whether states of tables such as these may take one cell, if they have so many bits.
    pub(super) fn too_wide(mut tables: impl Iterator<Item = Summary> + Clone, least: u32) -> bool {
        let held = tables.clone().map(|table| table.held).min().unwrap_or(0);
        let large = tables.all(|table| table.size.cells > 1 && table.held >= MANY);
        large && least <= form::one_cell_bits(held)
    }

    /// Nothing is in it yet, and its level has this turn.
    pub(super) fn at_turn(self, turn: usize) -> Self {
        Table { turn, ..self }
    }

    /// How many bits all words of a state may have so that it takes the fewest cells in tables that
    /// hold so many states each, `least` being how many they must have.
    pub(super) fn room(held: usize, least: u32) -> u32 {
        let first = form::one_cell_bits(held);
        if least <= first {
            first
        } else {
            63 + least.saturating_sub(63).next_multiple_of(u32::BITS)
        }
    }
}

#[cfg(test)]
mod tests;
