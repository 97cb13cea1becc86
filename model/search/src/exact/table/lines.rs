//! Looking for a cell in a line, all of whose cells are compared: to skip any takes longer, for the
//! processor cannot guess which.

use super::{LINE, MARK_BITS};

/// Where a cell looks like this one, but for its mark. No two do.
#[inline(always)]
pub(super) fn find(line: &[u32; LINE], cell: u32) -> Option<usize> {
    let same = same(line, cell);
    (same != 0).then(|| same.trailing_zeros() as usize)
}

/// A bit for each cell: whether it looks like this one. Left to themselves, compilers compare the
/// cells one by one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn same(line: &[u32; LINE], cell: u32) -> u32 {
    use safe_arch::{cast_to_m128_from_m128i, cmp_eq_mask_i32_m128i, move_mask_m128};
    use safe_arch::{m128i, set_splat_i32_m128i, shl_imm_u32_m128i};
    let looked_for = set_splat_i32_m128i((cell << MARK_BITS).cast_signed());
    let mut same = 0;
    for (four, shift) in line.as_chunks().0.iter().zip((0..).step_by(4)) {
        let four: [u32; 4] = *four;
        let there = shl_imm_u32_m128i::<{ MARK_BITS as i32 }>(m128i::from(four));
        let equal = cast_to_m128_from_m128i(cmp_eq_mask_i32_m128i(there, looked_for));
        same |= move_mask_m128(equal).cast_unsigned() << shift;
    }
    same
}

#[cfg(not(target_arch = "x86_64"))]
use one_by_one as same;

#[cfg(any(test, not(target_arch = "x86_64")))]
fn one_by_one(line: &[u32; LINE], cell: u32) -> u32 {
    let same = |(at, there): (usize, &u32)| u32::from((there ^ cell) << MARK_BITS == 0) << at;
    line.iter().enumerate().map(same).fold(0, |same, bit| same | bit)
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
            prop_assert_eq!(same(&line, there), one_by_one(&line, there));
        }
    }
}
