//! How long a router waits, where time is measured. `Skew_Time` sets the time-outs apart, so it
//! comes before the rest of `Active_Down_Interval`.

use super::Vrrp;
use bellwether_engine::protocol::{Duration, Id};

pub(super) static T_ADVERTISE: Duration = Duration {
    name: "t-advertise",
    meaning: "how long an Active router waits before it says again that it is (one interval)",
    order: 0,
    enough: Some(2),
};

pub(super) static T_SKEW: Duration = Duration {
    name: "t-skew",
    meaning: "by how much longer a Backup waits than one of the next higher priority",
    order: 1,
    enough: Some(3),
};

pub(super) static T_DOWN: Duration = Duration {
    name: "t-down",
    meaning: "how long a Backup bears silence, before its skew (by the standard 3 intervals)",
    order: 2,
    enough: Some(1),
};

pub(super) static T_RESTART: Duration = Duration {
    name: "t-restart",
    meaning: "when the router that is Active at first is restarted",
    order: 3,
    enough: None,
};

pub(super) static T_PREEMPT_DELAY: Duration = Duration {
    name: "t-preempt-delay",
    meaning: "how long a router that starts waits before it preempts",
    order: 4,
    enough: None,
};

/// `Skew_Time` (section 6.1): the lower the priority, the longer. The highest router has one step,
/// each other one step more than the next higher, and `Active_Down_Interval` has it all on top.
pub(super) fn skew(rules: &Vrrp, id: Id, nodes: usize) -> u8 {
    if rules.skew { more_skew(rules, id, nodes) + 1 } else { 0 }
}

/// The steps that a router has more than the highest.
pub(super) fn more_skew(rules: &Vrrp, id: Id, nodes: usize) -> u8 {
    let higher = |&other: &Id| rules.priority(other, nodes) > rules.priority(id, nodes);
    Id::all(nodes).filter(higher).fold(0, |count, _| count + 1)
}
