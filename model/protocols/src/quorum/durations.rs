//! How long everything takes, where time is measured. A voter must keep a promise for longer than a
//! leader counts the lease that rests on it.

use bellwether_engine::protocol::Duration;
use bellwether_engine::world::Durations;

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

/// The leader's last round arrives, promises to it run out, the next highest process waits for its
/// turn, canvasses, waits in vain for the one that is gone, claims, is granted, and leads.
pub(super) fn agrees_within(durations: &Durations, delay: u8) -> Option<u8> {
    let ticks = |duration: &Duration| durations.get(duration.name).map(u16::from);
    let silence = u16::from(delay) + ticks(&T_PROMISE)?;
    let turn = 2 * ticks(&T_SKEW)? + ticks(&T_ELEC)?;
    u8::try_from(silence + turn + 3 * u16::from(delay)).ok()
}
