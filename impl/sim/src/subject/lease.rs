//! The clients of a lease, with each store, and with one after the other.

use std::time::Duration;

use bellwether_core::protocol::lease::{ClientConfig, Config, Lease as Core, Message};
use bellwether_core::protocol::{Members, NodeId};
use bellwether_core::store::STORE;

use super::{OF_THE_MEMBER, Says, Subject};
use crate::client::LONGEST_BACKOFF;
use crate::store::{
    DRIFT_PPM, DURATIONS, ETCD, KUBERNETES, LIMIT, POSTGRES, REDIS, SQLITE, Semantics,
};
use crate::wrong::Wrong;

/// The invariants that hold with every store, whatever happens to it.
const ALWAYS: &[&str] = &["tokens-grow", "lease-before-word", "settles"];

/// The protocol with each store in turn, by the seed, and with one store.
const NAMED: [(&str, &[Semantics]); 6] = [
    ("lease", &[SQLITE, POSTGRES, REDIS, ETCD, KUBERNETES]),
    ("lease-sqlite", &[SQLITE]),
    ("lease-postgres", &[POSTGRES]),
    ("lease-redis", &[REDIS]),
    ("lease-etcd", &[ETCD]),
    ("lease-kubernetes", &[KUBERNETES]),
];

/// The clients of a lease, at this place of the names.
#[derive(Clone, Copy, Debug)]
pub struct Lease<const PLACE: usize>;

impl<const PLACE: usize> Subject for Lease<PLACE> {
    const NAME: &'static str = NAMED[PLACE].0;
    const PROMISES: &'static [&'static [&'static str]] = &[OF_THE_MEMBER, ALWAYS];
    const STORES: &'static [Semantics] = NAMED[PLACE].1;
    type Core = Core;

    fn config(_: &Members, id: NodeId, _: usize, _: Option<Wrong>) -> Config {
        Config::Client(ClientConfig { id, store: STORE, durations: DURATIONS })
    }

    fn question(message: &Message) -> Option<Message> {
        Some(*message)
    }

    fn answer(message: Message) -> Option<Message> {
        Some(message)
    }

    fn observe(message: &Message) -> Says {
        match message {
            Message::Write(token) => Says::Leads(token.get()),
            _ => Says::Other,
        }
    }

    fn drift_ppm() -> i64 {
        DRIFT_PPM
    }

    /// A record that nobody renews is noticed within the time of a lease, and is then watched for as
    /// long; after the first grant of a store that had lost its record, nobody leads for as long.
    /// The first attempt may be in vain.
    fn bound(_: usize, delay: Duration, _: usize) -> Duration {
        (DURATIONS.keep * 2 + LONGEST_BACKOFF + LIMIT + DURATIONS.retry + delay * 4) * 2
    }
}
