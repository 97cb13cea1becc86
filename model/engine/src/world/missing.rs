//! Links that a world does not have.

use super::WorldError;
use super::links::Links;
use super::places::Places;
use crate::protocol::{Id, Ids, MAX_NODES};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The links that are missing for good, in one direction or both: what is sent there is lost. Not a
/// fault, but how the network is built; such a link is neither cut nor healed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Missing(Links<()>);

impl Missing {
    /// The set of no missing link: every process hears every other.
    pub const NONE: Missing = Missing(Links::NONE);

    /// Returns the links that are missing here or in `other`.
    #[must_use]
    pub fn and(mut self, other: Missing) -> Missing {
        self.0.put_all(&other.0);
        self
    }

    /// Returns whether no link is missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether `to` does not hear `from`.
    #[must_use]
    pub fn from_to(&self, from: Id, to: Id) -> bool {
        self.0.get(from, to).is_some()
    }

    /// For each process of a world, those that do not hear it.
    pub(super) fn places(&self, processes: usize) -> Result<Places<Ids>, WorldError> {
        self.0.fit("without")?;
        let foreign = self.named().into_iter().find(|&(a, _, b)| a.max(b).index() >= processes);
        if let Some((a, arrow, b)) = foreign {
            let (flag, link) = ("without", format!("{a}{arrow}{b}"));
            return Err(WorldError::NoSuchLink { flag, link, processes });
        }
        let mut unreachable = Places::<Ids>::of(processes);
        self.0.iter().for_each(|(from, to, ())| unreachable[from.index()].set(to, true));
        Ok(unreachable)
    }

    /// Each missing link: `-` for both directions, `>` for one.
    fn named(&self) -> Vec<(Id, char, Id)> {
        let named = self.0.iter().filter_map(|(a, b, ())| match self.from_to(b, a) {
            true if a < b => Some((a, '-', b)),
            true => None,
            false => Some((a, '>', b)),
        });
        named.collect()
    }

    /// Returns each missing link as [`Missing::from_str`] reads it.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        self.named().into_iter().map(|(a, arrow, b)| format!("{a}{arrow}{b}")).collect()
    }

    /// Each missing link, its sender and its receiver.
    pub(super) fn links(&self) -> impl Iterator<Item = (Id, Id)> + '_ {
        self.0.iter().map(|(from, to, ())| (from, to))
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(", "))
    }
}

/// One link: `1-2` is missing in both directions, `1>2` from 1 to 2 only.
impl FromStr for Missing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "give two ids, such as 1-2, or 1>2 for one direction".to_owned();
        let (a, both, b) = match (text.split_once('-'), text.split_once('>')) {
            (Some((a, b)), None) => (a, true, b),
            (None, Some((a, b))) => (a, false, b),
            _ => return Err(wrong()),
        };
        let id = |text: &str| match text.trim().parse::<usize>() {
            Ok(number) if (1..=MAX_NODES).contains(&number) => Ok(Id::at(number - 1)),
            Ok(_) => Err(format!("ids are 1 to {MAX_NODES}")),
            Err(_) => Err(wrong()),
        };
        let (a, b) = (id(a)?, id(b)?);
        if a == b {
            return Err("a process needs no link to itself; give two different ids".to_owned());
        }
        let mut missing = Missing::NONE;
        missing.0.put(a, b, ());
        if both {
            missing.0.put(b, a, ());
        }
        Ok(missing)
    }
}

impl Serialize for Missing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.words().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Missing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        words.iter().try_fold(Missing::NONE, |missing, word| {
            word.parse().map(|one| missing.and(one)).map_err(D::Error::custom)
        })
    }
}
