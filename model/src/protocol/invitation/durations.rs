//! How long the invitation algorithm waits, where time is measured.

use super::{Invitation, Priority, Timer};
use crate::protocol::{Duration, Wait};

/// A delay waits for another that may be in the middle of a merge, and for its next check after
/// that, so it comes last.
pub(super) const ALL: &[Duration] = &[
    Duration { name: "t-answer", meaning: "how long who asks another process waits for an answer" },
    Duration { name: "t-accept", meaning: "how long who invites waits for acceptances" },
    Duration {
        name: "t-check",
        meaning: "how long a coordinator waits before it looks for others",
    },
    Duration {
        name: "t-detect",
        meaning: "how long it may take a member to notice that its coordinator is silent",
    },
    Duration {
        name: "t-delay",
        meaning: "how long a coordinator waits before it merges, for each rank that the highest \
                  coordinator it has found is above it",
    },
];

/// Enough for three processes of which one crashes and comes back: an answer takes `2·Tm + Tp + 1`;
/// an acceptance `Tm` more, since an invitation may be passed on; and the higher one that a delay is
/// for may have to finish a merge (`t-accept`, then READY and DONE) and to check (`t-check`,
/// `t-answer`) before its invitation leaves.
pub(super) const ENOUGH: &[(&str, u8)] =
    &[("t-answer", 3), ("t-accept", 4), ("t-check", 1), ("t-detect", 1), ("t-delay", 11)];

/// How `timer` measures time; `None` if by these rules nobody arms it.
pub(super) fn of(rules: &Invitation, timer: Timer) -> Option<Wait> {
    match timer {
        Timer::Check => Some(Wait::Fixed("t-check")),
        Timer::Answers | Timer::There => Some(Wait::Fixed("t-answer")),
        Timer::Ready => rules.acknowledge.then_some(Wait::Fixed("t-answer")),
        Timer::Accepts => Some(Wait::Fixed("t-accept")),
        Timer::Watch => Some(Wait::Detector("t-detect")),
        Timer::Delay => (rules.priority == Priority::Delay).then_some(Wait::Fixed("t-delay")),
    }
}
