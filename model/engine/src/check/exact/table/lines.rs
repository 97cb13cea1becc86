//! Looking for a cell in a line, all of whose cells are compared: to skip any takes longer, for the
//! processor cannot guess which.

use super::{LINE, STAGE_BITS};
use wide::i32x4;

/// Whether a cell looks like this one, but for its stage.
#[inline(always)]
pub(super) fn has(line: &[u32; LINE], cell: u32) -> bool {
    // Left to itself, the compiler stops at the first cell that is the same.
    let looked_for = i32x4::splat((cell << STAGE_BITS).cast_signed());
    let mut any = i32x4::ZERO;
    for four in line.as_chunks().0 {
        let four: [u32; 4] = *four;
        let there = i32x4::new(four.map(u32::cast_signed)) << STAGE_BITS;
        any |= there.simd_eq(looked_for);
    }
    any.any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cell_is_found_wherever_it_is(
            line: [u32; LINE], at in 0..LINE, other: u32, stage in 0u32..4,
        ) {
            let shift = u32::BITS - STAGE_BITS;
            let there = (line[at] << STAGE_BITS >> STAGE_BITS) | stage << shift;
            let same = line.iter().any(|&cell| (cell ^ other) << STAGE_BITS == 0);
            prop_assert!(has(&line, there));
            prop_assert_eq!(has(&line, other), same);
        }
    }
}
