//! Where each part of a state stands in its words.

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
    words: usize,
}

impl Layout {
    /// Room for as many different values of each part as `known` says, in as few words as that
    /// takes. The bits that are left go to the parts that have the least room. No state has all
    /// bits set.
    pub(super) fn new(known: impl Iterator<Item = usize>) -> Layout {
        let known: Vec<usize> = known.collect();
        // One bit stays clear, so that "all bits set" can mean something else.
        let mut free = vec![63u32];
        let place = |&known: &usize| {
            let bits = usize::BITS - known.saturating_sub(1).leading_zeros();
            assert!(bits <= WIDEST, "a part of a state has more than 2^32 values");
            let word = free.iter().position(|&free| free >= bits).unwrap_or_else(|| {
                free.push(64);
                free.len() - 1
            });
            free[word] -= bits;
            (word, bits)
        };
        let mut places: Vec<(usize, u32)> = known.iter().map(place).collect();
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
        let mut top = vec![64u32; free.len()];
        top[0] = 63;
        let fields = places.into_iter().map(|(word, bits)| {
            top[word] -= bits;
            Field { word: word as u32, shift: top[word].min(63), mask: (1u64 << bits) - 1 }
        });
        Layout { fields: fields.collect(), words: free.len() }
    }

    /// The number of words of a state.
    pub(super) fn words(&self) -> usize {
        self.words
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_in_comes_out(
            parts in proptest::collection::vec((1usize..5000, any::<u32>()), 1..60),
        ) {
            let layout = Layout::new(parts.iter().map(|&(room, _)| room));
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
        let layout = Layout::new([18, 18, 18, 18].into_iter().chain([4; 12]).chain([6]));
        assert_eq!(layout.words(), 1);
    }
}
