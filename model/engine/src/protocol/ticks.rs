//! The ticks that durations take in a timed world.

use super::{Id, MAX_SEARCHED, split_ids};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

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
