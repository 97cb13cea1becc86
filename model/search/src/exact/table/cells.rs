//! The places of a table, which become more without any state being copied for it.

use super::LINE;
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
