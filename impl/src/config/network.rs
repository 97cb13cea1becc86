//! The section `[network]`: how long connections may take, and what is made of their ends.

use std::time::Duration;

use serde::Deserialize;

use super::{Config, Error, Runnable};

/// The longest time-out of the network.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Those that follow from the protocol; a configuration may have others.
const SHORTEST_USUAL: Duration = Duration::from_secs(1);
const LONGEST_USUAL: Duration = Duration::from_secs(5);

/// The settings of the network in a file or in flags. A setting that is not given is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NetworkSettings {
    /// The time that a connection may take until it stands.
    #[serde(default, deserialize_with = "super::fields::time")]
    pub timeout: Option<Duration>,
    /// Whether a member that has hung up, and whose address refuses connections, is waited for no
    /// longer.
    pub suspect_refused: Option<bool>,
}

impl<C: Runnable> Config<C> {
    /// Returns how long a connection may take until it stands; a third of what a handshake may
    /// take; and how long what was sent may stay unacknowledged. If nothing is configured, it
    /// follows from how long a message of the protocol is worth sending.
    #[must_use]
    pub fn network_timeout(&self) -> Duration {
        self.network.timeout(C::message_lifetime(&self.core))
    }

    /// Returns whether a timer that only waits for members that have hung up, and whose addresses
    /// refuse connections, expires at once. So a leader that was killed is replaced sooner.
    #[must_use]
    pub fn suspects_refused(&self) -> bool {
        self.network.suspects_refused()
    }
}

impl NetworkSettings {
    /// Checks what can be wrong.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.timeout {
            Some(timeout) if timeout.is_zero() || timeout > LONGEST_TIMEOUT => {
                let problem =
                    format!("network.timeout is {timeout:?}: use more than 0s and at most 1h");
                Err(Error::Setting { problem })
            }
            _ => Ok(()),
        }
    }

    /// How long a connection may take, where a message is worth sending for so long.
    pub(super) fn timeout(&self, lifetime: Duration) -> Duration {
        // There and back, within reason.
        self.timeout.unwrap_or_else(|| (lifetime * 2).clamp(SHORTEST_USUAL, LONGEST_USUAL))
    }

    pub(super) fn suspects_refused(&self) -> bool {
        self.suspect_refused.unwrap_or(true)
    }
}
