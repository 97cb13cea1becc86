//! How long a ring's timers take where time is measured.

use super::{Rules, Timer, Watch};
use crate::protocol::{Duration, Wait};

/// `T_lap` waits for every hop of a lap, so the hop comes first.
pub(in crate::protocol) const ALL: &[Duration] = &[
    Duration { name: "t-hop", meaning: "how long who handed something on waits for its ACK" },
    Duration {
        name: "t-lap",
        meaning: "how long who takes part in a ring's election waits before it holds a new one",
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

/// How `timer` measures time under these rules; `None` if nobody arms it.
pub(in crate::protocol) fn wait(timer: Timer, rules: Rules) -> Option<Wait> {
    match timer {
        Timer::Hop => rules.skip.then_some(Wait::Fixed("t-hop")),
        Timer::Lap => rules.t_lap.then_some(Wait::Fixed("t-lap")),
        Timer::Watch => Some(Wait::Detector("t-detect")),
        Timer::Heartbeat => {
            (rules.watch == Watch::Announcement).then_some(Wait::Fixed("t-heartbeat"))
        }
    }
}
