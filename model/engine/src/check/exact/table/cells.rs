//! The places of a table, which become more without any state being copied for it.

use super::LINE;

/// How many buckets are in one piece of memory. No piece is given back before the whole table is,
/// so tables that grow side by side leave no holes between them.
const PIECE: usize = 1 << 8;

/// Buckets of cells, all of one size. A bucket of a line is a line of the processor's cache.
#[derive(Debug)]
pub(super) struct Cells {
    /// The cells of a bucket.
    bucket: usize,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    all: Vec<u32>,
    /// Where its buckets begin.
    from: usize,
}

impl Cells {
    /// So many buckets of so many cells, with nothing in them.
    pub(super) fn new(buckets: usize, bucket: usize) -> Self {
        let mut cells = Cells { bucket, pieces: Vec::new() };
        cells.lengthen(buckets);
        cells
    }

    /// At least so many buckets, what is new of them with nothing in it.
    pub(super) fn lengthen(&mut self, buckets: usize) {
        while self.pieces.len() * PIECE < buckets {
            let all = vec![0; PIECE * self.bucket + LINE];
            // Where this cannot be told, it only takes longer.
            let from = all.as_ptr().align_offset(LINE * size_of::<u32>());
            self.pieces.push(Piece { all, from: if from < LINE { from } else { 0 } });
        }
    }

    #[inline]
    pub(super) fn bucket(&self, at: usize) -> &[u32] {
        let Piece { all, from } = &self.pieces[at / PIECE];
        let from = from + at % PIECE * self.bucket;
        &all[from..from + self.bucket]
    }

    #[inline]
    pub(super) fn bucket_mut(&mut self, at: usize) -> &mut [u32] {
        let Piece { all, from } = &mut self.pieces[at / PIECE];
        let from = *from + at % PIECE * self.bucket;
        &mut all[from..from + self.bucket]
    }

    /// A bucket of a line.
    #[inline]
    pub(super) fn line_mut(&mut self, at: usize) -> &mut [u32; LINE] {
        let Piece { all, from } = &mut self.pieces[at / PIECE];
        &mut all[*from..].as_chunks_mut().0[at % PIECE]
    }

    /// How many bytes more so many buckets take, of so many cells.
    pub(super) fn growth(&self, buckets: usize, bucket: usize) -> u64 {
        let pieces = buckets.div_ceil(PIECE);
        let here = if bucket == self.bucket { self.pieces.len() } else { 0 };
        (pieces.saturating_sub(here) * PIECE * bucket * size_of::<u32>()) as u64
    }
}
