//! How long a router waits, where time is measured.

use super::{Timer, Vrrp};
use crate::protocol::{Duration, Id, Wait};

/// `Skew_Time` sets the time-outs apart, so it comes before the rest of `Active_Down_Interval`.
pub(super) const ALL: &[Duration] = &[
    Duration {
        name: "t-advertise",
        meaning: "how long an Active router waits before it says again that it is (one interval)",
    },
    Duration {
        name: "t-skew",
        meaning: "by how much longer a Backup waits than one of the next higher priority",
    },
    Duration {
        name: "t-down",
        meaning: "how long a Backup bears silence, before its skew (by the standard 3 intervals)",
    },
    Duration { name: "t-restart", meaning: "when the router that is Active at first is restarted" },
];

/// How `timer` measures time; `None` if by these rules nobody arms it.
pub(super) fn of(rules: &Vrrp, timer: Timer) -> Option<Wait> {
    match timer {
        Timer::Advertisement => Some(Wait::Fixed("t-advertise")),
        Timer::ActiveDown => Some(Wait::Fixed("t-down")),
        Timer::Skew => rules.skew.then_some(Wait::Fixed("t-skew")),
        Timer::Restart => rules.restart.then_some(Wait::Fixed("t-restart")),
    }
}

/// `Skew_Time` (section 6.1): the lower the priority, the longer. The highest router has one step,
/// each other one step more than the next higher, and `Active_Down_Interval` has it all on top.
pub(super) fn stagger(
    rules: &Vrrp,
    timer: Timer,
    id: Id,
    nodes: usize,
) -> Option<(&'static str, u8)> {
    let higher = |&other: &Id| rules.priority(other, nodes) > rules.priority(id, nodes);
    let above = || Id::all(nodes).filter(higher).fold(0, |count, _| count + 1);
    match timer {
        Timer::ActiveDown if rules.skew => Some(("t-skew", above() + 1)),
        Timer::Skew => Some(("t-skew", above())),
        _ => None,
    }
}
