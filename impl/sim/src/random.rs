//! Numbers that look random and follow from a seed: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood,
//! *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014). Whole numbers only, so that they
//! are the same on every machine.

use std::time::Duration;

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream that follows from these numbers. Streams of different numbers are independent,
    /// so a draw that is left out changes none of another stream.
    #[must_use]
    pub fn of(numbers: &[u64]) -> Self {
        Self(numbers.iter().fold(GAMMA, |state, &number| mix(state ^ mix(number))))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(end)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// A place in a list of this length.
    pub fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True in `permille` of a thousand cases.
    pub fn chance(&mut self, permille: u64) -> bool {
        self.below(1_000) < permille
    }

    /// A duration from `low` to `high`.
    pub fn duration(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.between(low.as_nanos() as u64, high.as_nanos() as u64))
    }

    /// A duration up to `high`: each power of two below is as likely as the next, so most are short
    /// and some are not.
    pub fn skewed(&mut self, high: Duration) -> Duration {
        let halvings = self.below(6) as u32;
        let top = high / 2_u32.pow(halvings);
        self.duration(top / 2, top)
    }
}

/// Spreads a number over all bits.
#[must_use]
pub fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::Random;
    use std::time::Duration;

    #[test]
    fn the_same_numbers_give_the_same_stream_and_others_another() {
        let stream = |numbers: &[u64]| {
            let mut random = Random::of(numbers);
            [random.number(), random.number()]
        };
        assert_eq!(stream(&[1, 2]), stream(&[1, 2]));
        assert_ne!(stream(&[1, 2]), stream(&[2, 1]));
        assert_eq!(Random::of(&[7]).number(), 0x2371_cf29_5e84_7bcc, "on every machine");
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut random = Random::of(&[1]);
        let high = Duration::from_secs(4);
        for _ in 0..10_000 {
            assert!((3..=5).contains(&random.between(3, 5)));
            assert!(random.skewed(high) <= high);
            assert!(!random.chance(0) && random.chance(1_000));
        }
        assert_eq!(random.below(0), 0);
    }
}
