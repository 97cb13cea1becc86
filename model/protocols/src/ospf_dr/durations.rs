//! How long a router waits, where time is measured.

use bellwether_engine::protocol::Duration;

pub(super) static T_HELLO: Duration = Duration {
    name: "t-hello",
    meaning: "how long a router waits before it says Hello again",
    order: 0,
    enough: Some(3),
};

pub(super) static T_DEAD: Duration = Duration {
    name: "t-dead",
    meaning: "how long a neighbour may be silent before it is down",
    order: 1,
    enough: Some(5),
};

pub(super) static T_WAIT: Duration = Duration {
    name: "t-wait",
    meaning: "how long a router that has come up listens",
    order: 2,
    enough: Some(8),
};
