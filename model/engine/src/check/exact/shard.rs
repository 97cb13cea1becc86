//! A set of states in the order in which they came: the part of all states whose hash begins alike.

/// How many parts all states are spread over; each is small enough for a processor's own cache for
/// longer than the whole would be.
pub(super) const SHARDS: usize = 1 << LOG_SHARDS;
const LOG_SHARDS: u32 = 7;

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
pub(super) fn hash<const W: usize>(state: &[u64; W]) -> u64 {
    let mut hash = 0u64;
    for &word in state {
        hash = (hash.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
    }
    hash.wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// In which shard a state with this hash belongs.
#[inline]
pub(super) fn shard_of(hash: u64) -> usize {
    (hash >> (u64::BITS - LOG_SHARDS)) as usize
}

/// States in the order in which they came, and a table to find them.
pub(super) struct Shard<const W: usize> {
    states: Vec<[u64; W]>,
    /// Open addressing; each place is [`EMPTY`] or a state's number and part of its hash.
    table: Vec<u32>,
}

impl<const W: usize> Shard<W> {
    pub(super) fn new() -> Self {
        Shard { states: Vec::new(), table: Vec::new() }
    }

    /// The states in the order in which they came.
    pub(super) fn states(&self) -> &[[u64; W]] {
        &self.states
    }

    /// The same, without the table to find them.
    pub(super) fn into_states(self) -> Vec<[u64; W]> {
        self.states
    }

    /// Adds states unless they are there, telling each one's number in turn.
    ///
    /// Every state costs two visits to places in memory that are far apart: in the table, and among
    /// the states. So what many of them will need is read first, all together: the processor then
    /// waits once and not each time.
    pub(super) fn insert_all(&mut self, states: &[[u64; W]], mut number: impl FnMut(u32)) {
        for states in states.chunks(TOGETHER) {
            while self.is_full_with(states.len(), self.table.len()) {
                self.grow();
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
                let entry = self.table[*place] & INDEX;
                seen ^=
                    self.states.get((entry as usize).wrapping_sub(1)).map_or(0, |s| s[0] as u32);
            }
            std::hint::black_box(seen);
            for ((state, hash), place) in states.iter().zip(hashes).zip(places) {
                number(self.insert_from(place, state, hash));
            }
        }
    }

    /// Whether a table of this size would be too full with so many states more.
    fn is_full_with(&self, more: usize, size: usize) -> bool {
        (self.states.len() + more) * 4 >= size * 3
    }

    /// How many bytes the table grows by when so many states come that are not there yet.
    pub(super) fn growth(&self, more: usize) -> u64 {
        let mut size = self.table.len().max(16);
        while self.is_full_with(more, size) {
            size *= 2;
        }
        ((size - self.table.len()) * size_of::<u32>()) as u64
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
    fn insert_from(&mut self, place: usize, state: &[u64; W], hash: u64) -> u32 {
        match self.place(place, state, hash) {
            Ok(number) => number,
            Err(place) => {
                self.states.push(*state);
                // At most 2^26 states.
                self.table[place] = tag(hash) | self.states.len() as u32;
                self.states.len() as u32 - 1
            }
        }
    }

    /// The number of a state, if it is there.
    #[inline]
    pub(super) fn find(&self, state: &[u64; W], hash: u64) -> Option<u32> {
        if self.table.is_empty() {
            None
        } else {
            self.place(slot(hash) & (self.table.len() - 1), state, hash).ok()
        }
    }

    /// The number of a state, or the place in the table where it would stand, no place before
    /// `place` being one for it.
    #[inline]
    fn place(&self, mut place: usize, state: &[u64; W], hash: u64) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let tag = tag(hash);
        loop {
            let entry = self.table[place];
            if entry == EMPTY {
                return Err(place);
            }
            let number = (entry & INDEX) - 1;
            if entry & !INDEX == tag && self.states[number as usize] == *state {
                return Ok(number);
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        assert!(self.states.len() < MOST, "more than 4 billion states");
        let size = (2 * self.table.len()).max(16);
        self.table = Vec::new();
        self.table = vec![EMPTY; size];
        for (number, state) in (1u32..).zip(&self.states) {
            let hash = hash(state);
            let mut place = slot(hash) & (size - 1);
            while self.table[place] != EMPTY {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = tag(hash) | number;
        }
    }
}

#[inline]
fn tag(hash: u64) -> u32 {
    (hash as u32) << INDEX_BITS
}

#[inline]
fn slot(hash: u64) -> usize {
    (hash >> 24) as usize
}
