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
}

impl Limits {
    /// A node that has nothing to say says so no more often.
    const QUIET: Duration = Duration::from_secs(5);
    /// And to all of its peers together no more often than this.
    const EACH: Duration = Duration::from_millis(250);
    /// What an admission may take besides its question, on a machine that is busy.
    const SLACK: Duration = Duration::from_secs(1);

    /// For a node with so many peers. Members know how many there are: they refuse those that have
    /// another list, so both ends of a connection have the same times.
    pub(crate) fn new(step: Duration, peers: usize) -> Self {
        let all = Self::EACH * u32::try_from(peers).unwrap_or(u32::MAX);
        let quiet = step.max(Self::QUIET).max(all);
        let handshake = step * 3;
        let probe = step + handshake;
        Self { step, handshake, probe, admission: probe + Self::SLACK, quiet, idle: quiet * 3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many frames in a second a node with so many peers sends to them, if it has nothing else
    /// to say: pings, and answers to theirs.
    fn rate(peers: usize) -> f64 {
        let quiet = Limits::new(Duration::from_secs(1), peers).quiet;
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
                let limits = Limits::new(step, peers);
                assert!(limits.idle >= limits.quiet + 2 * step, "{limits:?}");
            }
        }
    }
}
