//! How long what a member waits for takes, where time is measured.

use bellwether_engine::protocol::Duration;

pub(super) static T_ROUND: Duration = Duration {
    name: "t-round",
    meaning: "how long a leader waits before it renews its lease",
    order: 0,
    enough: None,
};

pub(super) static T_LEASE: Duration = Duration {
    name: "t-lease",
    meaning: "how long a leader counts its lease",
    order: 1,
    enough: None,
};

pub(super) static T_CLAIM: Duration = Duration {
    name: "t-claim",
    meaning: "how long the holder of the baton waits before it claims the next epoch",
    order: 2,
    enough: None,
};

pub(super) static T_SILENCE: Duration = Duration {
    name: "t-silence",
    meaning: "how long after a pause a program is not told that its node leads",
    order: 3,
    enough: None,
};

pub(super) static T_DISK: Duration = Duration {
    name: "t-disk",
    meaning: "how long a disk may take before its node is not fit to lead",
    order: 4,
    enough: None,
};
