//! How a member watches the others: it sends signs of life, has a failure detector for each that it
//! has heard, and reports those that its core asks for, once they are silent or gone.
//!
//! Every node that is configured for a protocol with detectors sends heartbeats to every other,
//! whether it is watched at the moment or not, so that a detector knows the usual interval by the
//! time it is asked.
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

use super::event::{Action, LogLine};
use super::{Member, Task};
use crate::detector::{Chosen, Detection, Detector as _, Parameters};
use crate::protocol::{Core, Input, NodeId, Time};

/// What is known of the other members, and which of them are watched.
#[derive(Clone, Debug)]
pub(super) struct PeerWatcher {
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

impl PeerWatcher {
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
    fn is_heartbeat_due(&mut self, now: Time) -> bool {
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
    fn suspect(&mut self, now: Time, is_gone: impl Fn(NodeId) -> bool) -> Option<NodeId> {
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

impl<C: Core> Member<C> {
    pub(super) fn send_due_heartbeat(&mut self, now: Time) {
        let due = self.watch.as_mut().is_some_and(|watch| watch.is_heartbeat_due(now));
        // One that can say nothing else is as good as gone.
        if due && !self.is_silenced() {
            self.actions.push(Action::SendHeartbeat);
        }
    }

    /// Reports the watched nodes that were silent for too long, one after the other.
    pub(super) fn suspect(&mut self, now: Time) {
        let gone = &self.gone;
        let watch = self.watch.as_mut();
        let suspect = watch.and_then(|watch| watch.suspect(now, |node| gone.contains(&node)));
        if let Some(node) = suspect {
            self.actions.push(Action::Log(LogLine::Silent(node)));
            self.tasks.push_front(Task::Suspect);
            self.tasks.push_front(Task::Step(Input::Suspect(node)));
        }
    }

    /// Lets a timer expire that only waits for nodes that are gone, and whatever waits for them
    /// after that, so often at most. All that they have sent has arrived.
    pub(super) fn abandon_waits(&mut self, now: Time, most: usize) {
        let waits = self.node.skippable_wait().filter(|_| most > 0);
        let vain = waits.filter(|(_, nodes)| nodes.iter().all(|node| self.gone.contains(node)));
        let Some((timer, nodes)) = vain else { return };
        self.actions.push(Action::Log(LogLine::WaitAbandoned(nodes.len())));
        self.node.bring_forward(timer, now);
        self.tasks.push_front(Task::AbandonWaits(most - 1));
        self.tasks.push_front(Task::Step(Input::Wake));
    }

    /// Returns whether it matters to the member which nodes are gone: whether it watches any, or
    /// waits for some.
    #[must_use]
    pub fn tracks_gone_nodes(&self) -> bool {
        self.watch.is_some() || self.node.skippable_wait().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::{Settings, adaptive};
    use crate::protocol::stories::id;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    /// Watches node 3. By default a heartbeat comes every 100 ms, 500 ms of silence are suspicious,
    /// and a second is left for the start.
    fn watch(detection: Detection) -> PeerWatcher {
        let mut watch = PeerWatcher::new(&detection, detection.check().expect("good"), at(0));
        watch.set_watched([id(3)].into_iter(), at(0));
        watch
    }

    #[test]
    fn a_node_that_stays_listed_is_reported_again_an_interval_later() {
        let mut silent = watch(Detection::default());
        for beat in 0..=20 {
            silent.is_heartbeat_due(at(50 * beat));
        }
        let mut suspect = |now| silent.suspect(at(now), |_| false);
        assert_eq!([1_000, 1_000, 1_100].map(&mut suspect), [Some(id(3)), None, Some(id(3))]);

        let mut gone = watch(Detection::default());
        for other in [2, 3] {
            gone.on_heartbeat(id(other), 1, at(100));
        }
        gone.set_watched([id(2), id(3)].into_iter(), at(100));
        gone.is_heartbeat_due(at(100));
        let mut suspect = |now| gone.suspect(at(now), |node| node == id(3));
        assert_eq!([110, 110].map(&mut suspect), [Some(id(3)), None], "it is not waited for");
        assert_eq!([209, 210].map(&mut suspect), [None, Some(id(3))]);
    }

    #[test]
    fn a_restarted_node_begins_anew() {
        let settings = adaptive::Settings::for_interval(Duration::from_millis(100));
        let detector = Settings::Adaptive(settings);
        let mut watch = watch(Detection { detector, ..Detection::default() });
        // Intervals of half a second: three of them are borne.
        (0..20).for_each(|beat| watch.on_heartbeat(id(3), 1, at(500 * beat)));
        let slow = watch.due(id(3), at(0)).since(at(9_500));
        assert!(slow > Duration::from_millis(1_400), "{slow:?}");
        watch.on_heartbeat(id(3), 2, at(9_600));
        assert_eq!(watch.due(id(3), at(0)), at(9_900));
    }

    #[test]
    fn it_wakes_up_for_its_own_heartbeat_and_for_reports() {
        let mut watch = watch(Detection::default());
        watch.is_heartbeat_due(at(0));
        assert_eq!(watch.deadline(), at(100));
        watch.next_heartbeat = at(10_000);
        assert_eq!(watch.deadline(), at(1_000));
    }

    #[test]
    fn heartbeats_that_a_pause_has_cost_are_not_made_up_for() {
        let mut watch = watch(Detection::default());
        let due = [0, 60_030, 60_031, 60_129, 60_130].map(|now| watch.is_heartbeat_due(at(now)));
        assert_eq!(due, [true, true, false, false, true]);
    }
}
