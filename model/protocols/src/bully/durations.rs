//! How long the bully waits, where time is measured. `T_coord` waits for a whole election of
//! another process, so `T_elec` comes first.

use bellwether_engine::protocol::Duration;

pub(super) static T_ELEC: Duration = Duration {
    name: "t-elec",
    meaning: "how long a candidate waits for an OK",
    order: 0,
    enough: Some(3),
};

pub(super) static T_ANSWER: Duration = Duration {
    name: "t-answer",
    meaning: "how long a process that asked which leads waits for an answer",
    order: 1,
    enough: None,
};

pub(super) static T_COORD: Duration = Duration {
    name: "t-coord",
    meaning: "how long a process that had an OK waits for a COORDINATOR before it starts an \
              election",
    order: 2,
    enough: Some(7),
};

pub(super) static T_DETECT: Duration = Duration {
    name: "t-detect",
    meaning: "how long it may take a follower to notice that its leader is gone",
    order: 3,
    enough: Some(1),
};

pub(super) static T_HEARTBEAT: Duration = Duration {
    name: "t-heartbeat",
    meaning: "how long a leader waits before it says again that it leads",
    order: 4,
    enough: Some(2),
};
