//! What a router waits for.

use super::durations::{T_DEAD, T_HELLO, T_WAIT};
use super::{OspfDr, timing};
use bellwether_engine::protocol::{Id, TimerRow};
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

/// The rows. By the standard the durations of the last two are one, `RouterDeadInterval`; they wait
/// for different things.
pub(super) const ROWS: &[TimerRow<OspfDr>] = &[
    TimerRow::fixed(Timer::Hello, &T_HELLO).periodic(timing::all_are_told),
    TimerRow::fixed(Timer::Wait, &T_WAIT).armed_if(|rules| rules.waiting),
    inactivity(0),
    inactivity(1),
    inactivity(2),
    inactivity(3),
    inactivity(4),
    inactivity(5),
    inactivity(6),
];

const fn inactivity(at: usize) -> TimerRow<OspfDr> {
    TimerRow::fixed(Timer::Inactivity(Id::at(at)), &T_DEAD)
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
        let name_of = |timer: &Timer| bellwether_engine::words::plain(timer);
        let mut known = ROWS.iter().map(|row| row.timer);
        known
            .find(|timer| name_of(timer) == name.replace('-', " "))
            .ok_or_else(|| serde::de::Error::custom(format!("there is no timer {name:?}")))
    }
}
