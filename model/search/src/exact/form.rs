//! What a state looks like in a [table](super::table), and where in it it belongs.

use super::shard::LOG_SHARDS;

/// The cells of a bucket, if each state takes one.
pub(super) const LINE: usize = 16;

/// For how many states a bucket has room at least.
const LEAST_PLACES: usize = 4;

/// In which buckets a state may stand, counted from its own one, in the order in which they are
/// tried: farther and farther apart, since full buckets are often side by side.
pub(super) const AWAY: [u8; 16] = [0, 1, 2, 4, 6, 9, 12, 16, 20, 25, 30, 36, 42, 49, 56, 64];

/// How far from its own bucket a state may stand.
pub(super) const FARTHEST: usize = AWAY[AWAY.len() - 1] as usize;

/// The bits of a state's first cell, from the highest: six are its mark, of which two say what has
/// become of it (0 is no state) and four, until it is expanded, [how it was
/// reached](crate::space::Arrival). The next four say how far it stands from its bucket, and the
/// rest is what is left of its head.
pub(super) const STAGE_BITS: u32 = 2;
pub(super) const ARRIVAL_BITS: u32 = 4;
pub(super) const MARK_BITS: u32 = STAGE_BITS + ARRIVAL_BITS;

/// How many bits of what is left of a state's head stand in its first cell.
pub(super) const AWAY_SHIFT: u32 = 22;

/// How many bits of the quotient's fraction tell states of one bucket apart no more: the number of
/// buckets is eight to fifteen times a power of two.
const LEAST_FACTOR_BITS: u32 = 3;
const LEAST_FACTOR: u32 = 1 << LEAST_FACTOR_BITS;

/// From which power of two on the factor grows by one, and not by two. A table of four MiB or more
/// grows by an eighth or less, a smaller one by a quarter or less, which takes less time and more
/// memory. The tables of tests are small, so there it is less.
const LARGE: u32 = if cfg!(test) { 3 } else { 13 };

/// How the states of a search look: what all shards share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form<const W: usize> {
    /// Mixes the first word.
    mixer: Mixer,
    /// The cells that each other word takes: none, one or two.
    pub(super) cells: [u8; W],
}

impl<const W: usize> Form<W> {
    /// So many bits of each word are in use, from the lowest.
    pub(super) fn new(bits: &[u32]) -> Self {
        // As many as a shard and the fraction of the smallest table take, at least.
        let head = bits.first().map_or(16, |&bits| bits.max(16));
        let mut cells = [0; W];
        for (cells, bits) in cells.iter_mut().zip(bits).skip(1) {
            *cells = bits.div_ceil(u32::BITS) as u8;
        }
        Form { mixer: Mixer::new(head), cells }
    }

    /// The bits of the head that a shard does not say.
    pub(super) fn head_bits(self) -> u32 {
        self.mixer.bits() - LOG_SHARDS
    }

    /// The cells of all words but the first.
    pub(super) fn tail_cells(self) -> usize {
        self.cells.iter().map(|&cells| usize::from(cells)).sum()
    }

    /// The other words as they stand in cells.
    pub(super) fn tail(self, mixed: &[u64; W]) -> impl Iterator<Item = u32> {
        let words: [(u64, u8); W] = std::array::from_fn(|at| (mixed[at], self.cells[at]));
        words.into_iter().skip(1).flat_map(|(word, cells)| {
            [word as u32, (word >> u32::BITS) as u32].into_iter().take(usize::from(cells))
        })
    }

    /// The state with its head mixed: the head now depends on all words.
    #[inline]
    pub(super) fn mix(self, state: &[u64; W]) -> [u64; W] {
        let mut mixed = *state;
        let mask = u64::MAX >> (u64::BITS - self.mixer.bits());
        mixed[0] = self.mixer.mix(state[0] ^ (digest(&state[1..]) & mask));
        mixed
    }

    /// The state that was mixed.
    #[inline]
    pub(super) fn unmix(self, mixed: &[u64; W]) -> [u64; W] {
        let mut state = *mixed;
        let mask = u64::MAX >> (u64::BITS - self.mixer.bits());
        state[0] = self.mixer.unmix(mixed[0]) ^ (digest(&mixed[1..]) & mask);
        state
    }
}

/// How many buckets there are, and what a state looks like in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// The bits of the head that tell states of one shard apart.
    pub(super) bits: u32,
    /// From 8 to 15: there are `factor << log` buckets.
    pub(super) factor: u32,
    pub(super) log: u32,
    /// The cells of a state, and of a bucket.
    pub(super) cells: usize,
    pub(super) bucket: usize,
}

impl Size {
    /// The smallest one.
    pub(super) fn least<const W: usize>(form: Form<W>) -> Self {
        Size::new(form, LEAST_FACTOR, 0)
    }

    pub(super) fn new<const W: usize>(form: Form<W>, factor: u32, log: u32) -> Self {
        let bits = form.head_bits();
        let left = bits - log - LEAST_FACTOR_BITS;
        let cells = 1 + usize::from(left > AWAY_SHIFT) + form.tail_cells();
        let bucket = (LEAST_PLACES * cells).next_power_of_two().max(LINE);
        Size { bits, factor, log, cells, bucket }
    }

    pub(super) fn larger<const W: usize>(self, form: Form<W>) -> Self {
        match self.factor + if self.log < LARGE { 2 } else { 1 } {
            factor if factor < 2 * LEAST_FACTOR => Size::new(form, factor, self.log),
            _ => Size::new(form, LEAST_FACTOR, self.log + 1),
        }
    }

    pub(super) fn buckets(self) -> usize {
        (self.factor as usize) << self.log
    }

    /// The buckets of a table: states may stand beyond the last that a head says.
    pub(super) fn all_buckets(self) -> usize {
        self.buckets() + FARTHEST
    }

    /// How many states a bucket has room for.
    pub(super) fn places(self) -> usize {
        self.bucket / self.cells
    }

    /// How many states it should hold at most.
    pub(super) fn most(self) -> usize {
        let places = self.places();
        let taken = match places {
            LINE.. => 31,
            8.. => 30,
            _ => 28,
        };
        self.buckets() * places * taken / 32
    }

    /// The bucket of a head, and what is left of it.
    #[inline]
    pub(super) fn split(self, head: u64) -> (usize, u64) {
        let product = head * u64::from(self.factor);
        let fraction = self.bits - self.log;
        let left = (product & ((1 << fraction) - 1)) >> LEAST_FACTOR_BITS;
        ((product >> fraction) as usize, left)
    }

    /// The head of which that is the bucket and what is left.
    #[inline]
    pub(super) fn join(self, bucket: usize, left: u64) -> u64 {
        let product = ((bucket as u64) << (self.bits - self.log)) + (left << LEAST_FACTOR_BITS);
        // Of the multiples of the factor, one at most is among eight numbers in a row. Processors
        // are slow to divide by what they do not know.
        match self.factor {
            8 => product.div_ceil(8),
            9 => product.div_ceil(9),
            10 => product.div_ceil(10),
            11 => product.div_ceil(11),
            12 => product.div_ceil(12),
            13 => product.div_ceil(13),
            14 => product.div_ceil(14),
            _ => product.div_ceil(15),
        }
    }

    /// The first bucket of a larger table in which a state may stand that stands in this bucket
    /// here, or in a later one.
    pub(super) fn first_bucket(self, bucket: usize, larger: Size) -> usize {
        bucket.saturating_sub(FARTHEST) * larger.buckets() / self.buckets()
    }
}

/// With how many bits a state takes one cell in tables of so many states each.
pub(super) fn one_cell_bits(states: usize) -> u32 {
    // There are at least so many buckets, of which eight times a power of two count.
    let log = (states / LINE / LEAST_FACTOR as usize).checked_ilog2().unwrap_or(0);
    LOG_SHARDS + AWAY_SHIFT + log + LEAST_FACTOR_BITS
}

/// Mixes numbers of so many bits. Two numbers never become the same one, so what was mixed can be
/// told from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mixer {
    bits: u32,
    mask: u64,
}

/// Odd, so that to multiply by them loses nothing.
const FACTORS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];
const INVERSES: [u64; 2] = [inverse(FACTORS[0]), inverse(FACTORS[1])];

/// What undoes a multiplication by an odd number: each round of Newton's method doubles the number
/// of bits that are right, of which there are three at first.
const fn inverse(factor: u64) -> u64 {
    let mut inverse = factor;
    let mut right = 3;
    while right < u64::BITS {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(inverse)));
        right *= 2;
    }
    inverse
}

impl Mixer {
    /// For numbers of so many bits, from 1 to 64.
    fn new(bits: u32) -> Self {
        Mixer { bits, mask: u64::MAX >> (u64::BITS - bits) }
    }

    /// How many bits the numbers have.
    fn bits(self) -> u32 {
        self.bits
    }

    #[inline]
    fn mix(self, number: u64) -> u64 {
        let number = self.fold(number).wrapping_mul(FACTORS[0]) & self.mask;
        let number = self.fold(number).wrapping_mul(FACTORS[1]) & self.mask;
        self.fold(number)
    }

    /// What was mixed to this.
    #[inline]
    fn unmix(self, mixed: u64) -> u64 {
        let number = self.fold(mixed).wrapping_mul(INVERSES[1]) & self.mask;
        let number = self.fold(number).wrapping_mul(INVERSES[0]) & self.mask;
        self.fold(number)
    }

    /// The upper half of the bits is added to the lower one; the same again undoes it.
    #[inline]
    fn fold(self, number: u64) -> u64 {
        number ^ (number >> self.bits.div_ceil(2))
    }
}

/// A number that depends on all of the words; of no words, nothing.
#[inline]
pub(super) fn digest(words: &[u64]) -> u64 {
    words.iter().fold(0, |digest: u64, &word| {
        let digest = (digest.rotate_left(29) ^ word).wrapping_mul(FACTORS[0]);
        digest ^ (digest >> 32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_mixed_can_be_told(bits in 1u32..=64, number: u64) {
            let mixer = Mixer::new(bits);
            let number = number & mixer.mask;
            let mixed = mixer.mix(number);
            prop_assert_eq!(mixed & !mixer.mask, 0);
            prop_assert_eq!(mixer.unmix(mixed), number);
        }
    }

    /// Numbers in a row are spread over all parts of the range, if not quite evenly.
    #[test]
    fn numbers_that_are_near_come_to_lie_apart() {
        let mixer = Mixer::new(40);
        let mut parts = [0u32; 64];
        (0..64_000).for_each(|number| parts[(mixer.mix(number) >> 34) as usize] += 1);
        assert!(parts.iter().all(|part| (700..1_400).contains(part)), "{parts:?}");
    }
}
