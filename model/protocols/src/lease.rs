//! The lease: the client that a store has granted it leads, until it expires; also called the
//! distributed mutex.
//!
//! C. Gray and D. Cheriton, *Leases: an efficient fault-tolerant mechanism for distributed file
//! cache consistency* (SOSP 1989); M. Burrows, *The Chubby lock service for loosely-coupled
//! distributed systems* (OSDI 2006), sections 2.4 and 2.8; M. Kleppmann, *How to do distributed
//! locking* (2016); the leader election of Kubernetes' client-go. Where they differ are rules: the
//! fields of [`Lease`].
//!
//! The processes that elect are *clients*: each asks one store, the only service, for the lease,
//! and the client that holds it renews it and does its work, which is to write to a resource. The
//! store has one record: to whom the lease is granted, until when, and a token that grows with each
//! grant. The resource stands in the same service; what it knows of grants is a rule. So is what
//! the store can do: a variant for each of the stores that people run says what its manual says.

use bellwether_engine::protocol::{
    Belief, Elects, Id, Ids, Judge, Local, Options, Property, Protocol, Request, Services, View,
    duration_table, event_type, state_type,
};

mod client;
mod rules;
mod store;
mod tokens;

use rules::VARIANTS;
pub use rules::{Acquire, Answers, Claims, Compares, Count, Doubt, Expiry, Fence, Forgetful};
pub use rules::{Grants, Lease, Mistake, Reads, Release, Renewal, StoreFault, Term};
pub use store::{Accepted, Copied, Seen};
pub use tokens::{Number, Token, Version};

/// What a process is doing.
#[state_type]
pub enum Role {
    /// A client that does not hold the lease.
    #[default]
    Follower,
    /// A client that believes that it holds the lease.
    Holder,
    /// A holder that has given the lease back, and whose work has not ended ([`Release::AtOnce`]).
    Releasing,
    /// The store, and the resource beside it.
    Store,
}

/// What one process knows and loses in a crash.
#[state_type]
pub struct Process {
    /// What it is doing.
    pub role: Role,
    /// Who holds the lease: as a client has heard from the store, or as the store has granted it.
    pub holder: Option<Id>,
    /// Of a client that holds the lease, its token; of the store, that of the newest grant.
    pub token: Token,
    /// How many requests a client has sent since it started.
    pub requests: u8,
    /// Whether the machine of a client is not fit to lead.
    pub unfit: bool,
    /// The clients that the store has granted the lease and whose lease has not expired.
    pub granted: Ids,
    /// The highest token that the resource has accepted a write with.
    pub written: Token,
    /// What the last write was that the resource has accepted.
    pub accepted: Accepted,
    /// Of the store, the version of its record; of a client, the one that it watches
    /// ([`Term::Observed`]).
    pub version: Version,
    /// What of the store's record its replica has ([`Reads::Replica`]).
    pub replica: Copied,
    /// Of the store, how often the holder had started that it granted the lease
    /// ([`Grants::ToStart`]).
    pub start: u8,
}

/// What a process keeps on stable storage.
#[state_type]
pub struct Stable {
    /// How often a client has started: with it, no two of its requests have the same number.
    pub incarnation: u8,
    /// To which process the store has granted the lease, as a store knows that recovers
    /// ([`StoreFault::CrashesAndKeeps`]), or a replica that takes over
    /// ([`StoreFault::FailsOverAndLosesTheLast`]).
    pub holder: Option<Id>,
    /// The token of the store's newest grant, as such a store knows it.
    pub token: Token,
    /// The version of the store's record, as such a store knows it.
    pub version: Version,
    /// The highest token that the resource has accepted a write with, if the store may crash.
    pub written: Token,
    /// How often the holder had started, as such a store knows it ([`Grants::ToStart`]).
    pub start: u8,
    /// The highest of all grants ([`Claims::CarrySeen`]). The client has seen it, and the place of
    /// that memory is the store, which every claim reaches.
    pub seen: Seen,
}

/// What processes send to each other. What is asked carries a number, and so does its answer.
#[event_type]
pub enum Message {
    /// "Give me the lease, if it is free or mine": compare and set, in one step.
    Acquire(Number),
    /// "Extend the lease that has this token."
    Renew(Number, Token),
    /// "Is the lease free?" ([`Acquire::ReadThenWrite`]).
    Read(Number),
    /// "It is" ([`Acquire::ReadThenWrite`]).
    Free(Number),
    /// "The lease is mine" ([`Acquire::ReadThenWrite`]).
    Set(Number),
    /// "You hold the lease, and this is its token": to the client that has asked for it.
    Granted(Number, Token),
    /// "You do not; this one does", if any.
    Refused(Number, Option<Id>),
    /// A holder's write to the resource, with the token of its lease.
    Write(Token),
    /// "I give back the lease that has this token."
    Release(Token),
    /// "The lease was given back, and is free": to every other client.
    Available,
    /// "Give me the lease, if there is none" ([`Acquire::SetIfAbsent`]).
    Claim(Number),
    /// "Give me the lease, if the record has this version" ([`Term::Observed`]).
    Take(Number, Version),
    /// "This one has it, and the record has this version" ([`Term::Observed`]).
    Record(Number, Id, Version),
}

duration_table! {
    // The store must keep a lease for longer than its holder counts it, so the holder's time comes
    // first.
    T_HOLDER: "how long a client counts the lease that it is granted", 8;
    T_GRANT: "how long the store keeps the lease for its holder", 9;
    T_RENEW: "how long a holder waits before it writes, and renews its lease", 3;
    T_RETRY: "how long a client that was refused the lease waits before it asks again", 2;
    T_LAG: "how far the replica of the store is behind at most";
    T_LOCK_DELAY: "how long a lease that has expired is granted to no client";
}

timer_table! { Lease:
    /// A client has asked for the lease, or for more of it: so long would what it is granted last.
    // A grant that comes later is worth nothing.
    Asked => fixed(&T_HOLDER);
    /// A holder's lease, by its own clock.
    Lease => fixed(&T_HOLDER);
    /// A holder does some work, and renews its lease.
    Renew => fixed(&T_RENEW).periodic(has_written_and_renewed);
    /// A client that does not hold the lease asks for it again.
    Retry => fixed(&T_RETRY).periodic(knows_the_holder);
    /// The lease that the store has granted, by its clock.
    // A connection is a failure detector: its loss is noticed.
    Grant => fixed(&T_GRANT)
        .armed_if(Lease::store_ends)
        .detects_if(|rules| rules.term == Term::Session);
    /// The first holder is asked to lead no longer ([`Lease::asked`]).
    Request => detector(&T_HOLDER).armed_if(|rules| rules.asked);
    /// A client watches one version of the record ([`Term::Observed`]).
    Observed => fixed(&T_GRANT).armed_if(|rules| rules.term == Term::Observed);
    /// A lease that has expired is granted to no client ([`Lease::lock_delay`]).
    LockDelay => fixed(&T_LOCK_DELAY).armed_if(|rules| rules.lock_delay && rules.store_ends());
    /// The replica of the store has all that was written ([`Reads::Replica`],
    /// [`StoreFault::FailsOverAndLosesTheLast`]).
    Replicate => detector(&T_LAG).armed_if(Lease::replicates);
    /// A client that was asked to stay away asks for no lease.
    // No rule asks a client to stay away.
    Away => fixed(&T_RETRY).armed_if(|_| false);
    /// An operator changes the record of the store ([`Lease::mistake`]).
    Mistake => detector(&T_HOLDER).armed_if(|rules| rules.mistake != Mistake::None);
    /// The record of the store was changed, and no client claims the lease ([`Forgetful::Waits`],
    /// [`Doubt::Overdue`]).
    Watch => fixed(&T_GRANT).armed_if(Lease::watches);
}

impl Protocol for Lease {
    const NAME: &'static str = "lease";
    const SUMMARY: &'static str =
        "the client with a store's lease leads until the lease expires (Gray and Cheriton 1989)";
    const REQUESTS: bool = true;
    parts!(Process, Stable, Message, Timer);

    const OPTIONS: Options<Self> = Options {
        // The client that is first.
        elects: |_| Elects::Any,
        services: Services { count: 1, crash: |rules| rules.store != StoreFault::Lives },
        canonicalize: Some(tokens::canonicalize),
        within_bounds: Some(tokens::WITHIN),
        // A client's, not the store's.
        own: &["count", "acquire", "answers", "renewal", "expiry", "release"],
        unused: Self::unused,
        ..Options::NONE
    };

    /// The highest id has just been granted the lease, and every client knows.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let highest = Id::at(p.nodes() - 1);
        if p.is_service() {
            self.settled_store(p, highest);
        } else {
            self.settled_client(p, highest);
        }
    }

    fn recover(&self, p: &mut Local<'_, Self>) {
        p.because("booted");
        if p.is_service() { self.recover_store(p) } else { self.recover_client(p) }
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        if p.is_service() {
            return self.serve(p, from, message);
        }
        // Clients listen to the store, and only to the answers that they wait for.
        match message {
            _ if p.services().all(|store| store != from) => p.ignore("unknown_sender"),
            Message::Granted(number, _)
            | Message::Refused(number, _)
            | Message::Free(number)
            | Message::Record(number, ..)
                if !self.answers(p, number) => {}
            Message::Granted(_, token) => self.on_granted(p, token),
            Message::Refused(_, holder) => self.on_refused(p, holder),
            // The lease was free when the store said so.
            Message::Free(_) => client::request(p, Message::Set),
            Message::Record(_, holder, version) => self.on_record(p, holder, version),
            Message::Available => self.ask_if_idle(p),
            _ => p.ignore("wrong_direction"),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Asked => self.give_up(p),
            Timer::Lease => self.on_own_expiry(p),
            Timer::Renew => self.work(p),
            Timer::Retry => self.ask(p),
            Timer::Grant => self.on_end(p),
            Timer::Request => self.asked(p, Request::Yield(None)),
            Timer::Observed => self.on_observed(p),
            // From now on it is granted again.
            Timer::LockDelay => {}
            Timer::Replicate => self.on_replicated(p),
            Timer::Away => self.ask_if_idle(p),
            Timer::Mistake => self.on_mistake(p),
            Timer::Watch => self.on_watched(p),
        }
    }

    fn asked(&self, p: &mut Local<'_, Self>, request: Request) {
        self.on_asked(p, request);
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            // Neither the request nor an answer is on its way; a holder asks again before that.
            Timer::Asked => view.process(me).role == Role::Follower && !asks(view, me),
            Timer::Retry => !asks(view, me),
            Timer::Renew => !asks(view, me) && !writes(view, me),
            Timer::Lease => self.renewal == Renewal::Asks && !asks(view, me) && !reaches(view, me),
            Timer::Grant if self.term == Term::Session => connection_is_lost(view, me),
            Timer::Grant => lease_is_over(self, view, me),
            // Its operator waits for no process, and nor does a replica.
            Timer::Request | Timer::Replicate | Timer::Away | Timer::Mistake => true,
            // What it has seen is the newest, and will stay so: no answer on its way has another.
            Timer::Observed => view.services().all(|store| {
                let newest = view.process(store).version == view.process(me).version;
                newest && lease_is_over(self, view, store)
            }),
            // What was sent under the lease has arrived.
            Timer::LockDelay => !view.in_flight(|_, _, m| matches!(m, Message::Write(_))),
            // The same, and no client leads or will by a grant from before.
            Timer::Watch => {
                let leads = |id| view.process(id).role != Role::Follower;
                let lasts = |m| matches!(m, Message::Granted(..) | Message::Write(_));
                !view.live().any(leads) && !view.in_flight(|_, _, m| lasts(m))
            }
        }
    }

    fn belief(process: &Process) -> Belief {
        let leads = matches!(process.role, Role::Holder | Role::Releasing);
        Belief::of(leads, process.holder.filter(|_| process.role == Role::Follower))
    }

    fn role(process: &Process) -> &'static str {
        match process.role {
            Role::Follower => "follower",
            Role::Holder => "holder",
            Role::Releasing => "releasing holder",
            Role::Store => match process.accepted {
                Accepted::Fresh => "store",
                Accepted::Stale => "stale store",
                Accepted::Backwards => "overwritten store",
            },
        }
    }
}

/// The store's: its holder is gone, or what one of them sends does not reach the other. A process
/// that is paused still has its connection.
fn connection_is_lost(view: &View<'_, Lease>, store: Id) -> bool {
    let cut = |from: Id, to: Id| view.cut[from.index()].contains(to);
    let lost = |holder: Id| !view.up(holder) || cut(store, holder) || cut(holder, store);
    view.process(store).holder.is_none_or(lost)
}

/// The store's: its holder has stepped down or is gone, or will never be heard of again; it will
/// not hear of another grant, and has nothing under way to the store or the resource.
fn lease_is_over(rules: &Lease, view: &View<'_, Lease>, store: Id) -> bool {
    let start = view.process(store).start;
    let goes_on = |holder: Id| {
        let own = view.rules_of(rules, holder);
        // It asks again and again for a lease that is free, and its own is not; or the lease is
        // that of its former self.
        let in_vain = |m: &Message| match *m {
            Message::Claim(_) | Message::Refused(_, None)
                if own.acquire == Acquire::SetIfAbsent =>
            {
                true
            }
            Message::Acquire(number) | Message::Claim(number) | Message::Refused(number, _) => {
                rules.grants == Grants::ToStart && number.incarnation != start
            }
            _ => false,
        };
        let sends = view.in_flight(|from, _, m| from == holder && !in_vain(&m));
        let renews = own.renewal == Renewal::Asks && reaches(view, holder);
        let steps_down = own.renewal == Renewal::Asks && own.expiry == Expiry::StepsDown;
        let leads = view.process(holder).role != Role::Follower;
        let holds = leads && (renews || steps_down);
        let asks = view.in_flight(|from, to, m| is_asked(holder, from, to, &m) && !in_vain(&m));
        sends || (view.up(holder) && (holds || asks))
    };
    !view.process(store).holder.is_some_and(goes_on)
}

/// Whether a request of `client`, or an answer to one, is on its way.
fn asks(view: &View<'_, Lease>, client: Id) -> bool {
    view.in_flight(|from, to, m| is_asked(client, from, to, &m))
}

/// Whether a message is a request of `client`, or an answer to one.
fn is_asked(client: Id, from: Id, to: Id, message: &Message) -> bool {
    (from == client && !matches!(message, Message::Write(_))) || to == client
}

fn writes(view: &View<'_, Lease>, client: Id) -> bool {
    view.in_flight(|from, _, m| from == client && matches!(m, Message::Write(_)))
}

/// Whether requests and answers get through.
fn reaches(view: &View<'_, Lease>, client: Id) -> bool {
    view.services().all(|store| view.links(store, client))
}

/// What a holder writes and renews is nothing new if it gets nowhere, or the client has written and
/// the store has renewed the lease already.
fn has_written_and_renewed(_: &Lease, view: &View<'_, Lease>, me: Id) -> bool {
    agree_or_cut_off(view, me, |client, store| {
        let written = store.written == client.token && store.accepted == Accepted::Fresh;
        let renewed = store.holder == Some(me) && store.token == client.token;
        client.role == Role::Holder && written && renewed
    })
}

/// Asking again is nothing new if it gets nowhere, or the client knows the holder already, and
/// watches the newest version of the record if it is to watch it.
fn knows_the_holder(rules: &Lease, view: &View<'_, Lease>, me: Id) -> bool {
    let watches = rules.term != Term::Observed || view.armed(me, Timer::Observed);
    agree_or_cut_off(view, me, |client, store| {
        let newest = rules.term != Term::Observed || client.version == store.version;
        client.holder.is_some() && store.holder == client.holder && newest && watches
    })
}

fn agree_or_cut_off(
    view: &View<'_, Lease>,
    me: Id,
    agree: impl Fn(&Process, &Process) -> bool,
) -> bool {
    view.services()
        .all(|store| agree(view.process(me), view.process(store)) || !view.hears(store, me))
}

// At most one client *believes* that it holds the lease: that is the usual `at-most-one-leader`.
const PROPERTIES: &[Property<Judge<Lease>>] = property_table! {
    "one-grant": "□ ∀ i ≠ j: ¬(granted(i) ∧ granted(j))",
        "the store has granted the lease to at most one client at a time";
        Always(|_, view| view.services().all(|store| view.process(store).granted.len() <= 1));
    "tokens-grow": "□ ∀ accepted writes v before w: token(v) ≤ token(w)",
        "the resource accepts no write with a lower token than one before (fencing)";
        Always(|_, view| last(view) != Accepted::Backwards);
    "no-stale-write": "□ ∀ accepted writes w: token(w) = token of the newest grant",
        "the resource accepts no write of a holder after the lease was granted again";
        Always(|_, view| last(view) == Accepted::Fresh);
    "lowest-can-lead" asked: "reachable: holds(min{i})",
        "the client with the lowest id can come to hold the lease; ids are nothing but names";
        Reachable(|_, view| {
            view.ids().next().is_some_and(|id| view.process(id).role == Role::Holder)
        });
};

/// What the last write was that the resource has accepted.
fn last(view: &View<'_, Lease>) -> Accepted {
    view.services().map(|store| view.process(store).accepted).next().unwrap_or_default()
}
