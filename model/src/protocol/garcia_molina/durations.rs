//! How long the paper's algorithm waits, where time is measured.

use super::{Check, GarciaMolina, Recovery, Timer};
use crate::protocol::{Duration, Wait};

/// The election of another is made of calls, so the time-out of a call comes first.
pub(super) const ALL: &[Duration] = &[
    Duration { name: "t-call", meaning: "how long a caller waits for the answer to a call" },
    Duration {
        name: "t-silence",
        meaning: "how long it may take a process to notice that its coordinator is gone",
    },
    Duration {
        name: "t-election",
        meaning: "how long a process waits for the election of a higher one to reach it",
    },
    Duration { name: "t-check", meaning: "how long a coordinator waits before it checks again" },
];

/// How `timer` measures time; `None` if by these rules nobody arms it.
pub(super) fn of(rules: &GarciaMolina, timer: Timer) -> Option<Wait> {
    match timer {
        Timer::Answer => Some(Wait::Fixed("t-call")),
        Timer::Recovery => (rules.recovery == Recovery::Quiet).then_some(Wait::Fixed("t-call")),
        Timer::Silence => Some(Wait::Detector("t-silence")),
        Timer::Election => Some(Wait::Fixed("t-election")),
        Timer::Check => (rules.check != Check::Never).then_some(Wait::Fixed("t-check")),
    }
}
