//! How a table becomes larger.

use super::{Cells, FARTHEST, REST, STAGE_SHIFT, Size, Table, away};

/// From this bucket on, no state moves to an earlier one when a table grows: it grows by an eighth
/// at least, and no state stands farther away from its own bucket.
const NEAR: usize = FARTHEST * 8;

impl<const W: usize> Table<W> {
    /// Makes more places, as often as it takes until each state has one.
    pub(super) fn grow(&mut self) {
        let (former, fresh) = (self.size, self.fresh);
        let mut homeless = Vec::new();
        self.size = former.larger(self.form);
        self.done = former.first_bucket(self.done, self.size);
        self.held = 0;
        if self.size.cells == former.cells {
            self.cells.lengthen(self.size.all_buckets());
            self.spread(former, &mut homeless);
        } else {
            let cells = Cells::new(self.size.all_buckets(), self.size.bucket);
            let cells = std::mem::replace(&mut self.cells, cells);
            for at in 0..former.all_buckets() {
                self.put_all(former, at, cells.bucket(at), &mut homeless);
            }
        }
        for (stirred, stage) in homeless {
            let put = |table: &mut Self| {
                let probe = table.probe(&stirred);
                table.insert(&probe, stage, false) || table.squeeze(&probe, stage)
            };
            while !put(self) {
                self.grow();
            }
        }
        self.fresh = fresh;
    }

    /// Moves each state of a table of the former size to where it stands in this one. From the last
    /// bucket to the first, for what belongs there now came from there or from before it. Only of
    /// the first buckets a state may move to one that has not been emptied.
    fn spread(&mut self, former: Size, homeless: &mut Vec<([u64; W], u32)>) {
        let mut bucket = vec![0; former.bucket];
        for at in (NEAR..former.all_buckets()).rev() {
            let here = self.cells.bucket_mut(at);
            bucket.copy_from_slice(here);
            here.fill(0);
            self.put_all(former, at, &bucket, homeless);
        }
        let near = 0..NEAR.min(former.all_buckets());
        let mut cells = Vec::with_capacity(near.len() * former.bucket);
        for at in near {
            let here = self.cells.bucket_mut(at);
            cells.extend_from_slice(here);
            here.fill(0);
        }
        for (at, bucket) in cells.chunks_exact(former.bucket).enumerate() {
            self.put_all(former, at, bucket, homeless);
        }
    }

    /// Puts the states of a bucket of a table of the former size where they stand in this one;
    /// those for which there is no place are `homeless`.
    fn put_all(
        &mut self,
        former: Size,
        at: usize,
        bucket: &[u32],
        homeless: &mut Vec<([u64; W], u32)>,
    ) {
        if former.cells == 1 && self.size.cells == 1 {
            for &cell in bucket.iter().take_while(|&&cell| cell != 0) {
                let head = former.join(at - away(cell), u64::from(cell & REST));
                let ((bucket, left), stage) = (self.size.split(head), cell >> STAGE_SHIFT);
                if !self.insert_small::<false>(bucket, left as u32, stage) {
                    homeless.push((self.stirred(former, at, &[cell]), stage));
                }
            }
            return;
        }
        for cells in bucket.chunks_exact(former.cells).take_while(|cells| cells[0] != 0) {
            let (stirred, stage) = (self.stirred(former, at, cells), cells[0] >> STAGE_SHIFT);
            if !self.insert(&self.probe(&stirred), stage, false) {
                homeless.push((stirred, stage));
            }
        }
    }
}
