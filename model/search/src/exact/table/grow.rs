//! How a table becomes larger.

use super::{AWAY, AWAY_SHIFT, Cells, FARTHEST, LINE, MARK_SHIFT, REST, Size, Table, away};

/// From this bucket on, no state moves to an earlier one when a table grows: it grows by a
/// fifteenth at least, and no state stands farther away from its own bucket.
const NEAR: usize = FARTHEST * 16;

impl<const W: usize> Table<W> {
    /// Makes more places, as often as it takes until each state has one.
    pub(super) fn grow(&mut self) {
        let (former, fresh) = (self.size, self.fresh);
        let mut homeless = Vec::new();
        self.size = former.larger(self.form);
        // How many places of each bucket are taken.
        let mut taken = vec![0; self.size.all_buckets()];
        self.done = former.first_bucket(self.done, self.size);
        self.held = 0;
        if self.size.cells == former.cells {
            self.cells.lengthen(self.size.all_buckets());
            self.spread(former, &mut taken, &mut homeless);
        } else {
            let cells = Cells::new(self.size.all_buckets(), self.size.bucket);
            let cells = std::mem::replace(&mut self.cells, cells);
            for at in 0..former.all_buckets() {
                self.put_all(former, at, cells.bucket(at), &mut taken, &mut homeless);
            }
        }
        for (mixed, mark) in homeless {
            let put = |table: &mut Self| {
                let probe = table.probe(&mixed);
                table.insert(&probe, mark) || table.squeeze(&probe, mark)
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
    fn spread(&mut self, former: Size, taken: &mut [u8], homeless: &mut Vec<([u64; W], u32)>) {
        let mut bucket = vec![0; former.bucket];
        for at in (NEAR..former.all_buckets()).rev() {
            let here = self.cells.bucket_mut(at);
            bucket.copy_from_slice(here);
            here.fill(0);
            self.put_all(former, at, &bucket, taken, homeless);
        }
        let near = 0..NEAR.min(former.all_buckets());
        let mut cells = Vec::with_capacity(near.len() * former.bucket);
        for at in near {
            let here = self.cells.bucket_mut(at);
            cells.extend_from_slice(here);
            here.fill(0);
        }
        for (at, bucket) in cells.chunks_exact(former.bucket).enumerate() {
            self.put_all(former, at, bucket, taken, homeless);
        }
    }

    /// One cell, of a state that is nowhere yet; false if there is no place for it.
    #[inline(always)]
    fn put_small(&mut self, bucket: usize, first: u32, mark: u32, taken: &mut [u8]) -> bool {
        AWAY.iter().enumerate().any(|(away, &there)| {
            let at = bucket + usize::from(there);
            let place = usize::from(taken[at]);
            let room = place < LINE;
            if room {
                let cell = first | (away as u32) << AWAY_SHIFT | mark << MARK_SHIFT;
                self.cells.line_mut(at)[place] = cell;
                taken[at] += 1;
                self.held += 1;
            }
            room
        })
    }

    /// Puts the states of a bucket of a table of the former size where they stand in this one;
    /// those for which there is no place are `homeless`.
    fn put_all(
        &mut self,
        former: Size,
        at: usize,
        bucket: &[u32],
        taken: &mut [u8],
        homeless: &mut Vec<([u64; W], u32)>,
    ) {
        if former.cells == 1 && self.size.cells == 1 {
            for &cell in bucket.iter().take_while(|&&cell| cell != 0) {
                let head = former.join(at - away(cell), u64::from(cell & REST));
                let ((bucket, left), mark) = (self.size.split(head), cell >> MARK_SHIFT);
                if !self.put_small(bucket, left as u32, mark, taken) {
                    homeless.push((self.mixed(former, at, &[cell]), mark));
                }
            }
            return;
        }
        for cells in bucket.chunks_exact(former.cells).take_while(|cells| cells[0] != 0) {
            let (mixed, mark) = (self.mixed(former, at, cells), cells[0] >> MARK_SHIFT);
            if !self.insert(&self.probe(&mixed), mark) {
                homeless.push((mixed, mark));
            }
        }
    }
}
