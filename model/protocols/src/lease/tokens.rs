//! The numbers of grants, of writes and of requests: they grow for ever, and only their order
//! matters.
//!
//! Processes ask which of two tokens is higher, and the next one is higher than all. They ask which
//! versions of the record are the same, and the next one is another than all. They ask which of a
//! client's requests is the latest. Each is therefore called by its place among those of its kind
//! that a process still has.

use super::{Lease, Message, Mistake, StoreFault, Term};
use bellwether_engine::protocol::{Envelope, Everything, Id, WithinBounds, event_type};
use bellwether_engine::terms;
use std::collections::BTreeSet;

/// A fencing token: the number of a grant.
#[event_type]
#[derive(Default)]
pub struct Token(pub u8);

impl Token {
    /// The first that is granted.
    pub const FIRST: Token = Token(1);

    pub(super) fn next(self) -> Token {
        Token(self.0 + 1)
    }
}

/// How often the store's record was written, where clients watch it ([`Term::Observed`]).
#[event_type]
#[derive(Default)]
pub struct Version(pub u8);

impl Version {
    /// The first that a client can see.
    pub const FIRST: Version = Version(1);

    pub(super) fn next(self) -> Version {
        Version(self.0 + 1)
    }
}

/// What a request is called, among those of one client: how often that had started, and which one
/// it was since. Written as in `1.2`.
#[event_type]
#[derive(Default)]
#[serde(into = "String", try_from = "String")]
pub struct Number {
    /// How often the client had started.
    pub incarnation: u8,
    /// Which of its requests since it is, from 1.
    pub request: u8,
}

impl From<Number> for String {
    fn from(Number { incarnation, request }: Number) -> String {
        format!("{incarnation}.{request}")
    }
}

impl TryFrom<String> for Number {
    type Error = String;

    fn try_from(text: String) -> Result<Number, String> {
        let parts = text.split_once('.').and_then(|(incarnation, request)| {
            Some(Number { incarnation: incarnation.parse().ok()?, request: request.parse().ok()? })
        });
        parts.ok_or_else(|| format!("a request is called as in 1.2, not {text:?}"))
    }
}

/// How many grants, and how many requests of a client, are told apart at most: where concrete
/// names, or so many are in flight, a search ends there. A version of the record counts as a grant.
const MOST_GRANTS: u8 = 6;
const MOST_REQUESTS: u8 = 3;

pub(super) const WITHIN: WithinBounds<Lease> = WithinBounds {
    at_most: "6 grants, and 3 starts and 3 requests of a client told apart",
    within: |_, process, stable| {
        process.token.0 <= MOST_GRANTS
            && process.version.0 <= MOST_GRANTS
            && process.requests <= MOST_REQUESTS
            && stable.incarnation <= MOST_REQUESTS
    },
};

/// The numbers that are in use: 0 always is.
struct Used([bool; 256]);

impl Used {
    fn new() -> Used {
        Used(std::array::from_fn(|number| number == 0))
    }

    fn note(&mut self, number: u8) {
        self.0[usize::from(number)] = true;
    }

    /// Returns the count of numbers in use below this one.
    fn place(&self, number: u8) -> u8 {
        let below = self.0[..usize::from(number)].iter().filter(|&&used| used).count();
        u8::try_from(below).expect("there are fewer below an 8-bit number")
    }
}

/// Gives tokens, versions and numbers names that do not depend on history. A store that forgets its
/// tokens, or loses them by a mistake, grants them again from 1 on, or from the last that its
/// replica has, whatever is higher: then they have to keep their names, and so have the versions of
/// its record.
pub(super) fn canonicalize(rules: &Lease, mut all: Everything<'_, Lease>) {
    let keeps = matches!(rules.store, StoreFault::Lives | StoreFault::CrashesAndKeeps);
    if keeps && matches!(rules.mistake, Mistake::None | Mistake::SetForward) {
        terms::rank(|show| each_token(&mut all, show));
        if rules.term == Term::Observed {
            terms::rank(|show| each_version(&mut all, show));
        }
    }
    for client in 0..all.processes.len() {
        rename_numbers(&mut all, Id::at(client));
    }
}

fn each_token(all: &mut Everything<'_, Lease>, call: &mut dyn FnMut(&mut u8)) {
    for process in &mut *all.processes {
        call(&mut process.token.0);
        call(&mut process.written.0);
        call(&mut process.replica.token.0);
    }
    for stable in &mut *all.stable {
        call(&mut stable.token.0);
        call(&mut stable.written.0);
        call(&mut stable.seen.token.0);
    }
    for envelope in &mut *all.messages {
        match &mut envelope.message {
            Message::Renew(_, token)
            | Message::Granted(_, token)
            | Message::Write(token)
            | Message::Release(token) => call(&mut token.0),
            _ => {}
        }
    }
}

fn each_version(all: &mut Everything<'_, Lease>, call: &mut dyn FnMut(&mut u8)) {
    for process in &mut *all.processes {
        call(&mut process.version.0);
        call(&mut process.replica.version.0);
    }
    for stable in &mut *all.stable {
        call(&mut stable.version.0);
    }
    for envelope in &mut *all.messages {
        if let Message::Take(_, version) | Message::Record(_, _, version) = &mut envelope.message {
            call(&mut version.0);
        }
    }
}

fn rename_numbers(all: &mut Everything<'_, Lease>, client: Id) {
    let at = client.index();
    let latest =
        Number { incarnation: all.stable[at].incarnation, request: all.processes[at].requests };
    let mut used = BTreeSet::from([latest]);
    each_number(all, client, |number| {
        used.insert(*number);
    });
    let mut starts = Used::new();
    used.iter().for_each(|number| starts.note(number.incarnation));
    each_start(all, client, |start| starts.note(*start));
    let renamed = |Number { incarnation, request }| {
        let mut requests = Used::new();
        let same = used.iter().filter(|number| number.incarnation == incarnation);
        same.for_each(|number| requests.note(number.request));
        Number { incarnation: starts.place(incarnation), request: requests.place(request) }
    };
    each_number(all, client, |number| *number = renamed(*number));
    each_start(all, client, |start| *start = starts.place(*start));
    let latest = renamed(latest);
    all.stable[at].incarnation = latest.incarnation;
    all.processes[at].requests = latest.request;
}

/// How often this client had started when the store granted it the lease.
fn each_start(all: &mut Everything<'_, Lease>, client: Id, mut call: impl FnMut(&mut u8)) {
    for process in all.processes.iter_mut().filter(|process| process.holder == Some(client)) {
        call(&mut process.start);
    }
    for stable in &mut *all.stable {
        if stable.holder == Some(client) {
            call(&mut stable.start);
        }
        if stable.seen.by == Some(client) {
            call(&mut stable.seen.start);
        }
    }
}

/// The numbers of this client's requests in flight, and of the answers to them.
fn each_number(all: &mut Everything<'_, Lease>, client: Id, mut call: impl FnMut(&mut Number)) {
    for Envelope { from, to, message } in &mut *all.messages {
        let (whose, number) = match message {
            Message::Acquire(number)
            | Message::Claim(number)
            | Message::Take(number, _)
            | Message::Renew(number, _)
            | Message::Read(number)
            | Message::Set(number) => (*from, number),
            Message::Free(number)
            | Message::Granted(number, _)
            | Message::Refused(number, _)
            | Message::Record(number, ..) => (*to, number),
            Message::Write(_) | Message::Release(_) | Message::Available => continue,
        };
        if whose == client {
            call(number);
        }
    }
}
