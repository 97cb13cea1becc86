//! The names of elections, and how each state gets names that do not depend on how many there have
//! been.

use super::{Counter, Incarnation, Message, Stoller};
use bellwether_engine::protocol::{Everything, Id, MAX_SEARCHED, WithinBounds};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;

/// The id of an election: whose it is, in which incarnation, and a counter. Processes compare
/// these for equality and look at the owner, nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Elid {
    /// Whose election it is.
    pub owner: Id,
    /// The owner's incarnation.
    pub incarnation: u8,
    /// How many elections the owner had begun before in that incarnation.
    pub counter: u8,
}

impl fmt::Display for Elid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.owner, self.incarnation, self.counter)
    }
}

impl fmt::Debug for Elid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Elid> for String {
    fn from(elid: Elid) -> String {
        elid.to_string()
    }
}

impl TryFrom<String> for Elid {
    type Error = String;

    fn try_from(text: String) -> Result<Elid, String> {
        let parts: Vec<&str> = text.split('.').collect();
        let read = |[owner, incarnation, counter]: [&str; 3]| {
            let (incarnation, counter) = (incarnation.parse().ok()?, counter.parse().ok()?);
            Some(Elid { owner: id(owner)?, incarnation, counter })
        };
        let wrong = || format!("an election is called OWNER.INCARNATION.COUNTER, not '{text}'");
        <[&str; 3]>::try_from(parts).ok().and_then(read).ok_or_else(wrong)
    }
}

/// The id of a process that a world can have which is searched exhaustively.
pub(super) fn id(text: &str) -> Option<Id> {
    text.parse().ok().filter(|id: &Id| id.index() < MAX_SEARCHED)
}

/// The elections that a process remembers or that a message carries, each once, in order.
type Names = SmallVec<[Elid; 16]>;

/// Incarnations and counters beyond this are not within the bounds of a search. Where elections are
/// canonicalized, so many of one owner are remembered or in flight.
const MOST: u8 = 6;

pub(super) const WITHIN: WithinBounds<Stoller> = WithinBounds {
    at_most: "6 starts and 6 elections of a process told apart",
    within: |_, process, stable| process.nextel <= MOST && *stable <= MOST,
};

/// Calls the elections of each owner 0, 1, 2, … of its incarnation 0, in the order in which they
/// were begun.
///
/// A process compares names for equality and looks at their owners, and its next name is one that
/// no process has. Other names do as well, as long as the owner's next one comes behind them. The
/// names of those that no process remembers, and that no message carries, are given away again.
///
/// Where incarnations are volatile or the counter stands, a new name may be an old one, and nothing
/// is renamed.
pub(super) fn canonicalize(rules: &Stoller, all: Everything<'_, Stoller>) {
    if (rules.incarnation, rules.counter) == (Incarnation::Stable, Counter::Counts) {
        call_in_order(all);
    }
}

fn call_in_order(all: Everything<'_, Stoller>) {
    let Everything { processes, stable, messages, .. } = all;
    let carried = messages.iter().filter_map(|envelope| Some(named(envelope.message)?.1));
    let mut names: Names = processes.iter().filter_map(|p| p.elid).chain(carried).collect();
    names.sort_unstable();
    names.dedup();
    let renamed = |elid: Elid| {
        let older = names.iter().filter(|known| known.owner == elid.owner && **known < elid);
        Elid { owner: elid.owner, incarnation: 0, counter: number(older.count()) }
    };
    for (id, (process, stable)) in Id::all(MAX_SEARCHED).zip(processes.iter_mut().zip(stable)) {
        // All that counts is whether it ever started.
        *stable = (*stable).min(1);
        process.incarnation = 0;
        // Who is down has begun nothing in its next life.
        if let Some(elid) = &mut process.elid {
            *elid = renamed(*elid);
            process.nextel = number(names.iter().filter(|known| known.owner == id).count());
        }
    }
    for envelope in messages {
        if let Some((kind, elid)) = named(envelope.message) {
            envelope.message = kind(renamed(elid));
        }
    }
}

fn number(count: usize) -> u8 {
    u8::try_from(count).expect("a world has few elections at a time")
}

/// A kind of message, which says an election.
type Kind = fn(Elid) -> Message;

/// What a message is, and the election that it carries, if it does.
pub(super) fn named(message: Message) -> Option<(Kind, Elid)> {
    let named: (Kind, Elid) = match message {
        Message::Halt(t) => (Message::Halt, t),
        Message::Ack(t) => (Message::Ack, t),
        Message::Rej(t) => (Message::Rej, t),
        Message::Ldr(t) => (Message::Ldr, t),
        Message::NormQ(t) => (Message::NormQ, t),
        Message::NotNorm(t) => (Message::NotNorm, t),
        Message::HasLeader(t) => (Message::HasLeader, t),
        Message::IsLeader(t) => (Message::IsLeader, t),
        Message::NotLeader(t) => (Message::NotLeader, t),
        Message::Restarted => return None,
    };
    Some(named)
}
