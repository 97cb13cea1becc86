//! The scenario of a timed world: how long a message, its processing and each wait may take, in
//! ticks. What they mean is in [the clock](super::clock).

use super::{Drift, Slow};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// The longest duration, in ticks.
pub const MAX_TICKS: u8 = 100;

/// The times of a timed world: how long everything takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// The delay, `Tm`: how long a message may be on its way.
    pub delay: Delay,
    /// The links on which a message may be longer on its way.
    #[serde(default, skip_serializing_if = "Slow::is_none")]
    pub slow: Slow,
    /// The processing time, `Tp`: how long a process may take before what it sends in answer to a
    /// message leaves.
    #[serde(default)]
    pub processing: u8,
    /// The drift: how far processes' clocks run from the right speed.
    #[serde(default, skip_serializing_if = "Drift::is_none")]
    pub drift: Drift,
    /// The durations of the protocol's timers.
    pub durations: Durations,
    /// The time after the last fault within which every process should agree, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<u8>,
}

impl Timed {
    /// Returns the times in which messages and timers take this long, and nothing else takes any
    /// time: no link is slower, no clock drifts, and nothing is asked of how soon processes agree.
    #[must_use]
    pub fn of(delay: Delay, durations: Durations) -> Timed {
        let (slow, drift) = (Slow::NONE, Drift::NONE);
        Timed { delay, slow, processing: 0, drift, durations, within: None }
    }
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.delay {
            Delay::AtMost(ticks) => write!(f, "Tm {ticks}, Tp {}", self.processing)?,
            Delay::Unbounded => f.write_str("Tm unbounded")?,
        }
        for word in self.slow.words() {
            write!(f, ", Tm {word}")?;
        }
        if !self.drift.is_none() {
            write!(f, ", drift {}", self.drift)?;
        }
        for (name, ticks) in self.durations.iter() {
            write!(f, ", {name} {ticks}")?;
        }
        self.within.map_or(Ok(()), |ticks| write!(f, ", within {ticks}"))
    }
}

/// The longest time that a message may be on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Spelled", try_from = "Spelled")]
pub enum Delay {
    /// The message takes at most this number of ticks.
    AtMost(u8),
    /// The message arrives in the end, if it is not lost.
    Unbounded,
}

/// How a delay stands in JSON: a number, or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelled {
    Ticks(u8),
    Word(String),
}

const UNBOUNDED: &str = "unbounded";

impl From<Delay> for Spelled {
    fn from(delay: Delay) -> Spelled {
        match delay {
            Delay::AtMost(ticks) => Spelled::Ticks(ticks),
            Delay::Unbounded => Spelled::Word(UNBOUNDED.to_owned()),
        }
    }
}

impl TryFrom<Spelled> for Delay {
    type Error = String;

    fn try_from(spelled: Spelled) -> Result<Delay, String> {
        match spelled {
            Spelled::Ticks(ticks) => Ok(Delay::AtMost(ticks)),
            Spelled::Word(word) if word == UNBOUNDED => Ok(Delay::Unbounded),
            Spelled::Word(word) => {
                Err(format!("a delay is a number of ticks or \"{UNBOUNDED}\", not {word:?}"))
            }
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::AtMost(ticks) => ticks.fmt(f),
            Delay::Unbounded => f.write_str(UNBOUNDED),
        }
    }
}

/// How many durations there can be, and how long their names.
const MOST: usize = 8;
const LONGEST_NAME: usize = 24;

/// The ticks of each duration, by name, sorted.
///
/// The names are stored in place: scenarios are copied often, and know no protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Durations {
    names: [[u8; LONGEST_NAME]; MOST],
    ticks: [u8; MOST],
    count: u8,
}

impl Durations {
    /// The set of no duration.
    pub const NONE: Durations =
        Durations { names: [[0; LONGEST_NAME]; MOST], ticks: [0; MOST], count: 0 };

    /// Returns these durations; of a name given twice, the last.
    ///
    /// # Errors
    /// If there are too many, or a name is too long: no protocol has such durations.
    pub fn of<'a>(all: impl IntoIterator<Item = (&'a str, u8)>) -> Result<Durations, String> {
        let sorted: BTreeMap<&str, u8> = all.into_iter().collect();
        if sorted.len() > MOST {
            return Err(format!("{} durations: a protocol has at most {MOST}", sorted.len()));
        }
        let mut durations = Durations::NONE;
        for (at, (name, ticks)) in sorted.into_iter().enumerate() {
            let place = durations.names[at].get_mut(..name.len());
            let Some(place) = place.filter(|_| !name.contains('\0')) else {
                return Err(format!("no duration is called {name:?}"));
            };
            place.copy_from_slice(name.as_bytes());
            durations.ticks[at] = ticks;
            durations.count += 1;
        }
        Ok(durations)
    }

    /// Returns the same durations, with one more or another one.
    ///
    /// # Errors
    /// As [`Durations::of`].
    pub fn with(&self, name: &str, ticks: u8) -> Result<Durations, String> {
        Durations::of(self.iter().chain([(name, ticks)]))
    }

    /// Returns the durations with their names, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u8)> {
        let all = self.names.iter().zip(self.ticks).take(usize::from(self.count));
        all.map(|(name, ticks)| {
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(LONGEST_NAME);
            (std::str::from_utf8(&name[..end]).unwrap_or_default(), ticks)
        })
    }

    /// Returns the duration of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u8> {
        self.iter().find(|&(known, _)| known == name).map(|(_, ticks)| ticks)
    }
}

impl fmt::Debug for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Durations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Durations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<String, u8>::deserialize(deserializer)?;
        let all = all.iter().map(|(name, ticks)| (name.as_str(), *ticks));
        Durations::of(all).map_err(serde::de::Error::custom)
    }
}
