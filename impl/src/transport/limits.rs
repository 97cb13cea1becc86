//! How long anything may take that the other side decides.

use std::time::Duration;

/// How long what a connection needs may take. Everything follows from one length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Until a connection stands; and how long what was sent may stay unacknowledged.
    pub(crate) step: Duration,
    /// For a whole handshake: three times there and back.
    pub(crate) handshake: Duration,
    /// How long a node that has nothing to say is silent before it says that.
    pub(crate) quiet: Duration,
    /// How long a connection may be silent.
    pub(crate) idle: Duration,
}

impl Limits {
    /// A node that has nothing to say says so no more often.
    const QUIET: Duration = Duration::from_secs(5);

    pub(crate) fn new(step: Duration) -> Self {
        let quiet = step.max(Self::QUIET);
        Self { step, handshake: step * 3, quiet, idle: quiet * 3 }
    }
}
