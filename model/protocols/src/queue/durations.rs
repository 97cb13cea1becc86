//! How long the queue waits, where time is measured. A client is patient for longer than it takes
//! to ping, and the store for longer than a client.

use bellwether_engine::protocol::Duration;

pub(super) static T_PING: Duration = Duration {
    name: "t-ping",
    meaning: "how long a client waits before it pings again",
    order: 0,
    enough: None,
};

pub(super) static T_CONTACT: Duration = Duration {
    name: "t-contact",
    meaning: "how long a client bears not to hear from the store (of a detector: at most)",
    order: 1,
    enough: Some(1),
};

pub(super) static T_SESSION: Duration = Duration {
    name: "t-session",
    meaning: "how long the store bears not to hear from a client (of a detector: at most)",
    order: 2,
    enough: Some(1),
};
