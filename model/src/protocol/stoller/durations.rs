//! How long the failure detector takes, and the time between questions, where time is measured.

use super::{Query, Stoller, Timer, Unanswered};
use crate::protocol::{Duration, Wait};

pub(super) const ALL: &[Duration] = &[
    Duration { name: "t-detect", meaning: "how long it may take to notice that a process is gone" },
    Duration {
        name: "t-ask",
        meaning: "how long a leader waits before it asks again, and a HALT for its answer",
    },
];

/// How `timer` measures time; `None` if by these rules nobody arms it.
pub(super) fn of(rules: &Stoller, timer: Timer) -> Option<Wait> {
    match timer {
        Timer::Monitor(_) => Some(Wait::Detector("t-detect")),
        Timer::Ask => (rules.query != Query::Nobody || rules.unanswered != Unanswered::Waits)
            .then_some(Wait::Fixed("t-ask")),
    }
}
