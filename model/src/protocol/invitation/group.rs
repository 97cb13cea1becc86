//! Group numbers, and sets of members.

use crate::protocol::Id;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A group number: who formed the group, and which of its groups this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Who formed it, and coordinates it.
    pub coordinator: Id,
    /// How many groups that process had formed then, this one included.
    pub number: u8,
}

/// `3.1` is the first group of 3.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.coordinator, self.number)
    }
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("a group is written like 3.1, not {text:?}");
        let (coordinator, number) = text.split_once('.').ok_or_else(wrong)?;
        let coordinator = id(coordinator).ok_or_else(wrong)?;
        Ok(Group { coordinator, number: number.parse().map_err(|_| wrong())? })
    }
}

impl Serialize for Group {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A set of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Members(u8);

impl Members {
    /// Nobody.
    pub const NONE: Members = Members(0);

    /// Whether nobody is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Members::NONE
    }

    /// Whether `id` is in the set.
    #[must_use]
    pub fn contains(self, id: Id) -> bool {
        self.0 & (1 << id.index()) != 0
    }

    /// The set with `id`.
    #[must_use]
    pub fn with(self, id: Id) -> Members {
        Members(self.0 | 1 << id.index())
    }

    /// The set without `id`.
    #[must_use]
    pub fn without(self, id: Id) -> Members {
        Members(self.0 & !(1 << id.index()))
    }

    /// Whoever is in one of the two.
    #[must_use]
    pub fn and(self, other: Members) -> Members {
        Members(self.0 | other.0)
    }

    /// Everybody in the set, ascending.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Id> {
        Id::all(crate::protocol::MAX_NODES).filter(move |&id| self.contains(id))
    }
}

impl FromIterator<Id> for Members {
    fn from_iter<I: IntoIterator<Item = Id>>(ids: I) -> Self {
        ids.into_iter().fold(Members::NONE, Members::with)
    }
}

/// `1+3` are 1 and 3.
impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.iter().map(|id| id.to_string()).collect();
        f.write_str(&ids.join("+"))
    }
}

impl FromStr for Members {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ids = text.split('+').filter(|part| !part.is_empty());
        let known = ids.map(|part| id(part).ok_or_else(|| format!("{part:?} is no id")));
        known.collect()
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

fn id(text: &str) -> Option<Id> {
    let number = text.parse::<usize>().ok()?;
    (1..=crate::protocol::MAX_NODES).contains(&number).then(|| Id::at(number - 1))
}
