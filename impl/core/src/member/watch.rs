//! A member's failure detectors: one for each other that has been heard, and the reports that the
//! core has asked for.
//!
//! Pure: the time comes in, and what is due goes out. Every node that is configured for a protocol
//! with detectors sends heartbeats to every other, whether it is watched at the moment or not, so
//! that a detector knows the usual interval by the time it is asked.
//!
//! - A node that was heard is reported when its detector says so.
//! - A node that was never heard is reported when this node has waited for
//!   [`start`](Detection::start) from its own start on.
//! - A restarted node is another process: its detector begins anew.
//! - A report ends the watch. A core that still lists the node afterwards has it watched anew, and
//!   reported again an interval later if nothing was heard meanwhile.
//! - After a pause of this process, or of its machine, the others get the time of one interval to
//!   be heard: heartbeats that came in meanwhile may still wait in the system.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::detector::{Chosen, Detection, Detector as _, Parameters};
use crate::protocol::{NodeId, Time};

/// What is known of the other members, and which of them are watched.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    heartbeat: Duration,
    parameters: Parameters,
    members: BTreeMap<NodeId, Peer>,
    /// The watched nodes, and the earliest time to report each.
    watched: BTreeMap<NodeId, Time>,
    /// A node that is never heard is suspected from here on.
    started: Time,
    /// When this node was seen running last.
    last_run: Time,
    /// No report comes before.
    no_report_before: Time,
    next_heartbeat: Time,
}

/// One run of another member.
#[derive(Clone, Debug)]
struct Peer {
    incarnation: u64,
    detector: Chosen,
}

impl Watch {
    /// Begins at `now`. The parameters are those of the detection.
    pub(super) fn new(detection: &Detection, parameters: Parameters, now: Time) -> Self {
        Self {
            heartbeat: detection.heartbeat,
            parameters,
            members: BTreeMap::new(),
            watched: BTreeMap::new(),
            started: now + detection.start,
            last_run: now,
            no_report_before: now,
            next_heartbeat: now,
        }
    }

    /// The process runs at `now`. True if a heartbeat is to be sent.
    pub(super) fn is_heartbeat_due(&mut self, now: Time) -> bool {
        // It wakes up for every heartbeat of its own at the latest.
        if now.since(self.last_run) > self.heartbeat * 2 {
            self.no_report_before = now + self.heartbeat;
        }
        self.last_run = now;
        let due = now >= self.next_heartbeat;
        if due {
            self.next_heartbeat = now + self.heartbeat;
        }
        due
    }

    /// A heartbeat arrives.
    pub(super) fn on_heartbeat(&mut self, from: NodeId, incarnation: u64, now: Time) {
        let new = || Peer { incarnation, detector: self.parameters.watch(now) };
        let member = self.members.entry(from).or_insert_with(new);
        if member.incarnation != incarnation {
            *member = Peer { incarnation, detector: self.parameters.watch(now) };
        }
        member.detector.heartbeat(now);
    }

    /// The core has these nodes watched now.
    pub(super) fn set_watched(&mut self, listed: impl Iterator<Item = NodeId>, now: Time) {
        let before = std::mem::take(&mut self.watched);
        let since = |node| (node, before.get(&node).copied().unwrap_or(now));
        self.watched = listed.map(since).collect();
    }

    /// The next watched node to report at `now`. One that is gone need not be waited for.
    pub(super) fn suspect(
        &mut self,
        now: Time,
        is_gone: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let due = |(&node, &earliest): (&NodeId, &Time)| {
            let early = is_gone(node).then(|| earliest.max(self.no_report_before));
            early.unwrap_or_else(|| self.due(node, earliest)) <= now
        };
        let (&node, _) = self.watched.iter().find(|&(node, earliest)| due((node, earliest)))?;
        self.watched.insert(node, now + self.heartbeat);
        Some(node)
    }

    /// When to look again, at the latest.
    pub(super) fn deadline(&self) -> Time {
        let due = self.watched.iter().map(|(&node, &earliest)| self.due(node, earliest));
        due.fold(self.next_heartbeat, Time::min)
    }

    /// When a watched node is reported if nothing is heard before.
    fn due(&self, node: NodeId, earliest: Time) -> Time {
        let silent = self.members.get(&node).map(|member| member.detector.deadline());
        silent.unwrap_or(self.started).max(earliest).max(self.no_report_before)
    }
}

#[cfg(test)]
mod tests;
