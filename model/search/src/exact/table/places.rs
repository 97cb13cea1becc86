//! The places of a table that does not change any more: each is the number of the state in it.

use super::{AWAY, AWAY_SHIFT, Table, find};

impl<const W: usize> Table<W> {
    /// The state at a place as it looks to the space, if there is one.
    pub(in crate::exact) fn state(&self, place: usize) -> Option<[u64; W]> {
        let (at, place) = (place / self.size.places(), place % self.size.places());
        let here = place * self.size.cells..(place + 1) * self.size.cells;
        let cells = &self.cells.bucket(at)[here];
        (cells[0] != 0).then(|| self.form.unmix(&self.mixed(self.size, at, cells)))
    }

    /// Asks the processor to bring near where this mixed state is, which it does meanwhile.
    pub(in crate::exact) fn fetch(&self, mixed: &[u64; W]) {
        self.cells.fetch(self.probe(mixed).bucket);
    }

    /// The place of a mixed state, if it is there.
    pub(in crate::exact) fn find(&self, mixed: &[u64; W]) -> Option<usize> {
        let probe = self.probe(mixed);
        let (cells, places) = (self.size.cells, self.size.places());
        for (away, there) in AWAY.iter().enumerate() {
            let first = probe.first | (away as u32) << AWAY_SHIFT;
            let at = probe.bucket + usize::from(*there);
            let bucket = self.cells.bucket(at);
            let found = if cells == 1 {
                bucket.first_chunk().and_then(|line| find(line, first))
            } else {
                bucket.chunks_exact(cells).position(|cells| self.is(cells, first, &probe))
            };
            if let Some(place) = found {
                return Some(at * places + place);
            }
            // The places are taken from the first on, and of the buckets the nearest is.
            if bucket[(places - 1) * cells] == 0 {
                return None;
            }
        }
        None
    }
}
