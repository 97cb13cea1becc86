//! Where each part of a state stands in its words.

/// The place of one part: some bits of one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    word: u32,
    shift: u32,
    mask: u64,
}

impl Field {
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
    /// Room for as many different values of each part as `room` says. No state has all bits set.
    pub(super) fn new(room: impl Iterator<Item = usize>) -> Layout {
        let mut fields = Vec::new();
        // One bit stays clear, so that "all bits set" can mean something else.
        let mut free = vec![63u32];
        for room in room {
            let bits = usize::BITS - room.saturating_sub(1).leading_zeros();
            assert!(bits <= 32, "a part of a state has more than 2^32 values");
            let at = free.iter().position(|&free| free >= bits).unwrap_or_else(|| {
                free.push(64);
                free.len() - 1
            });
            free[at] -= bits;
            let mask = (1u64 << bits) - 1;
            fields.push(Field { word: at as u32, shift: free[at].min(63), mask });
        }
        Layout { fields, words: free.len() }
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
