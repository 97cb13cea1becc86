//! The entries of the directory, as the store has them and as a reply tells them, and names for the
//! numbers of entries and sessions.

use super::store::Watched;
use super::{Directory, Message, Process, Queue};
use bellwether_engine::protocol::{Everything, Id, MAX_SEARCHED};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The number of a session. No session has that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Session(pub(super) u8);

/// The number of an entry, which the store gives it: it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number(pub(super) u8);

/// An entry: it lasts as long as the session in which it was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// Its place in the queue.
    pub number: Number,
    /// Whose it is.
    pub client: Id,
    /// In which session it was created: what tells a client its own entry.
    pub session: Session,
}

/// The most entries, and the most sessions, that there can be; a search ends before.
pub(super) const MOST: usize = 8;

/// Entries by number, the smallest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entries([Option<Entry>; MOST]);

impl Entries {
    /// The entries, the smallest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.0.iter().flatten()
    }

    /// The same, to be changed; their order must stay.
    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.0.iter_mut().flatten()
    }

    /// The smallest.
    #[must_use]
    pub fn first(&self) -> Option<Entry> {
        self.0[0]
    }

    /// Whether an entry of this number is there.
    pub(super) fn contains(&self, number: Number) -> bool {
        self.iter().any(|entry| entry.number == number)
    }

    /// One more, larger than all; nothing if there is no room.
    pub(super) fn push(&mut self, entry: Entry) {
        if let Some(place) = self.0.iter_mut().find(|place| place.is_none()) {
            *place = Some(entry);
        }
    }

    /// Only those that may stay.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(&Entry) -> bool) {
        let mut left = Entries::default();
        self.iter().filter(|entry| stays(entry)).for_each(|&entry| left.push(entry));
        *self = left;
    }
}

/// `1 of 3#2`: number 1, of process 3 in session 2.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}#{}", self.number.0, self.client, self.session.0)
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("no entry: {text:?}; one looks like '1 of 3#2'");
        let (number, owner) = text.split_once(" of ").ok_or_else(wrong)?;
        let (client, session) = owner.split_once('#').ok_or_else(wrong)?;
        let parse = |text: &str| text.parse::<u8>().map_err(|_| wrong());
        let client = usize::from(parse(client)?);
        if !(1..=MAX_SEARCHED).contains(&client) {
            return Err(wrong());
        }
        let client = Id::at(client - 1);
        Ok(Entry { number: Number(parse(number)?), client, session: Session(parse(session)?) })
    }
}

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words: Vec<String> = self.iter().map(ToString::to_string).collect();
        serializer.serialize_str(&words.join(", "))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let words: Vec<&str> = text.split(", ").filter(|word| !word.is_empty()).collect();
        if words.len() > MOST {
            return Err(D::Error::custom(format!("more than {MOST} entries")));
        }
        let mut entries = Entries::default();
        for word in words {
            entries.push(word.parse().map_err(D::Error::custom)?);
        }
        Ok(entries)
    }
}

/// The numbers that occur, one bit each.
#[derive(Clone, Copy, Default)]
struct Known(u128);

impl Known {
    fn note(&mut self, number: u8) {
        self.0 |= 1 << number;
    }

    /// The number's place among those that occur, counted from 1.
    fn rank(self, number: u8) -> u8 {
        let below = self.0 & ((1 << number) - 1);
        u8::try_from(below.count_ones() + 1).expect("as many as there are bits")
    }
}

/// Gives sessions and entries the smallest numbers in the same order: the numbers only grow, and
/// nothing but their order counts. A directory that counts from the beginning again gives numbers
/// that have been: there entries keep theirs.
pub(super) fn canonicalize(rules: &Queue, mut all: Everything<'_, Queue>) {
    let (mut sessions, mut numbers) = (Known::default(), Known::default());
    each(&mut all, &mut |session| sessions.note(session.0), &mut |number| numbers.note(number.0));
    let entries_too = rules.directory == Directory::Stays;
    each(&mut all, &mut |session| session.0 = sessions.rank(session.0), &mut |number| {
        if entries_too {
            number.0 = numbers.rank(number.0);
        }
    });
}

/// Visits every number. The next ones are larger than all others, and stay so.
fn each(
    all: &mut Everything<'_, Queue>,
    on_session: &mut impl FnMut(&mut Session),
    on_number: &mut impl FnMut(&mut Number),
) {
    for process in &mut *all.processes {
        match process {
            Process::Client(client) => {
                client.session.iter_mut().for_each(&mut *on_session);
                client.entry.iter_mut().for_each(&mut *on_number);
            }
            Process::Store(store) => {
                on_session(&mut store.next_session);
                on_number(&mut store.next_entry);
                for entry in store.entries.iter_mut() {
                    on_session(&mut entry.session);
                    on_number(&mut entry.number);
                }
                for open in store.sessions_mut() {
                    on_session(&mut open.session);
                    if let Some(Watched::Entry(number)) = &mut open.watch {
                        on_number(number);
                    }
                }
            }
        }
    }
    for envelope in &mut *all.messages {
        match &mut envelope.message {
            Message::Create(session)
            | Message::Read(session)
            | Message::ReadAndWatch(session)
            | Message::Ping(session)
            | Message::Opened(session)
            | Message::Expired(session) => on_session(session),
            Message::Watch { session, entry } => {
                on_session(session);
                on_number(entry);
            }
            Message::Created(number) => on_number(number),
            Message::Children(entries) => {
                for entry in entries.iter_mut() {
                    on_session(&mut entry.session);
                    on_number(&mut entry.number);
                }
            }
            Message::Open
            | Message::Watching
            | Message::Gone
            | Message::Changed
            | Message::Pong => {}
        }
    }
}
