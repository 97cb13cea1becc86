//! How long the paper's algorithm waits, where time is measured. The election of another process is
//! made of calls, so the time-out of a call comes first.

use bellwether_engine::protocol::Duration;

pub(super) static T_CALL: Duration = Duration {
    name: "t-call",
    meaning: "how long a caller waits for the answer to a call",
    order: 0,
    enough: Some(3),
};

pub(super) static T_SILENCE: Duration = Duration {
    name: "t-silence",
    meaning: "how long it may take a process to notice that its coordinator is gone",
    order: 1,
    enough: Some(1),
};

pub(super) static T_ELECTION: Duration = Duration {
    name: "t-election",
    meaning: "how long a process waits for the election of a higher one to reach it",
    order: 2,
    enough: Some(7),
};

pub(super) static T_CHECK: Duration = Duration {
    name: "t-check",
    meaning: "how long a coordinator waits before it checks again",
    order: 3,
    enough: Some(1),
};
