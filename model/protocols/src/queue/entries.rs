//! The entries of the directory, as the store has them and as a reply tells them, and names for the
//! numbers of entries and sessions.

use super::store::Watched;
use super::{Directory, Message, Process, Queue};
use bellwether_engine::protocol::{Everything, Id, MAX_SEARCHED, event_type};
use bellwether_engine::terms;
use std::fmt;

/// The number of a session. No session has that of another.
#[event_type]
pub struct Session(pub(super) u8);

/// The number of an entry, which the store gives it: it grows.
#[event_type]
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

/// Entries by number, the smallest first. Written as in `1 of 3#2, 2 of 1#1`.
#[event_type]
#[derive(Default)]
#[serde(into = "String", try_from = "String")]
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

impl Entry {
    fn read(text: &str) -> Option<Entry> {
        let (number, owner) = text.split_once(" of ")?;
        let (client, session) = owner.split_once('#')?;
        let client: Id = client.parse().ok().filter(|id: &Id| id.index() < MAX_SEARCHED)?;
        let (number, session) = (Number(number.parse().ok()?), Session(session.parse().ok()?));
        Some(Entry { number, client, session })
    }
}

impl From<Entries> for String {
    fn from(entries: Entries) -> String {
        entries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl TryFrom<String> for Entries {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let words: Vec<&str> = text.split(", ").filter(|word| !word.is_empty()).collect();
        if words.len() > MOST {
            return Err(format!("more than {MOST} entries"));
        }
        let mut entries = Entries::default();
        for word in words {
            let wrong = || format!("no entry: {word:?}; one looks like '1 of 3#2'");
            entries.push(Entry::read(word).ok_or_else(wrong)?);
        }
        Ok(entries)
    }
}

/// Gives sessions and entries the smallest numbers in the same order: the numbers only grow, and
/// nothing but their order counts. A directory that counts from the beginning again gives numbers
/// that have been: there entries keep theirs.
pub(super) fn canonicalize(rules: &Queue, mut all: Everything<'_, Queue>) {
    terms::rank(|show| each(&mut all, show, &mut |_| {}));
    if rules.directory == Directory::Stays {
        terms::rank(|show| each(&mut all, &mut |_| {}, show));
    }
}

/// Visits every number. The next ones are larger than all others, and stay so.
fn each(
    all: &mut Everything<'_, Queue>,
    on_session: &mut dyn FnMut(&mut u8),
    on_number: &mut dyn FnMut(&mut u8),
) {
    for process in &mut *all.processes {
        match process {
            Process::Client(client) => {
                client.session.iter_mut().for_each(|session| on_session(&mut session.0));
                client.entry.iter_mut().for_each(|number| on_number(&mut number.0));
            }
            Process::Store(store) => {
                on_session(&mut store.next_session.0);
                on_number(&mut store.next_entry.0);
                for entry in store.entries.iter_mut() {
                    on_session(&mut entry.session.0);
                    on_number(&mut entry.number.0);
                }
                for open in store.sessions_mut() {
                    on_session(&mut open.session.0);
                    if let Some(Watched::Entry(number)) = &mut open.watch {
                        on_number(&mut number.0);
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
            | Message::Expired(session) => on_session(&mut session.0),
            Message::Watch { session, entry } => {
                on_session(&mut session.0);
                on_number(&mut entry.0);
            }
            Message::Created(number) => on_number(&mut number.0),
            Message::Children(entries) => {
                for entry in entries.iter_mut() {
                    on_session(&mut entry.session.0);
                    on_number(&mut entry.number.0);
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
