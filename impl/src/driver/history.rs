//! The last changes that a node has seen, in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use humantime::format_rfc3339_millis;
use serde::{Serialize, Serializer};

use crate::protocol::{Epoch, NodeId, Reason, Role};

/// How many changes are remembered.
const CAPACITY: usize = 256;

/// One change of the leader, its epoch, or the role of the node; or that the node has heard of a
/// [rival](Change::rival), which changes none of these. A role that the node takes while it looks
/// for a leader is no change: see [`Leadership::attempts`](super::Leadership::attempts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The number of the change, from 1.
    pub seq: u64,
    /// The time of the change, by the wall clock of the node.
    #[serde(serialize_with = "rfc3339")]
    pub time: SystemTime,
    /// The role after the change.
    pub role: Role,
    /// The leader after the change.
    pub leader: Option<NodeId>,
    /// The epoch of the leader.
    pub epoch: Option<Epoch>,
    /// The reason for the change.
    pub reason: Reason,
    /// The node that led at the same time as this one, if the reason is [`Reason::RIVAL_HEARD`].
    /// What both have done as leaders may have to be reconciled.
    pub rival: Option<NodeId>,
}

fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_rfc3339_millis(*time))
}

/// The history of the last 256 changes. A clone is the same history.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<VecDeque<Change>>>);

impl History {
    pub(super) fn push(&self, change: Change) {
        let mut changes = self.changes();
        if changes.len() == CAPACITY {
            changes.pop_front();
        }
        changes.push_back(change);
    }

    /// Returns the changes after the one with the number `seq`, the oldest first; all for 0. What
    /// is older than the last 256 is not among them.
    #[must_use]
    pub fn since(&self, seq: u64) -> Vec<Change> {
        let changes = self.changes();
        let first = changes.partition_point(|change| change.seq <= seq);
        changes.range(first..).copied().collect()
    }

    /// It is locked for as long as 256 changes take to be copied.
    fn changes(&self) -> MutexGuard<'_, VecDeque<Change>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(seq: u64) -> Change {
        let (leader, epoch) = (NodeId::new(3), Some(Epoch::new(7)));
        let (time, reason) = (SystemTime::UNIX_EPOCH, Reason::BOOTED);
        Change { seq, time, role: Role::Follower, leader, epoch, reason, rival: None }
    }

    #[test]
    fn the_last_changes_are_remembered_in_order() {
        let history = History::default();
        assert_eq!(history.since(0), []);
        (1..=300).for_each(|seq| history.push(change(seq)));
        let numbers = |seq| history.since(seq).iter().map(|change| change.seq).collect::<Vec<_>>();
        assert_eq!(numbers(0), (45..=300).collect::<Vec<_>>());
        assert_eq!(numbers(298), [299, 300]);
        assert!(numbers(300).is_empty());
    }

    #[test]
    fn a_change_is_written_with_names_and_the_time() {
        let text = serde_json::to_string(&change(1)).expect("it can be written");
        let wanted = "{\"seq\":1,\"time\":\"1970-01-01T00:00:00.000Z\",\"role\":\"follower\",\
                      \"leader\":3,\"epoch\":7,\"reason\":\"booted\",\"rival\":null}";
        assert_eq!(text, wanted);
    }
}
