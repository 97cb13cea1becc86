//! Where each part of a state stands in its words, and a hash that does not depend on that.

/// The most bits that a part may take.
const WIDEST: u32 = 32;

/// The place of one part: some bits of one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    word: u32,
    shift: u32,
    mask: u64,
}

impl Field {
    /// How many different parts can stand here.
    pub(super) fn room(self) -> usize {
        self.mask as usize + 1
    }

    /// The part that stands here.
    #[inline]
    pub(super) fn get(self, words: &[u64]) -> u32 {
        // Masks are at most 32 bits wide.
        ((words[self.word as usize] >> self.shift) & self.mask) as u32
    }

    /// The same of so many words, a power of two, of which this is one.
    #[inline]
    pub(super) fn part<const W: usize>(self, words: &[u64; W]) -> u32 {
        ((words[self.word as usize % W] >> self.shift) & self.mask) as u32
    }

    /// The same of the only word.
    #[inline]
    pub(super) fn of_one(self, word: u64) -> u32 {
        ((word >> self.shift) & self.mask) as u32
    }

    /// Puts another part there.
    #[inline]
    pub(super) fn put<const W: usize>(self, words: &mut [u64; W], part: u32) {
        let word = &mut words[self.word as usize % W];
        *word = (*word & !(self.mask << self.shift)) | (u64::from(part) << self.shift);
    }

    /// Puts another part here.
    #[inline]
    pub(super) fn set(self, words: &mut [u64], part: u32) {
        let word = &mut words[self.word as usize];
        *word = (*word & !(self.mask << self.shift)) | (u64::from(part) << self.shift);
    }
}

/// The places of all parts of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    fields: Vec<Field>,
    bits: Vec<u32>,
}

/// The bits of a word. One of the first stays clear, so that "all bits set" can mean something
/// else.
fn size(word: usize) -> u32 {
    if word == 0 { 63 } else { 64 }
}

/// The word of each part and the bits that it needs, and how many bits of each word are left.
fn places(known: &[usize]) -> (Vec<(usize, u32)>, Vec<u32>) {
    let mut free = vec![size(0)];
    let place = |&known: &usize| {
        let bits = usize::BITS - known.saturating_sub(1).leading_zeros();
        assert!(bits <= WIDEST, "a part of a state has more than 2^32 values");
        let word = free.iter().position(|&free| free >= bits).unwrap_or_else(|| {
            free.push(size(free.len()));
            free.len() - 1
        });
        free[word] -= bits;
        (word, bits)
    };
    (known.iter().map(place).collect(), free)
}

impl Layout {
    /// Room for as many different values of each part as `known` says, in as few words as that
    /// takes, from their lowest bits on. The bits that are left go to the parts that have the least
    /// room, up to `most` bits of all words. No state has all bits set.
    pub(super) fn new(known: impl Iterator<Item = usize>, most: u32) -> Layout {
        let known: Vec<usize> = known.collect();
        let (mut places, mut free) = places(&known);
        let last = free.len() - 1;
        let before: u32 = (0..last).map(size).sum();
        let unused = (before + size(last)).saturating_sub(most.max(before));
        free[last] = free[last].saturating_sub(unused);
        for (word, free) in free.iter().enumerate() {
            for _ in 0..*free {
                let here = places.iter_mut().zip(&known);
                let here = here.filter(|((at, bits), _)| *at == word && *bits < WIDEST);
                // Of two that are as full, the one with more values is likelier to get another.
                let fullest =
                    here.max_by_key(|&(&mut (_, bits), &known)| ((known << 16) >> bits, known));
                if let Some(((_, bits), _)) = fullest {
                    *bits += 1;
                }
            }
        }
        let mut bits = vec![0; free.len()];
        let fields = places.into_iter().map(|(word, wide)| {
            let shift = bits[word];
            bits[word] += wide;
            Field { word: word as u32, shift: shift.min(63), mask: (1u64 << wide) - 1 }
        });
        Layout { fields: fields.collect(), bits }
    }

    /// How many bits states need of which so many values of each part are known: all words but the
    /// last one are counted whole.
    pub(super) fn least(known: impl Iterator<Item = usize>) -> u32 {
        let (_, free) = places(&known.collect::<Vec<_>>());
        (0..free.len()).map(size).sum::<u32>() - free[free.len() - 1]
    }

    /// The number of words of a state.
    pub(super) fn words(&self) -> usize {
        self.bits.len()
    }

    /// How many bits of each word are in use, from the lowest.
    pub(super) fn bits(&self) -> &[u32] {
        &self.bits
    }

    /// The place of a part.
    #[inline]
    pub(super) fn field(&self, part: usize) -> Field {
        self.fields[part]
    }

    /// The places of all parts.
    #[inline]
    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }
}

/// One factor for each part of a state, for a hash that does not depend on where the parts stand in
/// words.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_in_comes_out(
            parts in proptest::collection::vec((1usize..5000, any::<u32>()), 1..60),
            spare in 0u32..100,
        ) {
            let known = || parts.iter().map(|&(room, _)| room);
            let least = Layout::least(known());
            let layout = Layout::new(known(), least + spare);
            let (last, before) = layout.bits().split_last().expect("a word");
            let whole = before.len() as u32 * 64 - u32::from(!before.is_empty());
            prop_assert!((least..=least + spare).contains(&(whole + last)));
            let mut words = vec![0u64; layout.words()];
            for (field, &(room, value)) in layout.fields().iter().zip(&parts) {
                field.set(&mut words, value % room as u32);
            }
            for (field, &(room, value)) in layout.fields().iter().zip(&parts) {
                prop_assert_eq!(field.get(&words), value % room as u32);
            }
            prop_assert!(words.iter().any(|&word| word != u64::MAX));
        }
    }

    #[test]
    fn small_parts_share_a_word() {
        let layout = Layout::new([18, 18, 18, 18].into_iter().chain([4; 12]).chain([6]), u32::MAX);
        assert_eq!(layout.words(), 1);
    }
}
