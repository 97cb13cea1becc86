//! Numbers that look random and follow from a seed (SplitMix64).

/// A source of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The source of the walk of this number.
    pub(crate) fn new(seed: u64, number: u64) -> Random {
        let mut of_seed = Random(seed);
        Random(of_seed.next() ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A place in a list of so many, which is not empty.
    pub(crate) fn place(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }
}
