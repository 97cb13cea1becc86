//! A queue for the leadership: the client with the first entry in a store leads (ZooKeeper,
//! *Recipes and Solutions*, sections on leader election and on locks).
//!
//! The clients do not talk to each other but to a store, a [service](Services) that does not fail.
//! A client opens a session and creates an entry in a directory. The store gives each entry a
//! number larger than all before, and deletes it when the client's session ends. A client reads the
//! directory: if its entry is the first, it leads, and otherwise it asks to be told, once, when
//! another entry goes. How programs differ in this is told by eight rules, the fields of [`Queue`].
//!
//! State of a client: its session, its entry, whom it follows, and what it is doing. State of the
//! store: sessions, each with what its client is to be told of, and entries.

use bellwether_engine::protocol::{
    Belief, Elects, Id, Judge, Local, MAX_SEARCHED, Options, Property, Protocol, Services,
    TimerRow, View, WithinBounds, duration_table, event_type, state_type,
};

mod client;
mod entries;
mod rules;
mod store;

pub use client::{Client, Role};
pub use entries::{Entries, Entry, Number, Session};
use rules::VARIANTS;
pub use rules::{Alone, Contact, Directory, Gone, Notified, Own, Queue, Silence, Watch};
pub use store::Store;
use store::Watched;

/// The state of one process.
#[state_type]
pub enum Process {
    /// One that queues.
    Client(Client),
    /// The store in which they queue.
    Store(Store),
}

impl Default for Process {
    fn default() -> Self {
        Process::Client(Client::default())
    }
}

/// What clients ask of the store, and what it says.
#[event_type]
pub enum Message {
    /// To the store: a session, please.
    Open,
    /// To the store: an entry that lasts as long as the session, with a number of yours.
    Create(Session),
    /// To the store: which entries are there?
    Read(Session),
    /// The same, and tell me once if one comes or goes.
    ReadAndWatch(Session),
    /// To the store: is this entry there? Tell me once when that changes.
    Watch {
        /// Whose question it is.
        session: Session,
        /// The entry.
        entry: Number,
    },
    /// To the store: I am here.
    Ping(Session),
    /// To a client: your session.
    Opened(Session),
    /// To a client: your entry.
    Created(Number),
    /// To a client: the entries that are there.
    Children(Entries),
    /// To a client: it is there, and you will be told.
    Watching,
    /// To a client: it is not there.
    Gone,
    /// To a client: what you watched for has changed.
    Changed,
    /// To a client: this session has ended.
    Expired(Session),
    /// To a client: I hear you.
    Pong,
}

/// What a process waits for.
#[event_type]
pub enum Timer {
    /// The store waits for a sign of this client.
    Session(Id),
    /// A client waits for the store.
    Silence,
    /// A client's next ping is due ([`Contact::Pings`]).
    Ping,
}

duration_table! {
    // A client is patient for longer than it takes to ping, and the store for longer than a client.
    T_PING: "how long a client waits before it pings again";
    T_CONTACT: "how long a client bears not to hear from the store (of a detector: at most)", 1;
    T_SESSION: "how long the store bears not to hear from a client (of a detector: at most)", 1;
}

const TIMERS: &[TimerRow<Queue>] = &[
    session(0),
    session(1),
    session(2),
    session(3),
    session(4),
    session(5),
    TimerRow::fixed(Timer::Silence, &T_CONTACT).detects_if(Queue::assumes_contact),
    TimerRow::fixed(Timer::Ping, &T_PING)
        .armed_if(|rules: &Queue| rules.contact == Contact::Pings)
        .periodic(session_goes_on),
];

/// The store's row for the client at this position.
const fn session(at: usize) -> TimerRow<Queue> {
    TimerRow::fixed(Timer::Session(Id::at(at)), &T_SESSION).detects_if(Queue::assumes_contact)
}

impl Queue {
    /// Whether silence is noticed without pings: by a failure detector.
    fn assumes_contact(&self) -> bool {
        self.contact == Contact::Assumed
    }
}

impl Protocol for Queue {
    const NAME: &'static str = "queue";
    const SUMMARY: &'static str =
        "the client with the first entry in a store leads (ZooKeeper's recipe for elections)";
    parts!(Process, (), Message, Timer);

    const OPTIONS: Options<Self> = Options {
        // The client that entered first.
        elects: |_| Elects::Any,
        services: Services { count: 1, ..Options::<Self>::NONE.services },
        canonicalize: Some(entries::canonicalize),
        // The search ends where the store has no room for more sessions or entries.
        within_bounds: Some(WithinBounds {
            at_most: "two sessions and two entries more than clients",
            within: |_, process, ()| match process {
                Process::Client(_) => true,
                Process::Store(store) => store.is_tidy(),
            },
        }),
        // The store has so many places for sessions.
        most: MAX_SEARCHED,
        ..Options::NONE
    };

    /// Every client has entered in the order of ids: 1 leads.
    fn converged(&self, p: &mut Local<'_, Self>) {
        if p.is_service() {
            let mut store = Store::default();
            for id in Id::all(p.nodes()) {
                let session = store.open(id);
                let before = Number(store.next_entry.0 - 1);
                store.create(id, session);
                match self.watch {
                    Watch::Directory => store.watch(session, Watched::Directory),
                    _ if id == Id::at(0) => {}
                    Watch::First => store.watch(session, Watched::Entry(Number(1))),
                    Watch::Predecessor => store.watch(session, Watched::Entry(before)),
                }
                p.arm(Timer::Session(id));
            }
            *p.state = Process::Store(store);
            return;
        }
        let first = Id::at(0);
        let role = if p.id() == first { Role::Leader } else { Role::Follower };
        let (session, entry) = (Some(Session(p.id().number())), Some(Number(p.id().number())));
        *p.state = Process::Client(Client { role, session, entry, leader: Some(first) });
        p.arm(Timer::Silence);
        if self.contact == Contact::Pings {
            p.arm(Timer::Ping);
        }
    }

    /// A client enters, whatever it was before. The store begins empty.
    fn recover(&self, p: &mut Local<'_, Self>) {
        if p.is_service() {
            *p.state = Process::Store(Store::default());
        } else {
            self.enter(p);
        }
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match *p.state {
            Process::Client(client) => self.on_store_message(p, client, message),
            Process::Store(store) => self.serve(p, store, from, message),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match (*p.state, timer) {
            (Process::Store(store), Timer::Session(client)) => {
                self.on_silent_client(p, store, client);
            }
            (Process::Client(client), Timer::Silence) => self.on_silence(p, client),
            (Process::Client(client), Timer::Ping) => self.ping(p, client),
            (Process::Store(_), Timer::Silence | Timer::Ping)
            | (Process::Client(_), Timer::Session(_)) => {}
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        let Some((id, store)) = store_in(view) else { return false };
        match timer {
            Timer::Session(client) => self.is_silent(view, id, store, client),
            Timer::Silence => nothing_will_come(view, id, store, me),
            Timer::Ping => !view.in_flight(|from, to, m| {
                (from == me && matches!(m, Message::Ping(_))) || (to == me && m == Message::Pong)
            }),
        }
    }

    fn belief(process: &Process) -> Belief {
        let Process::Client(Client { role, leader, .. }) = process else {
            return Belief::Undecided;
        };
        let follows = matches!(role, Role::Checking | Role::Follower);
        Belief::of(*role == Role::Leader, leader.filter(|_| follows))
    }

    fn role(process: &Process) -> &'static str {
        let Process::Client(client) = process else { return "store" };
        match client.role {
            Role::Opening => "opening",
            Role::Creating => "creating",
            Role::Joining | Role::Reading => "reading",
            Role::Checking | Role::Follower => "follower",
            Role::Waiting => "waiting",
            Role::Leader => "leader",
        }
    }
}

/// The store, as far as there is one already.
fn store_in<'v>(view: &'v View<'_, Queue>) -> Option<(Id, &'v Store)> {
    let id = view.services().next()?;
    match view.process(id) {
        Process::Store(store) => Some((id, store)),
        Process::Client(_) => None,
    }
}

/// What a live client knows.
fn client_in<'v>(view: &'v View<'_, Queue>, id: Id) -> Option<&'v Client> {
    match view.process(id) {
        Process::Client(client) if view.up(id) => Some(client),
        _ => None,
    }
}

/// A ping in a session that has not ended only says what is so anyway.
fn session_goes_on(_: &Queue, view: &View<'_, Queue>, me: Id) -> bool {
    let (client, store) = (client_in(view, me), store_in(view));
    client.zip(store).is_some_and(|(client, (_, store))| store.has(client.session))
}

impl Queue {
    /// The oldest session of a client: the client is down, or has another by now, or is cut off;
    /// and nothing of it is on its way. The store is patient for longer than a client: it does not
    /// end the session of a leader that would stand down and has not yet.
    fn is_silent(&self, view: &View<'_, Self>, id: Id, store: &Store, owner: Id) -> bool {
        let Some(session) = store.oldest(owner) else { return false };
        let on_its_way = |from: Id, to: Id, m: Message| {
            (from == owner && to == id) || (to == owner && m == Message::Opened(session))
        };
        let Some(client) = client_in(view, owner) else {
            return !view.in_flight(|from, to, _| from == owner && to == id);
        };
        let heard = view.links(id, owner);
        let has_another = client.session != Some(session);
        let may_act = client.role == Role::Leader && self.silence == Silence::StandsDown;
        !view.in_flight(on_its_way) && (has_another || (!heard && !may_act))
    }
}

/// Nothing is on its way between a client and the store, and nothing will be unless the client
/// asks again: an answer was lost, or what it was to be told; or they do not hear each other.
fn nothing_will_come(view: &View<'_, Queue>, id: Id, store: &Store, me: Id) -> bool {
    let Some(client) = client_in(view, me) else { return false };
    let on_its_way =
        |from: Id, to: Id, _: Message| (from, to) == (me, id) || (from, to) == (id, me);
    let heard = view.links(me, id);
    let idle = match client.role {
        Role::Opening | Role::Creating | Role::Joining | Role::Reading | Role::Checking => false,
        Role::Follower => store.watches(client.session),
        Role::Waiting | Role::Leader => store.has(client.session),
    };
    !(view.in_flight(on_its_way) || heard && idle)
}

const PROPERTIES: &[Property<Judge<Queue>>] = property_table! {
    "only-the-first-leads": "□ ∀ up i: leads(i) ⇒ the first entry in the store is i's",
        "a process that leads owns the first entry in the queue (\"the smallest is the leader\")";
        Always(only_the_first_leads);
    "first-leads": "◇□ ((∃ up i) ⇒ the owner of the first entry is up and leads)",
        "in the end the owner of the first entry in the queue leads, for good";
        EventuallyAlways(first_leads);
    "tokens-grow": "□ ∀ up i: leads(i) ∧ the first entry f is not i's ⇒ number(i) < number(f)",
        "a process that leads out of turn has a smaller number than the owner of the first entry";
        Always(tokens_grow);
    "one-entry": "□ ∀ session s: at most one entry is s's",
        "no session owns two entries, of which its client knows only one";
        Always(one_entry);
};

fn leaders<'v>(view: &'v View<'_, Queue>) -> impl Iterator<Item = (Id, &'v Client)> {
    let live = view.ids().filter_map(|id| client_in(view, id).map(|client| (id, client)));
    live.filter(|(_, client)| client.role == Role::Leader)
}

fn first_entry(view: &View<'_, Queue>) -> Option<Entry> {
    store_in(view).and_then(|(_, store)| store.entries.first())
}

/// Returns whether the client takes this entry for its own.
fn owns(client: &Client, entry: Entry) -> bool {
    (client.session, client.entry) == (Some(entry.session), Some(entry.number))
}

fn only_the_first_leads(_: &Queue, view: &View<'_, Queue>) -> bool {
    let first = first_entry(view);
    leaders(view).all(|(_, client)| first.is_some_and(|first| owns(client, first)))
}

fn first_leads(_: &Queue, view: &View<'_, Queue>) -> bool {
    let leads = first_entry(view).is_some_and(|first| {
        leaders(view).any(|(id, client)| id == first.client && owns(client, first))
    });
    leads || view.live().next().is_none()
}

fn tokens_grow(_: &Queue, view: &View<'_, Queue>) -> bool {
    first_entry(view).is_none_or(|first| {
        leaders(view).all(|(_, client)| {
            Some(first.session) == client.session || client.entry < Some(first.number)
        })
    })
}

fn one_entry(_: &Queue, view: &View<'_, Queue>) -> bool {
    let Some((_, store)) = store_in(view) else { return true };
    store
        .sessions()
        .all(|open| store.entries.iter().filter(|entry| entry.session == open.session).count() <= 1)
}
