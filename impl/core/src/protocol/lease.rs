//! Leadership by lease: the node to which a store has granted the lease leads, until it expires.
//!
//! A [`Client`] asks the store for the lease, holds it if it is granted, renews it, and steps down
//! when it has expired by its own clock. A [`Store`] is the smallest thing that grants leases: in
//! production its place is taken by a service that replicates what it writes (etcd, ZooKeeper, a
//! database); here it says what the clients rely on, and the tests run against it.
//!
//! Where each rule comes from:
//!
//! - **A lease is a promise for a time, and both sides count:** C. Gray and D. Cheriton, *Leases:
//!   an efficient fault-tolerant mechanism for distributed file cache consistency*, SOSP 1989. The
//!   holder counts conservatively: it must have stopped before the store begins to think of
//!   another.
//! - **The holder counts from before it asked:** M. Burrows, *The Chubby lock service for
//!   loosely-coupled distributed systems*, OSDI 2006, §2.8. Whatever time the request and its
//!   answer took is then on the safe side. Counted from the answer, the lease would be too long by
//!   the delay.
//! - **A token that grows with every grant goes with every write, and what accepts writes knows the
//!   newest grant:** Chubby's sequencers, §2.4 of the same; M. Kleppmann, *How to do distributed
//!   locking*, 2016. A holder that was paused cannot know that it no longer is one; what it writes
//!   then says so.
//! - **A request has a number that no other request of the client has had, and only the answer to
//!   the latest counts:** ours. An answer that comes late would otherwise be taken for the answer
//!   to a later request, and the lease counted from too late a moment. How often the client has
//!   started is part of the number, and durable before anything is sent.
//! - **A client that starts again is granted the lease that it had before:** ours. It gets a new
//!   token, so what its former self wrote and is still under way is rejected.
//! - **A holder that notices late that its lease is over does nothing in its name any more**, not
//!   even what was due before: ours.
//! - **A holder that is asked to lead no longer ends its work, and gives the lease back after
//!   that:** Chubby's `Release`, §2.4. The store tells the other clients that the lease is free, or
//!   they would ask only when they would have asked anyway: ours.
//!
//! # What it does not promise
//!
//! That at most one client *believes* it leads holds as long as no client is paused, clocks drift
//! no more than the two durations allow, and the store keeps its word. What holds without that is
//! the fence: writes of a holder whose lease was granted again are rejected where they arrive.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Belief, Context, Core, DurationError, Epoch, Membership as _, NodeId, Reason, Role};

mod client;
mod config;
mod requests;
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
    /// Returns the token with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number of the token; 0 before the first grant.
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

/// The name of a request; no two of one client have the same.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Request {
    /// The number of times that the client had started.
    pub started: u32,
    /// The number of the request since then, from 1.
    pub number: u32,
}

/// The messages that clients and the store send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To the store: "Give me the lease, unless another has it."
    Acquire(Request),
    /// To the store: "Extend the lease with this token."
    Renew(Request, Token),
    /// To a client: "You hold the lease with this token."
    Granted(Request, Token),
    /// To a client: "You do not hold it; this one does," if any.
    Refused(Request, Option<NodeId>),
    /// To what the lease protects: the holder's work, with the token of its lease.
    Write(Token),
    /// To the store: "I give back the lease with this token."
    Release(Token),
    /// To a client: "The lease was given back, and is free."
    Available,
}

/// The timers by which a node waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The timer of a client for an answer, as long as the lease that it asks for would last.
    Asked,
    /// The timer of a client, until the lease has expired.
    Lease,
    /// The timer of a client, until it works and renews again.
    Renew,
    /// The timer of a client, until it asks again.
    Retry,
    /// The timer of the store, until what it granted has expired.
    Grant,
    /// The timer of a client that was asked not to lead for a time, until that is over.
    Away,
}

const GRANTED: Reason = Reason::new("granted", "the store granted the lease");
const REFUSED: Reason = Reason::new("refused", "the store refused the lease");
const RELEASED: Reason = Reason::new("released", "the holder has given the lease back");
const LEASE_EXPIRED: Reason = Reason::new("lease_expired", "the lease has expired");

/// The state that a client must not forget: how often it has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The number of times that the client has started.
    pub started: u32,
}

/// A node of the protocol: a client, or the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// The node wants to lead.
    Client(Client),
    /// The node says which client leads.
    Store(Store),
}

impl Core for Lease {
    const NAME: &'static str = "lease";
    const TIMERS: &'static [Timer] =
        &[Timer::Asked, Timer::Lease, Timer::Renew, Timer::Retry, Timer::Grant, Timer::Away];
    const REQUESTS: bool = true;
    /// The store grants the lease to the client that asks first.
    const TRANSFERS: bool = false;
    type Config = Config;
    type Error = DurationError;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Durable>) -> Result<(), DurationError> {
        config.durations().validate()
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        let durations = config.durations();
        match timer {
            Timer::Asked | Timer::Lease => durations.hold,
            Timer::Renew => durations.renew,
            Timer::Retry => durations.retry,
            Timer::Grant => durations.keep,
            // It is armed until the time that was asked for is over.
            Timer::Away => Duration::ZERO,
        }
    }

    /// As long as a client counts a lease: what is granted later is over when it arrives.
    fn message_lifetime(config: &Config) -> Duration {
        config.durations().hold
    }

    /// What the store has granted ends, and a client asks again.
    fn election_takes(config: &Config) -> Duration {
        config.durations().keep + config.durations().retry
    }

    /// A client is a candidate until it hears of a holder. The store is a follower of the holder.
    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted | Role::Waiting => false,
            Role::Candidate => from != Role::Candidate,
            Role::Follower => true,
            Role::Leader => matches!(from, Role::Candidate | Role::Follower),
        }
    }

    fn boot(cx: &mut Context<'_, Self>, durable: Option<Durable>, _: u64) -> Self {
        match cx.config() {
            Config::Client(config) => Self::Client(Client::boot(cx, config, durable)),
            Config::Store(_) => Self::Store(Store::boot(cx)),
        }
    }

    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        match (self, message) {
            (Self::Client(client), Message::Granted(request, token)) => {
                client.on_granted(cx, request, token);
            }
            (Self::Client(client), Message::Refused(request, holder)) => {
                client.on_refused(cx, request, holder);
            }
            (Self::Store(store), Message::Acquire(request)) => {
                store.on_acquire(cx, from, request);
            }
            (Self::Store(store), Message::Renew(request, token)) => {
                store.on_renew(cx, from, request, token);
            }
            (Self::Store(store), Message::Write(token)) => store.on_write(token),
            (Self::Store(store), Message::Release(token)) => store.on_release(cx, from, token),
            (Self::Client(client), Message::Available) => client.ask_if_idle(cx),
            (Self::Client(_) | Self::Store(_), _) => cx.ignore(from, Reason::WRONG_DIRECTION),
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match self {
            Self::Client(client) => client.expire(cx, timer),
            Self::Store(store) => store.expire(cx),
        }
    }

    /// The store does not lead, and is asked for nothing.
    fn request(&mut self, cx: &mut Context<'_, Self>, request: super::Request) {
        if let Self::Client(client) = self {
            client.on_request(cx, &request);
        }
    }

    /// The token is the epoch: the store grants each once.
    fn lease(&self) -> Option<(Epoch, Timer)> {
        let Self::Client(client) = self else { return None };
        client.token().map(|token| (Epoch::new(token.get()), Timer::Lease))
    }

    fn belief(&self, config: &Config) -> Belief {
        match self {
            Self::Client(client) => client.belief(config.id()),
            Self::Store(store) => store.belief(),
        }
    }
}

#[cfg(test)]
mod tests;
