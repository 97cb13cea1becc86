//! How long the invitation algorithm waits, where time is measured. A delay waits for another
//! process that may be in the middle of a merge, and for its next check after that, so it comes
//! last.
//!
//! What is enough for three processes of which one crashes and recovers: an answer takes `2·Tm +
//! 2·Tp + 1`; an acceptance `Tm` more, since an invitation may be passed on; and the higher process
//! that a delay is for may have to finish a merge (`t-accept`, then READY and DONE) and to check
//! (`t-check`, `t-answer`) before its invitation leaves.

use bellwether_engine::protocol::Duration;

pub(super) static T_ANSWER: Duration = Duration {
    name: "t-answer",
    meaning: "how long a process that asks another waits for an answer",
    order: 0,
    enough: Some(3),
};

pub(super) static T_ACCEPT: Duration = Duration {
    name: "t-accept",
    meaning: "how long a process that invites others waits for acceptances",
    order: 1,
    enough: Some(4),
};

pub(super) static T_CHECK: Duration = Duration {
    name: "t-check",
    meaning: "how long a coordinator waits before it looks for others",
    order: 2,
    enough: Some(1),
};

pub(super) static T_DETECT: Duration = Duration {
    name: "t-detect",
    meaning: "how long it may take a member to notice that its coordinator is silent",
    order: 3,
    enough: Some(1),
};

pub(super) static T_DELAY: Duration = Duration {
    name: "t-delay",
    meaning: "how long a coordinator waits before it merges, for each rank that the highest \
              coordinator it has found is above it",
    order: 4,
    enough: Some(11),
};
