//! How long anything may take that the other side decides.

use std::time::Duration;

/// How long what a connection needs may take. Everything follows from one length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Until a connection stands; and how long what was sent may stay unacknowledged.
    pub(crate) step: Duration,
    /// For a whole handshake: three times there and back.
    pub(crate) handshake: Duration,
    /// How long a process may take to say that it is there, when another says it is the same node.
    pub(crate) probe: Duration,
    /// How long a node that is called may take to find out whether the caller is a double.
    pub(crate) admission: Duration,
    /// How long a node that has nothing to say is silent before it says that, and how long it takes
    /// from one ping to the next, whatever else it says.
    pub(crate) quiet: Duration,
    /// How long a connection may be silent.
    pub(crate) idle: Duration,
    /// For each peer, at least this long passes from one ping to the next.
    pub(crate) each: Duration,
}

impl Limits {
    /// A node that has nothing to say says so no more often.
    const QUIET: Duration = Duration::from_secs(5);
    /// And to all of its peers together no more often than this.
    const EACH: Duration = Duration::from_millis(250);
    /// What an admission may take besides its question, on a machine that is busy.
    const SLACK: Duration = Duration::from_secs(1);

    /// For a node with few peers.
    pub(crate) fn new(step: Duration) -> Self {
        let quiet = step.max(Self::QUIET);
        let handshake = step * 3;
        let probe = step + handshake;
        let (admission, idle, each) = (probe + Self::SLACK, quiet * 3, Self::EACH);
        Self { step, handshake, probe, admission, quiet, idle, each }
    }

    /// The same with so many peers. While a list changes, one end of a connection may have the
    /// times of the list before: `idle` leaves room for three times as many members.
    pub(super) fn among(self, peers: usize) -> Self {
        let all = self.each * u32::try_from(peers).unwrap_or(u32::MAX);
        let quiet = self.quiet.max(all);
        Self { quiet, idle: self.idle.max(quiet * 3), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many frames in a second a node with so many peers sends to them, if it has nothing else
    /// to say: pings, and answers to theirs.
    fn rate(peers: usize) -> f64 {
        let quiet = Limits::new(Duration::from_secs(1)).among(peers).quiet;
        2.0 * f64::from(u32::try_from(peers).expect("few")) / quiet.as_secs_f64()
    }

    #[test]
    fn what_a_quiet_node_sends_is_bounded_however_many_members_there_are() {
        for (nodes, expected) in [(3, 0.8), (9, 3.2), (21, 8.0), (50, 8.0), (255, 8.0)] {
            assert!((rate(nodes - 1) - expected).abs() < 0.001, "{nodes}: {}", rate(nodes - 1));
        }
    }

    #[test]
    fn no_connection_is_closed_whose_other_end_has_nothing_to_say() {
        for peers in [1, 20, 254] {
            for step in [1, 5, 30].map(Duration::from_secs) {
                let limits = Limits::new(step).among(peers);
                assert!(limits.idle >= limits.quiet + 2 * step, "{limits:?}");
            }
        }
    }
}
