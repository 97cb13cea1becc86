//! What clients and the store must be told before they can start, and what can be wrong with it.

use std::time::Duration;

use crate::protocol::settings::{Durations as Section, Relation, check};
use crate::protocol::{DurationError, Members, Membership, NodeId};

/// The configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Config {
    /// The configuration of a node that wants to lead.
    Client(ClientConfig),
    /// The configuration of the store.
    Store(StoreConfig),
}

impl Config {
    pub(super) fn durations(&self) -> &Durations {
        match self {
            Self::Client(config) => &config.durations,
            Self::Store(config) => &config.durations,
        }
    }
}

impl Membership for Config {
    fn id(&self) -> NodeId {
        match self {
            Self::Client(config) => config.id,
            Self::Store(config) => config.id,
        }
    }

    /// A client hears the store, and the store hears its clients.
    fn hears(&self, other: NodeId) -> bool {
        match self {
            Self::Client(config) => config.store == other,
            Self::Store(config) => config.clients.contains(other),
        }
    }
}

/// The configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    /// The id of the client itself.
    pub id: NodeId,
    /// The id of the node that the client asks.
    pub store: NodeId,
    /// The durations of everything in the protocol.
    pub durations: Durations,
}

/// The configuration of the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreConfig {
    /// The id of the store itself.
    pub id: NodeId,
    /// The nodes that may ask the store.
    pub clients: Members,
    /// The durations of everything in the protocol.
    pub durations: Durations,
}

/// The durations of everything in the protocol; the same on all clients and the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Durations {
    /// The time for which a client counts a lease, from before it asked.
    pub hold: Duration,
    /// The time for which the store keeps a lease, from when it granted it. If clocks run wrong by
    /// at most ρ, `hold` must be shorter than `keep` · (1 − ρ)/(1 + ρ).
    pub keep: Duration,
    /// The time that a holder waits before it renews its lease.
    pub renew: Duration,
    /// The time that a client that was refused waits before it asks again.
    pub retry: Duration,
}

impl Durations {
    /// The default durations: a leader that is gone is replaced within about 17 seconds; a clock
    /// may be wrong by a fifth.
    pub const DEFAULT: Self = Self {
        hold: Duration::from_secs(10),
        keep: Duration::from_secs(15),
        renew: Duration::from_secs(2),
        retry: Duration::from_secs(2),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        let (hold, keep, renew) = (("hold", self.hold), ("keep", self.keep), ("renew", self.renew));
        Section("lease").in_range(&[hold, keep, renew, ("retry", self.retry)])?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let section = Section("lease");
        let (hold, keep, renew) = (("hold", self.hold), ("keep", self.keep), ("renew", self.renew));
        let why = "a client must have stepped down, also if clocks drift, before the store grants \
                   the lease to another";
        let (fits, shorter) = (self.hold < self.keep, "shorter than");
        let shorter = section
            .require(fits, hold, shorter, keep, why, self.keep / 3 * 2)
            .shown("hold < keep", (self.hold, "<", self.keep));
        let why = "one lost message would end the lease";
        let (fits, half) = (self.renew * 2 <= self.hold, "at most half of");
        let often = section
            .require(fits, renew, half, hold, why, self.hold / 5)
            .shown("2 * renew <= hold", (self.renew * 2, "<=", self.hold));
        vec![shorter, often]
    }
}
