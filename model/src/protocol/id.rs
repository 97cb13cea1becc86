//! Process ids.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU8;

/// The largest number of processes in a world.
pub const MAX_NODES: usize = 7;

/// A process's id, 1 to [`MAX_NODES`]. A larger id has the higher priority.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(NonZeroU8);

impl Id {
    /// The id at position `index`, counted from 0.
    ///
    /// # Panics
    /// If `index` is not below 255.
    #[must_use]
    pub const fn at(index: usize) -> Id {
        assert!(index < u8::MAX as usize, "an id fits a byte");
        #[expect(clippy::cast_possible_truncation, reason = "asserted in the line above")]
        match NonZeroU8::new(index as u8 + 1) {
            Some(id) => Id(id),
            None => unreachable!(),
        }
    }

    /// The position of this id, counted from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The number that people see: 1 for the lowest id.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0.get()
    }

    /// All ids of a world of `nodes` processes, ascending.
    pub fn all(nodes: usize) -> impl DoubleEndedIterator<Item = Id> + Clone {
        (0..nodes).map(Id::at)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
