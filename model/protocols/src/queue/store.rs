//! What the store does: it owns the entries, ends sessions, and tells of changes once.

use super::entries::{Entries, Entry, MOST, Number, Session};
use super::{Contact, Directory, Message, Own, Process, Queue, Timer};
use bellwether_engine::protocol::{Id, Local, state_type};
use serde::Serialize;

/// What the store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Store {
    /// The sessions that have not ended, the oldest first.
    sessions: [Option<Open>; MOST],
    /// The directory.
    pub(super) entries: Entries,
    /// The number of the next session.
    pub(super) next_session: Session,
    /// The number of the next entry.
    pub(super) next_entry: Number,
}

/// A session that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) client: Id,
    /// What the client is to be told of, once.
    pub(super) watch: Option<Watched>,
}

/// What a client is to be told of.
#[state_type]
pub(super) enum Watched {
    /// That this entry comes or goes.
    Entry(Number),
    /// That any does.
    Directory,
}

impl Default for Store {
    fn default() -> Self {
        Store {
            sessions: [None; MOST],
            entries: Entries::default(),
            next_session: Session(1),
            next_entry: Number(1),
        }
    }
}

impl Store {
    /// The sessions that have not ended, the oldest first.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &Open> {
        self.sessions.iter().flatten()
    }

    pub(super) fn sessions_mut(&mut self) -> impl Iterator<Item = &mut Open> {
        self.sessions.iter_mut().flatten()
    }

    /// The oldest session of a client.
    pub(super) fn oldest(&self, client: Id) -> Option<Session> {
        self.sessions().find(|open| open.client == client).map(|open| open.session)
    }

    /// Whether a session has not ended.
    pub(super) fn has(&self, session: Option<Session>) -> bool {
        self.sessions().any(|open| Some(open.session) == session)
    }

    /// Whether the client of a session is to be told of something.
    pub(super) fn watches(&self, session: Option<Session>) -> bool {
        self.sessions().any(|open| Some(open.session) == session && open.watch.is_some())
    }

    /// Whether there are at most two sessions, and two entries, more than clients.
    pub(super) fn is_tidy(&self) -> bool {
        let clients = self.sessions().fold(0_u8, |known, open| known | 1 << open.client.index());
        let most = clients.count_ones() as usize + 2;
        self.sessions().count() <= most && self.entries.iter().count() <= most
    }

    /// A new session of a client.
    pub(super) fn open(&mut self, client: Id) -> Session {
        let session = self.next_session;
        self.next_session.0 += 1;
        if let Some(place) = self.sessions.iter_mut().find(|place| place.is_none()) {
            *place = Some(Open { session, client, watch: None });
        }
        session
    }

    /// A new entry at the end of the queue.
    pub(super) fn create(&mut self, client: Id, session: Session) -> Number {
        let number = self.next_entry;
        self.next_entry.0 += 1;
        self.entries.push(Entry { number, client, session });
        number
    }

    /// From now on the client of this session wants to be told of that, and of nothing else.
    pub(super) fn watch(&mut self, session: Session, watch: Watched) {
        self.sessions_mut()
            .filter(|open| open.session == session)
            .for_each(|open| open.watch = Some(watch));
    }

    /// A session ends, and its entries go with it: their numbers.
    fn close(&mut self, session: Session) -> Vec<Number> {
        let mut left = self.sessions.iter().flatten().filter(|open| open.session != session);
        self.sessions = std::array::from_fn(|_| left.next().copied());
        let of = |entry: &&Entry| entry.session == session;
        let gone = self.entries.iter().filter(of).map(|entry| entry.number).collect();
        self.entries.retain(|entry| entry.session != session);
        gone
    }
}

/// What the store does. Its steps are atomic, as those of a replicated store seem to its clients.
impl Queue {
    /// A client asks for something.
    pub(super) fn serve(
        &self,
        p: &mut Local<'_, Self>,
        mut store: Store,
        from: Id,
        message: Message,
    ) {
        let session = match message {
            Message::Open => return self.on_open(p, store, from),
            Message::Create(session)
            | Message::Read(session)
            | Message::ReadAndWatch(session)
            | Message::Watch { session, .. }
            | Message::Ping(session) => session,
            _ => return,
        };
        // A session that has ended does not come back; its client hears of it when it asks.
        // Where questions are not part of a session, they are answered after its end.
        if !store.has(Some(session)) {
            let answered = self.own == Own::Remembered && message == Message::Read(session);
            let entries = Message::Children(store.entries);
            return p.send(from, if answered { entries } else { Message::Expired(session) });
        }
        self.renew(p, &store, from, session);
        match message {
            Message::Create(_) => {
                let number = store.create(from, session);
                tell(p, &mut store, |watched| watched == Watched::Directory);
                p.send(from, Message::Created(number));
            }
            Message::Read(_) => p.send(from, Message::Children(store.entries)),
            Message::ReadAndWatch(_) => {
                store.watch(session, Watched::Directory);
                p.send(from, Message::Children(store.entries));
            }
            // The watch is set whether the entry is there or not: it might be created.
            Message::Watch { entry, .. } => {
                store.watch(session, Watched::Entry(entry));
                let there = store.entries.contains(entry);
                p.send(from, if there { Message::Watching } else { Message::Gone });
            }
            _ => p.send(from, Message::Pong),
        }
        *p.state = Process::Store(store);
    }

    /// A client wants a session. One that it has never used is given to it again: the reply may
    /// have been lost.
    fn on_open(&self, p: &mut Local<'_, Self>, mut store: Store, from: Id) {
        let used = |session| store.entries.iter().any(|entry| entry.session == session);
        let unused = store.sessions().find(|open| open.client == from && !used(open.session));
        let session = match unused.map(|open| open.session) {
            Some(session) => session,
            None => store.open(from),
        };
        if !p.armed(Timer::Session(from)) {
            p.arm(Timer::Session(from));
        }
        p.send(from, Message::Opened(session));
        *p.state = Process::Store(store);
    }

    /// Who is heard of keeps its session: the time-out is that of its oldest one.
    fn renew(&self, p: &mut Local<'_, Self>, store: &Store, client: Id, session: Session) {
        if self.contact == Contact::Pings && store.oldest(client) == Some(session) {
            p.arm(Timer::Session(client));
        }
    }

    /// The store has not heard from a client for too long: the session ends, its entries go, and
    /// each client that watched one of them is told. The client is not: the store does not reach
    /// it.
    pub(super) fn on_silent_client(&self, p: &mut Local<'_, Self>, mut store: Store, client: Id) {
        let Some(session) = store.oldest(client) else { return };
        let gone = store.close(session);
        if !gone.is_empty() {
            tell(p, &mut store, |watched| match watched {
                Watched::Entry(number) => gone.contains(&number),
                Watched::Directory => true,
            });
        }
        if self.directory == Directory::GoesToo && store.entries.first().is_none() {
            store.next_entry = Number(1);
        }
        if store.oldest(client).is_some() {
            p.arm(Timer::Session(client));
        }
        *p.state = Process::Store(store);
    }
}

/// A client that watches for this is told once, and watches no longer.
fn tell(p: &mut Local<'_, Queue>, store: &mut Store, of_this: impl Fn(Watched) -> bool) {
    for open in store.sessions_mut() {
        if open.watch.is_some_and(&of_this) {
            open.watch = None;
            p.send(open.client, Message::Changed);
        }
    }
}
