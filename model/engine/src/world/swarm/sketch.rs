//! About how many different states there were, in little memory.

use rustc_hash::FxHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

/// How many registers, as a power of 2.
const BITS: u32 = 12;

/// An estimate of how many different values were noted: HyperLogLog (P. Flajolet, É. Fusy, O.
/// Gandouet and F. Meunier, *HyperLogLog: the analysis of a near-optimal cardinality estimation
/// algorithm*, 2007). With 4,096 registers the standard error is 1.6 %.
#[derive(Clone, PartialEq, Eq)]
pub struct Sketch(Box<[u8]>);

impl Default for Sketch {
    fn default() -> Self {
        Sketch(vec![0; 1 << BITS].into())
    }
}

impl Sketch {
    /// Notes a value.
    pub fn record(&mut self, value: &impl Hash) {
        let mut hasher = FxHasher::default();
        value.hash(&mut hasher);
        // The finalizer of SplitMix64: every bit of the hash depends on every bit of the value.
        let hash = hasher.finish();
        let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let hash = hash ^ hash >> 31;
        let register = &mut self.0[(hash >> (u64::BITS - BITS)) as usize];
        let rank = ((hash << BITS) | 1 << (BITS - 1)).leading_zeros() + 1;
        *register = (*register).max(rank as u8);
    }

    /// Adds the values that another sketch has noted.
    pub fn add(&mut self, other: &Sketch) {
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            *ours = (*ours).max(*theirs);
        }
    }

    /// Returns about how many different values were noted.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, not negative, far below 2^64"
    )]
    pub fn count(&self) -> u64 {
        let registers = self.0.len() as f64;
        let sum: f64 = self.0.iter().map(|&rank| f64::from(-i32::from(rank)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty = self.0.iter().filter(|&&rank| rank == 0).count();
        let few = raw <= 2.5 * registers && empty > 0;
        let estimate = if few { registers * (registers / empty as f64).ln() } else { raw };
        estimate.round() as u64
    }
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {}", self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::Sketch;

    #[test]
    fn it_counts_within_a_few_per_cent() {
        for count in [0u64, 1, 10, 1_000, 10_000, 300_000] {
            let mut sketch = Sketch::default();
            for value in 0..count {
                sketch.record(&value);
                sketch.record(&value);
            }
            let (found, wanted) = (sketch.count() as f64, count as f64);
            assert!((found - wanted).abs() <= 0.06 * wanted, "{found} for {wanted}");
        }
    }

    #[test]
    fn what_two_have_noted_is_counted_once() {
        let (mut a, mut b) = (Sketch::default(), Sketch::default());
        (0..2_000u64).for_each(|value| a.record(&value));
        (1_000..3_000u64).for_each(|value| b.record(&value));
        a.add(&b);
        assert!((2_800..3_200).contains(&a.count()), "{}", a.count());
    }
}
