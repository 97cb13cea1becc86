//! Process ids, and sets of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU8;
use std::str::FromStr;

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

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Id, String> {
        let number = text.parse().ok().filter(|&number: &u8| usize::from(number) <= MAX_NODES);
        number.and_then(NonZeroU8::new).map(Id).ok_or_else(|| format!("an id is 1 to {MAX_NODES}"))
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

/// A set of processes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ids(u8);

// A set has one bit for each process that a world can have.
const _: () = assert!(MAX_NODES <= u8::BITS as usize);

impl Ids {
    /// No process.
    pub const NONE: Ids = Ids(0);

    /// Whether no process is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many processes are in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether `id` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, id: Id) -> bool {
        self.0 & 1 << id.index() != 0
    }

    /// The set with `id`.
    #[inline]
    #[must_use]
    pub const fn with(self, id: Id) -> Ids {
        Ids(self.0 | 1 << id.index())
    }

    /// The set without `id`.
    #[inline]
    #[must_use]
    pub const fn without(self, id: Id) -> Ids {
        Ids(self.0 & !(1 << id.index()))
    }

    /// Puts `id` into the set, or takes it out.
    #[inline]
    pub fn set(&mut self, id: Id, inside: bool) {
        *self = if inside { self.with(id) } else { self.without(id) };
    }

    /// The processes in one of the two.
    #[must_use]
    pub const fn and(self, other: Ids) -> Ids {
        Ids(self.0 | other.0)
    }

    /// The highest process in the set below `id`.
    #[must_use]
    pub fn below(self, id: Id) -> Option<Id> {
        self.iter().rev().find(|&other| other < id)
    }

    /// The processes in the set, ascending.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Id> + Clone {
        Id::all(MAX_NODES).filter(move |&id| self.contains(id))
    }
}

impl FromIterator<Id> for Ids {
    fn from_iter<I: IntoIterator<Item = Id>>(ids: I) -> Ids {
        ids.into_iter().fold(Ids::NONE, Ids::with)
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Ids {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::<Id>::deserialize(deserializer)?;
        match ids.iter().find(|id| id.index() >= MAX_NODES) {
            Some(id) => {
                Err(serde::de::Error::custom(format!("ids are 1 to {MAX_NODES}, not {id}")))
            }
            None => Ok(ids.into_iter().collect()),
        }
    }
}
