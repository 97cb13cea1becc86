//! The scenario of a timed world: how long a message, its processing and each wait may take, in
//! ticks, and how far the clocks of processes may run from the right speed. What they mean is in
//! [the clock](super::clock).

use super::SlowLinks;
use crate::protocol::{Id, MAX_SEARCHED, split_ids};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The longest duration, in ticks.
pub const MAX_TICKS: u8 = 100;

/// The times of a timed world: how long everything takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// The delay, `Tm`: how long a message may be on its way.
    pub delay: Delay,
    /// The links on which a message may be longer on its way.
    #[serde(default, skip_serializing_if = "SlowLinks::is_none")]
    pub slow: SlowLinks,
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
        let (slow, drift) = (SlowLinks::NONE, Drift::NONE);
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
        for word in self.durations.words() {
            write!(f, ", {word}")?;
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

/// The ticks of each duration, by name, sorted; and those that single processes have of their own.
///
/// The names are stored in place: scenarios are copied often, and know no protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Durations {
    names: [[u8; LONGEST_NAME]; MOST],
    /// None if only processes of their own have it.
    ticks: [Option<u8>; MOST],
    /// Of each duration, that of each process.
    own: [[Option<u8>; MAX_SEARCHED]; MOST],
    count: u8,
}

impl Durations {
    /// The set of no duration.
    pub const NONE: Durations = Durations {
        names: [[0; LONGEST_NAME]; MOST],
        ticks: [None; MOST],
        own: [[None; MAX_SEARCHED]; MOST],
        count: 0,
    };

    /// Returns these durations; of a name given twice, the last.
    ///
    /// # Errors
    /// If there are too many, or a name is too long: no protocol has such durations.
    pub fn of<'a>(all: impl IntoIterator<Item = (&'a str, u8)>) -> Result<Durations, String> {
        all.into_iter().try_fold(Durations::NONE, |all, (name, ticks)| all.with(name, ticks))
    }

    /// Returns the same durations, with one more or another one.
    ///
    /// # Errors
    /// As [`Durations::of`].
    pub fn with(mut self, name: &str, ticks: u8) -> Result<Durations, String> {
        let at = self.place_for(name)?;
        self.ticks[at] = Some(ticks);
        Ok(self)
    }

    /// Returns the same durations, with one of process `id` alone, whatever the others have.
    ///
    /// # Errors
    /// As [`Durations::of`], and if a search takes no process with this id.
    pub fn with_own(mut self, name: &str, id: Id, ticks: u8) -> Result<Durations, String> {
        if id.index() >= MAX_SEARCHED {
            return Err(format!(
                "--{name} {id}={ticks}: only the processes 1 to {MAX_SEARCHED} can have their own"
            ));
        }
        let at = self.place_for(name)?;
        self.own[at][id.index()] = Some(ticks);
        Ok(self)
    }

    /// The place of a duration, which may be new.
    fn place_for(&mut self, name: &str) -> Result<usize, String> {
        let count = usize::from(self.count);
        let before = self.known().take_while(|&(_, known)| known < name).count();
        if self.known().any(|(_, known)| known == name) {
            return Ok(before);
        }
        if count == MOST {
            return Err(format!("{} durations: a protocol has at most {MOST}", count + 1));
        }
        let mut bytes = [0; LONGEST_NAME];
        let place = bytes.get_mut(..name.len()).filter(|_| !name.contains('\0'));
        place
            .ok_or_else(|| format!("no duration is called {name:?}"))?
            .copy_from_slice(name.as_bytes());
        self.names[before..=count].rotate_right(1);
        self.ticks[before..=count].rotate_right(1);
        self.own[before..=count].rotate_right(1);
        self.names[before] = bytes;
        self.count += 1;
        Ok(before)
    }

    /// The places and the names of the durations, sorted by name.
    fn known(&self) -> impl Iterator<Item = (usize, &str)> {
        let all = self.names.iter().take(usize::from(self.count)).enumerate();
        all.map(|(at, name)| {
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(LONGEST_NAME);
            (at, std::str::from_utf8(&name[..end]).unwrap_or_default())
        })
    }

    /// Returns the durations with their names, sorted by name; not those of single processes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u8)> {
        self.known().filter_map(move |(at, name)| Some((name, self.ticks[at]?)))
    }

    /// Returns the durations that single processes have of their own, with their names, sorted by
    /// name and process.
    pub fn own(&self) -> impl Iterator<Item = (&str, Id, u8)> {
        self.known().flat_map(move |(at, name)| {
            let own = self.own[at].iter().enumerate();
            own.filter_map(move |(process, ticks)| Some((name, Id::at(process), (*ticks)?)))
        })
    }

    /// Returns each duration as it is given: `t-lease 8`, or `t-lease 3=8` of process 3 alone.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let usual = self.iter().map(|(name, ticks)| format!("{name} {ticks}"));
        usual.chain(self.own().map(|(name, id, ticks)| format!("{name} {id}={ticks}"))).collect()
    }

    /// Returns the duration of this name that processes have that have none of their own.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u8> {
        self.iter().find(|&(known, _)| known == name).map(|(_, ticks)| ticks)
    }

    /// Returns the duration of this name that process `id` has.
    #[must_use]
    pub fn of_process(&self, name: &str, id: Id) -> Option<u8> {
        let own = self.own().find(|&(known, whose, _)| (known, whose) == (name, id));
        own.map(|(_, _, ticks)| ticks).or_else(|| self.get(name))
    }
}

impl fmt::Debug for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.keys()).finish()
    }
}

/// The keys in JSON: `t-lease`, or `3:t-lease` of process 3 alone.
impl Durations {
    fn keys(&self) -> impl Iterator<Item = (String, u8)> {
        let usual = self.iter().map(|(name, ticks)| (name.to_owned(), ticks));
        usual.chain(self.own().map(|(name, id, ticks)| (format!("{id}:{name}"), ticks)))
    }
}

impl Serialize for Durations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.keys())
    }
}

impl<'de> Deserialize<'de> for Durations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<String, u8>::deserialize(deserializer)?;
        let read = |durations: Durations, (key, ticks): (&String, &u8)| {
            let (ids, name) = split_ids(key)?;
            match *ids {
                [] => durations.with(name, *ticks),
                _ => ids.iter().try_fold(durations, |all, &id| all.with_own(name, id, *ticks)),
            }
        };
        all.iter().try_fold(Durations::NONE, read).map_err(serde::de::Error::custom)
    }
}

/// The largest rate error ρ of a clock: while d ticks pass on a process's clock, between d/(1+ρ)
/// and d/(1−ρ) have passed in the world. A ratio of whole numbers in lowest terms, at most 1/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Drift {
    over: u16,
    under: u16,
}

impl Drift {
    /// The drift of perfect clocks.
    pub const NONE: Drift = Drift { over: 0, under: 1 };

    /// Returns the ratio `over` / `under`.
    ///
    /// # Errors
    /// If it is no ratio, or larger than 1/2.
    pub fn of(over: u16, under: u16) -> Result<Drift, String> {
        if under == 0 || u32::from(over) * 2 > u32::from(under) {
            return Err(format!("{over}/{under}: a clock's drift is 0 to 1/2"));
        }
        let common = greatest_common_divisor(over, under);
        Ok(Drift { over: over / common, under: under / common })
    }

    /// Returns whether clocks are perfect.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Drift::NONE
    }

    /// Returns the earliest and the latest tick at which `ticks` may have passed on a process's
    /// clock: rounded outwards, but something that takes time at all takes at least one tick, or a
    /// heartbeat could stop time.
    #[must_use]
    pub fn window(self, ticks: u32) -> (u32, u32) {
        let (over, under) = (u32::from(self.over), u32::from(self.under));
        let earliest = ticks * under / (under + over);
        let latest = (ticks * under).div_ceil(under - over);
        (earliest.max(ticks.min(1)), latest)
    }
}

fn greatest_common_divisor(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Default for Drift {
    fn default() -> Self {
        Drift::NONE
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() { f.write_str("0") } else { write!(f, "{}/{}", self.over, self.under) }
    }
}

/// A ratio such as `1/10`, a percentage such as `10%`, or `0`.
impl FromStr for Drift {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |_| "give a ratio such as 1/10, a percentage such as 10%, or 0".to_owned();
        let whole = |text: &str| text.trim().parse::<u16>().map_err(wrong);
        if let Some(percent) = text.strip_suffix('%') {
            return Drift::of(whole(percent)?, 100);
        }
        match text.split_once('/') {
            Some((over, under)) => Drift::of(whole(over)?, whole(under)?),
            None => Drift::of(whole(text)?, 1),
        }
    }
}

impl From<Drift> for String {
    fn from(drift: Drift) -> String {
        drift.to_string()
    }
}

impl TryFrom<String> for Drift {
    type Error = String;

    fn try_from(text: String) -> Result<Drift, String> {
        text.parse()
    }
}
