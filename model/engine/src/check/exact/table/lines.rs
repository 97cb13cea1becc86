//! Looking for a cell in a line, all of whose cells are compared: to skip any takes longer, for the
//! processor cannot guess which.

use super::{LINE, MARK_BITS};
use wide::i32x4;

/// Where a cell looks like this one, but for its mark. No two do.
#[inline(always)]
pub(super) fn find(line: &[u32; LINE], cell: u32) -> Option<usize> {
    // Left to itself, the compiler stops at the first cell that is the same.
    let looked_for = i32x4::splat((cell << MARK_BITS).cast_signed());
    let mut same = 0;
    for (four, shift) in line.as_chunks().0.iter().zip((0..).step_by(4)) {
        let four: [u32; 4] = *four;
        let there = i32x4::new(four.map(u32::cast_signed)) << MARK_BITS;
        same |= there.simd_eq(looked_for).to_bitmask() << shift;
    }
    (same != 0).then(|| same.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cell_is_found_wherever_it_is(
            line: [u32; LINE], at in 0..LINE, other: u32, mark in 0u32..1 << MARK_BITS,
        ) {
            let shift = u32::BITS - MARK_BITS;
            let there = (line[at] << MARK_BITS >> MARK_BITS) | mark << shift;
            let place = |looked: u32| line.iter().position(|&c| (c ^ looked) << MARK_BITS == 0);
            prop_assert_eq!(find(&line, there), place(there));
            prop_assert_eq!(find(&line, other), place(other));
        }
    }
}
