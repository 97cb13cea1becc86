//! What clients and the store must be told before they can start, and what can be wrong with it.

use std::time::Duration;

use crate::protocol::{ConfigError, Members, NodeId};

/// The configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Config {
    /// Of one that wants to lead.
    Client(ClientConfig),
    /// Of the store.
    Store(StoreConfig),
}

/// The configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    /// The client itself.
    pub id: NodeId,
    /// Whom it asks.
    pub store: NodeId,
    /// How often it has started before, as it made durable; 0 if never.
    pub started: u32,
    /// How long everything takes.
    pub durations: Durations,
}

/// The configuration of the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreConfig {
    /// The store itself.
    pub id: NodeId,
    /// Who may ask it.
    pub clients: Members,
    /// How long everything takes.
    pub durations: Durations,
}

/// How long everything takes; the same on all clients and the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Durations {
    /// How long a client counts a lease, from before it asked.
    pub hold: Duration,
    /// How long the store keeps a lease, from when it granted it. If clocks run wrong by at most ρ,
    /// `hold` must be shorter than `keep` · (1 − ρ)/(1 + ρ).
    pub keep: Duration,
    /// How long a holder waits before it renews its lease.
    pub renew: Duration,
    /// How long a client that was refused waits before it asks again.
    pub retry: Duration,
}

impl Durations {
    /// A leader that is gone is replaced within about 17 seconds; a clock may be wrong by a fifth.
    pub const DEFAULT: Self = Self {
        hold: Duration::from_secs(10),
        keep: Duration::from_secs(15),
        renew: Duration::from_secs(2),
        retry: Duration::from_secs(2),
    };

    /// The longest that any of them may be: a day.
    pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { hold, keep, renew, retry } = *self;
        for (name, value) in [("hold", hold), ("keep", keep), ("renew", renew), ("retry", retry)] {
            if value.is_zero() || value > Self::MAX {
                return Err(ConfigError::OutOfRange { name, value });
            }
        }
        if hold >= keep {
            return Err(ConfigError::HeldTooLong { hold, keep });
        }
        if renew * 2 > hold {
            return Err(ConfigError::RenewedTooLate { renew, hold });
        }
        Ok(())
    }
}
