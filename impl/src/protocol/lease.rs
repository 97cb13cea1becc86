//! Leadership by lease: whoever a store has granted the lease leads, until it expires.
//!
//! A [`Client`] asks the store for the lease, holds it if it is granted, renews it, and steps down when
//! it has expired by its own clock. A [`Store`] is the smallest thing that grants leases: in production
//! its place is taken by a service that replicates what it writes (etcd, ZooKeeper, a database); here
//! it says what the clients rely on, and the tests run against it.
//!
//! Where each rule comes from:
//!
//! - **A lease is a promise for a time, and both sides count:** C. Gray and D. Cheriton, *Leases: an
//!   efficient fault-tolerant mechanism for distributed file cache consistency*, SOSP 1989. The holder
//!   counts conservatively: it must have stopped before the store begins to think of another.
//! - **The holder counts from before it asked:** M. Burrows, *The Chubby lock service for
//!   loosely-coupled distributed systems*, OSDI 2006, §2.8. Whatever time the request and its answer
//!   took is then on the safe side. Counted from the answer, the lease would be too long by the delay.
//! - **A token that grows with every grant goes with every write, and who accepts writes knows the newest
//!   grant:** Chubby's sequencers, §2.4 of the same; M. Kleppmann, *How to do distributed locking*,
//!   2016. A holder that was paused cannot know that it no longer is one; what it writes then says so.
//! - **A request has a number that no other request of the client has had, and only the answer to the
//!   latest counts:** ours. An answer that comes late would otherwise be taken for the answer to a
//!   later request, and the lease counted from too late a moment. How often the client has started is
//!   part of the number, and durable before anything is sent.
//! - **Whoever starts again is granted the lease that it had before:** ours. It gets a new token, so what
//!   its former self wrote and is still under way is rejected.
//!
//! # What it does not promise
//!
//! That at most one client *believes* it leads holds as long as nobody is paused, clocks drift no
//! more than the two durations allow, and the store keeps its word. What holds without that is the fence:
//! writes of a holder whose lease was granted again are rejected where they arrive.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ConfigError, Event, Input, NodeId, Output, Protocol, Status, Time};

mod client;
mod config;
mod store;

pub use client::Client;
pub use config::{ClientConfig, Config, Durations, StoreConfig};
pub use store::Store;

/// The number of a grant: it grows with every one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Token(u64);

impl Token {
    /// The token with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number; 0 before the first grant.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a request is called; no two of one client have the same.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Request {
    /// How often the client had started.
    pub started: u32,
    /// Which one it is since then, from 1.
    pub number: u32,
}

/// What clients and the store say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To the store: "Give me the lease, unless another has it."
    Acquire(Request),
    /// To the store: "Extend the lease with this token."
    Renew(Request, Token),
    /// To a client: "You hold the lease with this token."
    Granted(Request, Token),
    /// To a client: "You do not hold it; this one does," if anybody.
    Refused(Request, Option<NodeId>),
    /// To what the lease protects: the holder's work, with the token of its lease.
    Write(Token),
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Client: for an answer, as long as the lease that it asks for would last.
    Asked,
    /// Client: until the lease has expired.
    Lease,
    /// Client: until it works and renews again.
    Renew,
    /// Client: until it asks again.
    Retry,
    /// Store: until what it granted has expired.
    Grant,
}

impl Timer {
    /// Every timer, in the order of definition.
    pub const ALL: [Self; 5] = [Self::Asked, Self::Lease, Self::Renew, Self::Retry, Self::Grant];
}

/// What a client must not forget: how often it has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// How often.
    pub started: u32,
}

/// One node: a client, or the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// It wants to lead.
    Client(Client),
    /// It says who does.
    Store(Store),
}

type Effect = Output<Durable, Message>;

impl Protocol for Lease {
    const NAME: &'static str = "lease";
    type Config = Config;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    /// Neither draws random numbers: the seed changes nothing.
    fn new(config: Config, _seed: u64) -> Result<Self, ConfigError> {
        Ok(match config {
            Config::Client(config) => Self::Client(Client::new(config)?),
            Config::Store(config) => Self::Store(Store::new(config)?),
        })
    }

    fn handle(&mut self, now: Time, input: Input<Message>) {
        match self {
            Self::Client(client) => client.handle(now, input),
            Self::Store(store) => store.handle(now, input),
        }
    }

    fn poll(&mut self) -> Option<Effect> {
        match self {
            Self::Client(client) => client.poll(),
            Self::Store(store) => store.poll(),
        }
    }

    fn status(&self) -> Status {
        match self {
            Self::Client(client) => client.status(),
            Self::Store(store) => store.status(),
        }
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        match self {
            Self::Client(client) => client.timers(),
            Self::Store(store) => store.timers(),
        }
        .armed()
    }
}

/// What a node has to put out, each kind in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Outbox {
    persist: Option<Durable>,
    sends: std::collections::VecDeque<(NodeId, Message)>,
    events: std::collections::VecDeque<Event>,
    /// The deadline that was told last.
    announced: Option<Time>,
}

impl Outbox {
    fn send(&mut self, to: NodeId, message: Message) {
        self.sends.push_back((to, message));
    }

    fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// The next effect: what must be durable, then messages, then events, then the wake-up.
    fn next(&mut self, deadline: Option<Time>) -> Option<Effect> {
        if let Some(durable) = self.persist.take() {
            return Some(Output::Persist(durable));
        }
        if let Some((to, message)) = self.sends.pop_front() {
            return Some(Output::Send { to, message });
        }
        if let Some(event) = self.events.pop_front() {
            return Some(Output::Event(event));
        }
        if deadline == self.announced {
            return None;
        }
        self.announced = deadline;
        Some(Output::WakeAt(deadline))
    }
}

#[cfg(test)]
mod tests;
