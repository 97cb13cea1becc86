//! How long everything takes, where time is measured. A voter must keep a promise for longer than a
//! leader counts the lease that rests on it.

use bellwether_engine::protocol::Duration;

pub(super) static T_ROUND: Duration = Duration {
    name: "t-round",
    meaning: "how long a leader waits before its next round",
    order: 0,
    enough: Some(3),
};

pub(super) static T_LEASE: Duration = Duration {
    name: "t-lease",
    meaning: "how long a leader counts the lease that a majority's answers give it",
    order: 1,
    enough: Some(8),
};

pub(super) static T_PROMISE: Duration = Duration {
    name: "t-promise",
    meaning: "how long a voter keeps a promise, and a restarted one grants nothing",
    order: 2,
    enough: Some(9),
};

pub(super) static T_ELEC: Duration = Duration {
    name: "t-elec",
    meaning: "how long a process waits for answers to its canvass or its claim",
    order: 3,
    enough: Some(3),
};

pub(super) static T_COORD: Duration = Duration {
    name: "t-coord",
    meaning: "how long a process waits for a higher one to lead that runs",
    order: 4,
    enough: Some(8),
};

pub(super) static T_BACKOFF: Duration = Duration {
    name: "t-backoff",
    meaning: "how long a process without a majority is not electable",
    order: 5,
    enough: Some(20),
};

pub(super) static T_DWELL: Duration = Duration {
    name: "t-dwell",
    meaning: "how long a higher process follows a leader before it takes over",
    order: 7,
    enough: None,
};

pub(super) static T_SKEW: Duration = Duration {
    name: "t-skew",
    meaning: "how much later than the next higher a process canvasses that hears no leader",
    order: 6,
    enough: Some(6),
};
