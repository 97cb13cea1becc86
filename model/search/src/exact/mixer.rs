//! Numbers of a few bits, mixed so that each bit depends on all of them, and back again.

/// Mixes numbers of so many bits. Two numbers never become the same one, so what was mixed can be
/// told from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mixer {
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
    pub(super) fn new(bits: u32) -> Self {
        Mixer { bits, mask: u64::MAX >> (u64::BITS - bits) }
    }

    /// How many bits the numbers have.
    pub(super) fn bits(self) -> u32 {
        self.bits
    }

    #[inline]
    pub(super) fn mix(self, number: u64) -> u64 {
        let number = self.fold(number).wrapping_mul(FACTORS[0]) & self.mask;
        let number = self.fold(number).wrapping_mul(FACTORS[1]) & self.mask;
        self.fold(number)
    }

    /// What was mixed to this.
    #[inline]
    pub(super) fn unmix(self, mixed: u64) -> u64 {
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
