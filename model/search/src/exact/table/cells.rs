//! The places of a table, which become more without any state being copied for it; and looking for
//! a cell in a line of them.

use crate::exact::form::{LINE, MARK_BITS};
use prefetch_index::prefetch_index;

/// How many lines are in one piece of memory. No piece is given back before the whole table is, so
/// tables that grow side by side leave no holes between them.
const PIECE: usize = 1 << 6;

/// Lines of the processor's cache.
#[derive(Debug)]
#[repr(align(64))]
struct Piece([[u32; LINE]; PIECE]);

/// Buckets of cells, all of one size: some lines, whose number is a power of two.
#[derive(Debug)]
pub(super) struct Cells {
    /// The lines of a bucket.
    lines: usize,
    pieces: Vec<Box<Piece>>,
}

impl Cells {
    /// So many buckets of so many cells, with nothing in them.
    pub(super) fn new(buckets: usize, bucket: usize) -> Self {
        let mut cells = Cells { lines: bucket / LINE, pieces: Vec::new() };
        cells.lengthen(buckets);
        cells
    }

    /// At least so many buckets, what is new of them with nothing in it.
    pub(super) fn lengthen(&mut self, buckets: usize) {
        let pieces = (buckets * self.lines).div_ceil(PIECE);
        self.pieces.resize_with(pieces, || Box::new(Piece([[0; LINE]; PIECE])));
    }

    #[inline]
    pub(super) fn bucket(&self, at: usize) -> &[u32] {
        let at = at * self.lines;
        let Piece(lines) = &*self.pieces[at / PIECE];
        lines[at % PIECE..at % PIECE + self.lines].as_flattened()
    }

    #[inline]
    pub(super) fn bucket_mut(&mut self, at: usize) -> &mut [u32] {
        let at = at * self.lines;
        let Piece(lines) = &mut *self.pieces[at / PIECE];
        lines[at % PIECE..at % PIECE + self.lines].as_flattened_mut()
    }

    /// A bucket of one line.
    #[inline(always)]
    pub(super) fn line_mut(&mut self, at: usize) -> &mut [u32; LINE] {
        &mut self.pieces[at / PIECE].0[at % PIECE]
    }

    /// Asks the processor to bring the bucket near, which it does meanwhile.
    #[inline(always)]
    pub(super) fn fetch(&self, at: usize) {
        let at = at * self.lines;
        prefetch_index(&self.pieces[at / PIECE].0, at % PIECE);
    }

    /// How many bytes more so many buckets take, of so many cells.
    pub(super) fn growth(&self, buckets: usize, bucket: usize) -> u64 {
        let lines = bucket / LINE;
        let pieces = (buckets * lines).div_ceil(PIECE);
        let here = if lines == self.lines { self.pieces.len() } else { 0 };
        (pieces.saturating_sub(here) * size_of::<Piece>()) as u64
    }
}

/// Where in a line a cell looks like this one, but for its mark. No two do. All cells are compared:
/// to skip any takes longer, for the processor cannot guess which.
#[inline(always)]
pub(super) fn find_in_line(line: &[u32; LINE], cell: u32) -> Option<usize> {
    let same = same_cells(line, cell);
    (same != 0).then(|| same.trailing_zeros() as usize)
}

/// A bit for each cell: whether it looks like this one. Left to themselves, compilers compare the
/// cells one by one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn same_cells(line: &[u32; LINE], cell: u32) -> u32 {
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
use one_by_one as same_cells;

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
            prop_assert_eq!(find_in_line(&line, there), place(there));
            prop_assert_eq!(find_in_line(&line, other), place(other));
            prop_assert_eq!(same_cells(&line, there), one_by_one(&line, there));
        }
    }
}
