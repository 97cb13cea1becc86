//! How long the bully waits, where time is measured.

use super::{Bully, Restart, Timer, Watch};
use crate::protocol::{Duration, Wait};

/// `T_coord` waits for a whole election of another, so `T_elec` comes first.
pub(super) const ALL: &[Duration] = &[
    Duration { name: "t-elec", meaning: "how long a candidate waits for an OK" },
    Duration { name: "t-answer", meaning: "how long who asked who leads waits for an answer" },
    Duration {
        name: "t-coord",
        meaning: "how long who had an OK waits for a COORDINATOR before it holds a new election",
    },
    Duration {
        name: "t-detect",
        meaning: "how long it may take a follower to notice that its leader is gone",
    },
    Duration {
        name: "t-heartbeat",
        meaning: "how long a leader waits before it says again that it leads",
    },
];

/// How `timer` measures time; `None` if by these rules nobody arms it.
pub(super) fn of(rules: &Bully, timer: Timer) -> Option<Wait> {
    match timer {
        Timer::Election => Some(Wait::Fixed("t-elec")),
        Timer::Coordinator => rules.t_coord.then_some(Wait::Fixed("t-coord")),
        Timer::Watch => Some(Wait::Detector("t-detect")),
        Timer::Heartbeat => {
            (rules.watch == Watch::Announcement).then_some(Wait::Fixed("t-heartbeat"))
        }
        Timer::Answer => (rules.restart == Restart::CheckFirst).then_some(Wait::Fixed("t-answer")),
    }
}
