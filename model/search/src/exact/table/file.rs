//! Tables in files.

use super::{Cells, Form, Size, TURNS, Table};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// How many cells are read or written together at most.
const TOGETHER: usize = 4;

/// A table without its cells.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::exact) struct Summary {
    pub(in crate::exact) size: Size,
    pub(in crate::exact) held: usize,
    pub(in crate::exact) turn: usize,
    pub(in crate::exact) left: u64,
    pub(in crate::exact) fresh: u64,
}

impl Summary {
    /// One more state at this stage.
    pub(in crate::exact) fn count(&mut self, stage: u32) {
        self.held += 1;
        self.left += u64::from(stage == TURNS[self.turn]);
        self.fresh += u64::from(stage == TURNS[1 - self.turn]);
    }

    /// See [`Table::begin_level`].
    pub(in crate::exact) fn begin_level(&mut self) -> u64 {
        self.turn = 1 - self.turn;
        self.left = std::mem::take(&mut self.fresh);
        self.left
    }
}

impl<const W: usize> Table<W> {
    /// What there is to say of it but its cells.
    pub(in crate::exact) fn summary(&self) -> Summary {
        let Table { size, held, turn, left, fresh, .. } = *self;
        Summary { size, held, turn, left, fresh }
    }

    /// Writes the cells.
    pub(in crate::exact) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut bytes = [0; TOGETHER * size_of::<u32>()];
        let buckets = (0..self.size.all_buckets()).map(|at| self.cells.bucket(at));
        for some in buckets.flat_map(|bucket| bucket.chunks(TOGETHER)) {
            for (to, cell) in bytes.as_chunks_mut().0.iter_mut().zip(some) {
                *to = cell.to_le_bytes();
            }
            out.write_all(&bytes[..size_of_val(some)])?;
        }
        Ok(())
    }

    /// The table of which these are the cells.
    pub(in crate::exact) fn read(
        form: Form<W>,
        shard: usize,
        summary: Summary,
        file: &mut dyn Read,
    ) -> io::Result<Self> {
        let Summary { size, held, turn, left, fresh } = summary;
        let mut cells = Cells::new(size.all_buckets(), size.bucket);
        let mut bytes = [0; TOGETHER * size_of::<u32>()];
        for at in 0..size.all_buckets() {
            for some in cells.bucket_mut(at).chunks_mut(TOGETHER) {
                let bytes = &mut bytes[..size_of_val(some)];
                file.read_exact(bytes)?;
                for (cell, from) in some.iter_mut().zip(bytes.as_chunks().0) {
                    *cell = u32::from_le_bytes(*from);
                }
            }
        }
        let (shard, round) = (shard as u64, Vec::new());
        Ok(Table { form, shard, size, cells, held, turn, left, fresh, done: 0, round })
    }
}
