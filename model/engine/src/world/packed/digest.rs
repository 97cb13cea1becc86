//! A hash of a state that does not depend on where its parts stand in words.

use super::layout::Layout;

/// One factor for each part of a state.
#[derive(Debug, Default)]
pub(super) struct Factors(Vec<u64>);

impl Factors {
    /// For so many parts; the same in every process.
    pub(super) fn new(parts: usize) -> Self {
        // SplitMix64: G. L. Steele et al., Fast Splittable Pseudorandom Number Generators, 2014.
        let factor = |part: usize| {
            let mut bits = (part as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (bits ^ (bits >> 31)) | 1
        };
        Factors((0..parts).map(factor).collect())
    }

    /// The hash of the state that `words` stand for.
    #[inline]
    pub(super) fn digest(&self, layout: &Layout, words: &[u64]) -> u64 {
        let parts = self.0.iter().zip(layout.fields());
        let sum = parts.fold(0u64, |sum, (factor, field)| {
            sum.wrapping_add(factor.wrapping_mul(u64::from(field.get(words))))
        });
        (sum ^ (sum >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }
}
