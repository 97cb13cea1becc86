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
    Belief, Elects, Id, Judge, Local, MAX_SEARCHED, Options, Property, Protocol, Rule, Services,
    TimerRow, Variant, View, WithinBounds,
};
use serde::{Deserialize, Serialize};

mod client;
mod durations;
mod entries;
mod properties;
mod rules;
mod store;
mod symmetry;
mod timing;
mod variants;

pub use client::{Client, Role};
use durations::{T_CONTACT, T_PING, T_SESSION};
pub use entries::{Entries, Entry, Number, Session};
pub use rules::{Alone, Contact, Directory, Gone, Notified, Own, Queue, Silence, Watch};
pub use store::Store;

/// The state of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// The store waits for a sign of this client.
    Session(Id),
    /// A client waits for the store.
    Silence,
    /// A client's next ping is due ([`Contact::Pings`]).
    Ping,
}

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
    const VARIANTS: &'static [Variant<Self>] = variants::ALL;
    const TIMERS: &'static [TimerRow<Self>] = &[
        session(0),
        session(1),
        session(2),
        session(3),
        session(4),
        session(5),
        TimerRow::fixed(Timer::Silence, &T_CONTACT).detects_if(Self::assumes_contact),
        TimerRow::fixed(Timer::Ping, &T_PING)
            .armed_if(|rules: &Self| rules.contact == Contact::Pings)
            .periodic(timing::session_goes_on),
    ];
    const PROPERTIES: &'static [Property<Judge<Self>>] = properties::ALL;
    const RULES: fn() -> Vec<Rule> = Rule::all_of::<Self>;

    const OPTIONS: Options<Self> = Options {
        // The client that entered first.
        elects: |_| Elects::Any,
        services: Services { count: 1, ..Options::<Self>::NONE.services },
        canonicalize: Some(symmetry::canonicalize),
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

    type Process = Process;
    type Stable = ();
    type Message = Message;
    type Timer = Timer;

    /// Every client has entered in the order of ids: 1 leads.
    fn converged(&self, p: &mut Local<'_, Self>) {
        if p.is_service() {
            let mut store = Store::default();
            for id in Id::all(p.nodes()) {
                let session = store.open(id);
                let before = Number(store.next_entry.0 - 1);
                store.create(id, session);
                match self.watch {
                    Watch::Directory => store.watch(session, store::Watched::Directory),
                    _ if id == Id::at(0) => {}
                    Watch::First => store.watch(session, store::Watched::Entry(Number(1))),
                    Watch::Predecessor => store.watch(session, store::Watched::Entry(before)),
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
            Process::Store(store) => self.serve(p, (store, from), message),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match (*p.state, timer) {
            (Process::Store(store), Timer::Session(client)) => {
                self.on_silent_client(p, (store, client));
            }
            (Process::Client(client), Timer::Silence) => self.on_silence(p, client),
            (Process::Client(client), Timer::Ping) => self.ping(p, client),
            (Process::Store(_), Timer::Silence | Timer::Ping)
            | (Process::Client(_), Timer::Session(_)) => {}
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        timing::may_time_out(self, view, me, timer)
    }

    fn belief(process: &Process) -> Belief {
        let Process::Client(client) = process else { return Belief::Undecided };
        match (client.role, client.leader) {
            (Role::Leader, _) => Belief::Leads,
            (Role::Checking | Role::Follower, Some(leader)) => Belief::Follows(leader),
            _ => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match process {
            Process::Store(_) => "store",
            Process::Client(client) => match client.role {
                Role::Opening => "opening",
                Role::Creating => "creating",
                Role::Joining | Role::Reading => "reading",
                Role::Checking | Role::Follower => "follower",
                Role::Waiting => "waiting",
                Role::Leader => "leader",
            },
        }
    }
}
