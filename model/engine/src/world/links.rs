//! Links of which something is said: those that a world does not have, and those on which messages
//! may be longer on their way than on others.

use super::WorldError;
use super::delay::{Delay, MAX_TICKS};
use super::per_process::PerProcess;
use crate::protocol::{Id, Ids, MAX_NODES, MAX_SEARCHED};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Of how many links something can be said, each direction counted: of all links of a world that is
/// searched exhaustively.
const MOST: usize = MAX_SEARCHED * (MAX_SEARCHED - 1);

/// What is said of single links, each in its direction: from the first process to the second. A
/// scenario is copied, so there is room for so many and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Links<T> {
    /// In the order of senders and receivers, without gaps.
    known: [Option<(Id, Id, T)>; MOST],
    /// How many there was no room for.
    refused: u8,
}

impl<T: Copy> Default for Links<T> {
    fn default() -> Self {
        Links::NONE
    }
}

impl<T: Copy> Links<T> {
    /// Nothing is said of any.
    const NONE: Links<T> = Links { known: [None; MOST], refused: 0 };

    fn is_empty(&self) -> bool {
        self.known[0].is_none()
    }

    /// What is said of this link.
    fn get(&self, from: Id, to: Id) -> Option<T> {
        self.iter().find(|&(a, b, _)| (a, b) == (from, to)).map(|(_, _, what)| what)
    }

    /// Says this of a link, instead of what was said before.
    fn put(&mut self, from: Id, to: Id, what: T) {
        let before = self.iter().take_while(|&(a, b, _)| (a, b) < (from, to)).count();
        let count = self.iter().count();
        if self.get(from, to).is_some() {
            self.known[before] = Some((from, to, what));
        } else if count == MOST {
            self.refused = self.refused.saturating_add(1);
        } else {
            self.known[before..=count].rotate_right(1);
            self.known[before] = Some((from, to, what));
        }
    }

    /// Says what `others` say as well.
    fn put_all(&mut self, others: &Links<T>) {
        others.iter().for_each(|(from, to, what)| self.put(from, to, what));
        self.refused = self.refused.saturating_add(others.refused);
    }

    /// Each link and what is said of it, in the order of senders and receivers.
    #[inline]
    fn iter(&self) -> impl Iterator<Item = (Id, Id, T)> + '_ {
        self.known.iter().map_while(|link| *link)
    }

    /// Refuses more than there is room for.
    fn fit(&self, flag: &'static str) -> Result<(), WorldError> {
        match usize::from(self.refused) {
            0 => Ok(()),
            more => Err(WorldError::TooManyLinks { flag, links: MOST + more, most: MOST }),
        }
    }
}

/// The links that are missing for good, in one direction or both: what is sent there is lost. Not a
/// fault, but how the network is built; such a link is neither cut nor healed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AbsentLinks(Links<()>);

impl AbsentLinks {
    /// The set of no missing link: every process hears every other.
    pub const NONE: AbsentLinks = AbsentLinks(Links::NONE);

    /// Returns the links that are missing here or in `other`.
    #[must_use]
    pub fn and(mut self, other: AbsentLinks) -> AbsentLinks {
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
    pub(super) fn places(&self, processes: usize) -> Result<PerProcess<Ids>, WorldError> {
        self.0.fit("without")?;
        let foreign = self.named().into_iter().find(|&(a, _, b)| a.max(b).index() >= processes);
        if let Some((a, arrow, b)) = foreign {
            let (flag, link) = ("without", format!("{a}{arrow}{b}"));
            return Err(WorldError::NoSuchLink { flag, link, processes });
        }
        let mut unreachable = PerProcess::<Ids>::of(processes);
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

    /// Returns each missing link as [`AbsentLinks::from_str`] reads it.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        self.named().into_iter().map(|(a, arrow, b)| format!("{a}{arrow}{b}")).collect()
    }

    /// Each missing link, its sender and its receiver.
    fn links(&self) -> impl Iterator<Item = (Id, Id)> + '_ {
        self.0.iter().map(|(from, to, ())| (from, to))
    }
}

impl fmt::Display for AbsentLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(", "))
    }
}

/// One link: `1-2` is missing in both directions, `1>2` from 1 to 2 only.
impl FromStr for AbsentLinks {
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
        let mut missing = AbsentLinks::NONE;
        missing.0.put(a, b, ());
        if both {
            missing.0.put(b, a, ());
        }
        Ok(missing)
    }
}

impl Serialize for AbsentLinks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.words().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AbsentLinks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        words.iter().try_fold(AbsentLinks::NONE, |missing, word| {
            word.parse().map(|one| missing.and(one)).map_err(D::Error::custom)
        })
    }
}

/// The links of a timed world that are slower than the others, each in its direction, and how many
/// ticks a message may be on its way there. A time-out is to outlast the way there and back: that
/// bounds the sum of the two, and one of them may take most of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SlowLinks(
    /// How many ticks.
    Links<u8>,
);

impl SlowLinks {
    /// The set of no slow link: all are alike.
    pub const NONE: SlowLinks = SlowLinks(Links::NONE);

    /// Returns the slow links of both sets; of a link given twice, the ticks in `other`.
    #[must_use]
    pub fn and(mut self, other: SlowLinks) -> SlowLinks {
        self.0.put_all(&other.0);
        self
    }

    /// Returns whether all links are alike.
    // serde asks by reference.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the largest number of ticks that a message may be on its way, if the link is slow.
    #[must_use]
    pub fn ticks(&self, from: Id, to: Id) -> Option<u8> {
        self.0.get(from, to)
    }

    /// Refuses links of processes that a world of `processes` does not have, and those that are no
    /// slower than the others.
    pub(super) fn check(&self, delay: Delay, processes: usize) -> Result<(), WorldError> {
        self.0.fit("slow")?;
        for (a, b, ticks) in self.0.iter() {
            if a.max(b).index() >= processes {
                let (flag, link) = ("slow", format!("{a}>{b}"));
                return Err(WorldError::NoSuchLink { flag, link, processes });
            }
            if !matches!(delay, Delay::AtMost(usual) if usual < ticks) {
                return Err(WorldError::NotSlow { link: format!("{a}>{b}={ticks}"), delay });
            }
        }
        Ok(())
    }

    /// Returns each slow link as [`SlowLinks::from_str`] reads it.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        self.0.iter().map(|(a, b, ticks)| format!("{a}>{b}={ticks}")).collect()
    }
}

impl fmt::Debug for SlowLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.words()).finish()
    }
}

/// One link and its ticks: `1-2=5` is slow in both directions, `1>2=5` from 1 to 2 only.
impl FromStr for SlowLinks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (link, ticks) = text.split_once('=').unwrap_or((text, ""));
        let link: AbsentLinks = link.parse()?;
        let ticks = ticks.trim().parse().ok().filter(|ticks| (1..=MAX_TICKS).contains(ticks));
        let ticks = ticks.ok_or_else(|| {
            format!("give a link and its ticks, 1 to {MAX_TICKS}, such as 1-2=5, or 1>2=5")
        })?;
        let mut slow = SlowLinks::NONE;
        link.links().for_each(|(from, to)| slow.0.put(from, to, ticks));
        Ok(slow)
    }
}

impl Serialize for SlowLinks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.words().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SlowLinks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        words.iter().try_fold(SlowLinks::NONE, |slow, word| {
            word.parse().map(|one| slow.and(one)).map_err(D::Error::custom)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// It is a map, as long as there is room.
        #[test]
        fn the_last_that_is_said_of_a_link_counts(
            said in proptest::collection::vec((0..MAX_NODES, 0..4_usize, any::<u8>()), 0..60)
        ) {
            let (mut links, mut map, mut refused) = (Links::NONE, BTreeMap::new(), 0);
            for (from, to, what) in said {
                let (from, to) = (Id::at(from), Id::at(to));
                links.put(from, to, what);
                if map.len() < MOST || map.contains_key(&(from, to)) {
                    map.insert((from, to), what);
                } else {
                    refused += 1;
                }
            }
            prop_assert!(links.iter().eq(map.iter().map(|(&(from, to), &what)| (from, to, what))));
            prop_assert_eq!(links.is_empty(), map.is_empty());
            let pairs = Id::all(MAX_NODES).flat_map(|from| Id::all(5).map(move |to| (from, to)));
            for (from, to) in pairs {
                prop_assert_eq!(links.get(from, to), map.get(&(from, to)).copied());
            }
            let fits = if refused == 0 {
                Ok(())
            } else {
                Err(WorldError::TooManyLinks { flag: "slow", links: MOST + refused, most: MOST })
            };
            prop_assert_eq!(links.fit("slow"), fits);
        }
    }
}
