//! How long the failure detector takes, and the time between questions, where time is measured.

use bellwether_engine::protocol::Duration;

pub(super) static T_DETECT: Duration = Duration {
    name: "t-detect",
    meaning: "how long it may take to notice that a process is gone",
    order: 0,
    enough: Some(1),
};

/// A question and its answer take two ticks, and may come in the last moment.
pub(super) static T_ASK: Duration = Duration {
    name: "t-ask",
    meaning: "how long a leader waits before it asks again, and a HALT for its answer",
    order: 1,
    enough: Some(3),
};
