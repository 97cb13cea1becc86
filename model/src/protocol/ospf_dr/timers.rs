//! What a router waits for, and how long.

use super::OspfDr;
use crate::protocol::{Duration, Id, Wait};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a router waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next Hello is due (`HelloInterval`).
    Hello,
    /// A router that has come up listens (`Wait Timer`).
    Wait,
    /// A neighbour has to be heard again (`Inactivity Timer`).
    Inactivity(Id),
}

pub(super) const ALL: &[Timer] = &[
    Timer::Hello,
    Timer::Wait,
    Timer::Inactivity(Id::at(0)),
    Timer::Inactivity(Id::at(1)),
    Timer::Inactivity(Id::at(2)),
    Timer::Inactivity(Id::at(3)),
    Timer::Inactivity(Id::at(4)),
    Timer::Inactivity(Id::at(5)),
    Timer::Inactivity(Id::at(6)),
];

/// By the standard the last two are one, `RouterDeadInterval`. They wait for different things.
pub(super) const DURATIONS: &[Duration] = &[
    Duration { name: "t-hello", meaning: "how long a router waits before it says Hello again" },
    Duration { name: "t-dead", meaning: "how long a neighbour may be silent before it is down" },
    Duration { name: "t-wait", meaning: "how long a router that has come up listens" },
];

/// How `timer` measures time; `None` if by these rules nobody arms it.
pub(super) fn wait(rules: &OspfDr, timer: Timer) -> Option<Wait> {
    match timer {
        Timer::Hello => Some(Wait::Fixed("t-hello")),
        Timer::Wait => rules.waiting.then_some(Wait::Fixed("t-wait")),
        Timer::Inactivity(_) => Some(Wait::Fixed("t-dead")),
    }
}

/// A timer's name, as it stands in traces: `inactivity-3` waits for router 3.
impl Serialize for Timer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Timer::Hello => serializer.serialize_str("hello"),
            Timer::Wait => serializer.serialize_str("wait"),
            Timer::Inactivity(id) => serializer.collect_str(&format_args!("inactivity-{id}")),
        }
    }
}

impl<'de> Deserialize<'de> for Timer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = ALL.iter().find(|timer| crate::words::plain(timer) == name.replace('-', " "));
        known
            .copied()
            .ok_or_else(|| serde::de::Error::custom(format!("there is no timer {name:?}")))
    }
}
