//! What is known so far of the parts of a world's states: every value that a process or a link has
//! had gets a number, and what follows from it is written down once.

use crate::machine;
use crate::protocol::{Envelope, Id, Ids, MAX_SEARCHED, MAX_TIMERS, Timers};
use crate::world::{Faults, Ways};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::hash::Hash;

/// Stands for what has not been seen yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Stands for what is beyond the bounds: more messages than a link may hold, or more than a
/// process may have.
pub(super) const BEYOND: u32 = u32::MAX - 1;

/// Values and their numbers.
pub(super) type Numbered<T> = IndexSet<T, FxBuildHasher>;

/// The number of `value`, a new one if it has none.
pub(super) fn number<T: Eq + Hash>(known: &mut Numbered<T>, value: T) -> u32 {
    u32::try_from(known.insert_full(value).0).unwrap_or(UNKNOWN)
}

/// How many cells of a table are in one piece at most: 64 MiB of them. Where numbers grow without
/// end, most events meet few parts, and a table of all of both would be larger than any memory.
const MOST_CELLS: usize = 1 << 24;

/// A table with a row for each part and a column for each event; rows and columns are added as
/// they are met.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    log_columns: u32,
    cells: Vec<u32>,
    /// The cells that do not fit in one piece with the others. What is there stays there: the piece
    /// does not grow over it, since it would be too large.
    scattered: FxHashMap<(u32, u32), u32>,
}

impl Table {
    /// What follows; [`UNKNOWN`] if it has not been seen.
    #[inline]
    pub(super) fn get(&self, row: u32, column: u32) -> u32 {
        let at = ((row as usize) << self.log_columns) | column as usize;
        if column >> self.log_columns == 0
            && let Some(&value) = self.cells.get(at)
        {
            return value;
        }
        if self.scattered.is_empty() {
            return UNKNOWN;
        }
        self.scattered.get(&(row, column)).copied().unwrap_or(UNKNOWN)
    }

    /// Writes down what follows.
    pub(super) fn set(&mut self, row: u32, column: u32, value: u32) {
        // Rows that are there already get as many columns as all.
        let log_columns = self.log_columns.max(u32::BITS - column.leading_zeros());
        let rows = self.cells.len().div_ceil(1 << self.log_columns).max(row as usize + 1);
        if rows << log_columns > MOST_CELLS {
            self.scattered.insert((row, column), value);
            return;
        }
        while column >> self.log_columns != 0 {
            let columns = 1 << self.log_columns;
            let rows = self.cells.chunks(columns);
            let wider = rows.flat_map(|row| {
                row.iter().copied().chain(std::iter::repeat_n(UNKNOWN, 2 * columns - row.len()))
            });
            self.cells = wider.collect();
            self.log_columns += 1;
        }
        let at = ((row as usize) << self.log_columns) | column as usize;
        if at >= self.cells.len() {
            self.cells.resize(at + 1, UNKNOWN);
        }
        self.cells[at] = value;
    }
}

/// The column of a message in the table of what a process does when it arrives.
pub(super) fn column(from: Id, message: u32) -> u32 {
    message * MAX_SEARCHED as u32 + from.index() as u32
}

/// All that one process has.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Own {
    pub(super) up: bool,
    /// Only in a timed world.
    pub(super) paused: bool,
    pub(super) process: machine::Process,
    pub(super) stable: machine::Stable,
    pub(super) timers: Timers,
    /// In a timed world, what its clocks show.
    pub(super) clocks: [u8; MAX_TIMERS],
}

/// A message on a link, and the ticks that it has left; 0 where they are not counted.
pub(super) type Held = (Envelope, u8);

/// A message that a step sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    /// On which link.
    pub(super) link: u8,
    pub(super) to: Id,
    pub(super) message: u32,
}

/// What one step of a process does: what it has afterwards, and what it sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Step {
    pub(super) own: u32,
    pub(super) sends: Box<[Sent]>,
}

/// A step where the search finds it sooner: what the process has afterwards, and which of all
/// messages that its steps send this one does.
#[derive(Clone, Copy, Debug)]
struct Taken {
    own: u32,
    from: u32,
    to: u32,
    /// To which processes, one bit each.
    receivers: u8,
}

/// One process: what it has had so far, and what each event then does.
#[derive(Default)]
pub(super) struct Process {
    pub(super) known: Numbered<Own>,
    steps: Numbered<Step>,
    taken: Vec<Taken>,
    sends: Vec<Sent>,
    /// By the number of the sender and of the message.
    pub(super) receive: Table,
    /// By the position of the timer.
    pub(super) expire: Table,
    /// In column 0.
    pub(super) recover: Table,
    /// In column 0; not a step, but what the process has then.
    pub(super) crash: Table,
}

impl Process {
    /// The number of a step, a new one if it has none.
    pub(super) fn number(&mut self, step: Step) -> u32 {
        let known = self.steps.len();
        let number = number(&mut self.steps, step);
        if let Some(Step { own, sends }) = self.steps.get_index(known) {
            let from = self.sends.len() as u32;
            self.sends.extend(sends);
            let receivers = sends.iter().fold(0, |all, sent| all | 1 << sent.to.index());
            let to = self.sends.len() as u32;
            self.taken.push(Taken { own: *own, from, to, receivers });
        }
        number
    }

    /// What the process has after a step, and what that sends.
    #[inline(always)]
    pub(super) fn step(&self, number: u32) -> (u32, &[Sent]) {
        let Taken { own, from, to, .. } = self.taken[number as usize];
        (own, &self.sends[from as usize..to as usize])
    }

    /// The processes to which a step sends, one bit each: all if it is not known, or exceeds a
    /// bound.
    #[inline(always)]
    pub(super) fn receivers(&self, number: u32) -> u8 {
        self.taken.get(number as usize).map_or(u8::MAX, |taken| taken.receivers)
    }
}

/// A message that may be delivered next, and what the link holds without it, and with two of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) message: u32,
    /// In the table of what its receiver does.
    pub(super) column: u32,
    pub(super) without: u32,
    pub(super) doubled: u32,
}

/// One link: what it has held so far, and what follows; 0 is nothing.
#[derive(Default)]
pub(super) struct Link {
    pub(super) known: Numbered<Box<[Held]>>,
    /// The same without the ticks, where the search finds it sooner.
    pub(super) flight: Vec<SmallVec<[Envelope; 2]>>,
    /// What may be delivered next, by the number of what the link holds.
    pub(super) next: Vec<SmallVec<[Next; 2]>>,
    /// What it holds after another message, by the number of that; [`BEYOND`] if too much.
    pub(super) push: Table,
}

/// What belongs to no process and no link: the faults so far, how long ago the last of them is, and
/// the links that are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Global {
    pub(super) spent: Faults,
    pub(super) cut: [Ids; MAX_SEARCHED],
    /// In a timed world, the ticks since the last fault, as far as they are asked for.
    pub(super) calm: u8,
}

/// All globals so far, and those that follow.
#[derive(Default)]
pub(super) struct Globals {
    pub(super) known: Numbered<Global>,
    /// By the kind of the fault, for which the constants and functions below have a column each.
    pub(super) after: Table,
}

impl Globals {
    pub(super) const CRASH: u32 = 0;
    pub(super) const RECOVERY: u32 = 1;
    pub(super) const LOSS: u32 = 2;
    pub(super) const DUPLICATE: u32 = 3;
    pub(super) const SUSPICION: u32 = 4;

    pub(super) fn cut(a: Id, b: Id, ways: Ways) -> u32 {
        let link = a.index() * MAX_SEARCHED + b.index();
        5 + 4 * link as u32 + if ways == Ways::One { 2 } else { 0 }
    }

    pub(super) fn heal(a: Id, b: Id, ways: Ways) -> u32 {
        Globals::cut(a, b, ways) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells that are far apart are kept, and do not make a piece of all between them.
    #[test]
    fn a_table_keeps_every_cell_and_stays_small() {
        let mut table = Table::default();
        let mut last = FxHashMap::default();
        for step in 0..30_000_u32 {
            let (row, column) = match step % 3 {
                0 => (step, step),
                1 => (step % 50, step / 7),
                _ => (step * 4_001 % 65_536, step * 7_919 % 65_536),
            };
            table.set(row, column, step);
            last.insert((row, column), step);
        }
        for (&(row, column), &value) in &last {
            assert_eq!(table.get(row, column), value, "row {row}, column {column}");
        }
        assert!(table.cells.len() <= MOST_CELLS, "{} cells", table.cells.len());
        assert!(!table.scattered.is_empty(), "everything is in one piece");
        assert_eq!(table.get(70_000, 3), UNKNOWN);
        assert_eq!(table.get(3, 70_000), UNKNOWN);
    }
}
