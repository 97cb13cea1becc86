//! Links on which messages may be longer on their way than on others.

use super::links::Links;
use super::timed::{Delay, MAX_TICKS};
use super::{Missing, WorldError};
use crate::protocol::Id;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;
use std::str::FromStr;

/// The links of a timed world that are slower than the others, each in its direction, and how many
/// ticks a message may be on its way there. A time-out is to outlast the way there and back: that
/// bounds the sum of the two, and one of them may take most of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Slow(
    /// How many ticks.
    Links<u8>,
);

impl Slow {
    /// The set of no slow link: all are alike.
    pub const NONE: Slow = Slow(Links::NONE);

    /// Returns the slow links of both sets; of a link given twice, the ticks in `other`.
    #[must_use]
    pub fn and(mut self, other: Slow) -> Slow {
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

    /// Returns each slow link as [`Slow::from_str`] reads it.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        self.0.iter().map(|(a, b, ticks)| format!("{a}>{b}={ticks}")).collect()
    }
}

impl fmt::Debug for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.words()).finish()
    }
}

/// One link and its ticks: `1-2=5` is slow in both directions, `1>2=5` from 1 to 2 only.
impl FromStr for Slow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (link, ticks) = text.split_once('=').unwrap_or((text, ""));
        let link: Missing = link.parse()?;
        let ticks = ticks.trim().parse().ok().filter(|ticks| (1..=MAX_TICKS).contains(ticks));
        let ticks = ticks.ok_or_else(|| {
            format!("give a link and its ticks, 1 to {MAX_TICKS}, such as 1-2=5, or 1>2=5")
        })?;
        let mut slow = Slow::NONE;
        link.links().for_each(|(from, to)| slow.0.put(from, to, ticks));
        Ok(slow)
    }
}

impl Serialize for Slow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.words().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Slow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        words.iter().try_fold(Slow::NONE, |slow, word| {
            word.parse().map(|one| slow.and(one)).map_err(D::Error::custom)
        })
    }
}
