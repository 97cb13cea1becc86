//! The driver's failure detectors: one for each member that has been heard, and the reports that
//! the core has asked for.
//!
//! Pure: the time comes in, and what is due goes out. Every node that is configured for a protocol
//! with detectors sends heartbeats to every other, whether it is watched at the moment or not, so
//! that a detector knows the usual interval by the time it is asked.
//!
//! - A node that was heard is reported when its detector says so.
//! - A node that was never heard is reported when this node has waited for
//!   [`start`](crate::config::Detection::start) from its own start on.
//! - A restarted node is another process: its detector begins anew.
//! - A report ends the watch. A core that still lists the node afterwards has it watched anew, and
//!   reported again an interval later if nothing was heard meanwhile.
//! - After a pause of this process, or of its machine, the others get the time of one interval to
//!   be heard: heartbeats that came in meanwhile may still wait in the system.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Detection;
use crate::detector::{Detector, Parameters};
use crate::protocol::{NodeId, Time};

/// What is known of the other members, and which of them are watched.
pub(super) struct Watch {
    heartbeat: Duration,
    parameters: Parameters,
    members: BTreeMap<NodeId, Member>,
    /// The watched nodes, and the earliest time to report each.
    watched: BTreeMap<NodeId, Time>,
    /// A node that is never heard is suspected from here on.
    started: Time,
    /// When this node was seen running last.
    awake: Time,
    /// No report comes before.
    quiet: Time,
    next_beat: Time,
}

/// One run of another member.
struct Member {
    incarnation: u64,
    detector: Box<dyn Detector + Send>,
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
            awake: now,
            quiet: now,
            next_beat: now,
        }
    }

    /// The process runs at `now`. True if a heartbeat is to be sent.
    pub(super) fn beats(&mut self, now: Time) -> bool {
        // It wakes up for every heartbeat of its own at the latest.
        if now.since(self.awake) > self.heartbeat * 2 {
            self.quiet = now + self.heartbeat;
        }
        self.awake = now;
        let due = now >= self.next_beat;
        if due {
            self.next_beat = now + self.heartbeat;
        }
        due
    }

    /// A heartbeat arrives.
    pub(super) fn heard(&mut self, from: NodeId, incarnation: u64, now: Time) {
        let new = || Member { incarnation, detector: self.parameters.watch(now) };
        let member = self.members.entry(from).or_insert_with(new);
        if member.incarnation != incarnation {
            *member = Member { incarnation, detector: self.parameters.watch(now) };
        }
        member.detector.heartbeat(now);
    }

    /// The core has these nodes watched now.
    pub(super) fn look(&mut self, listed: impl Iterator<Item = NodeId>, now: Time) {
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
            let early = is_gone(node).then(|| earliest.max(self.quiet));
            early.unwrap_or_else(|| self.due(node, earliest)) <= now
        };
        let (&node, _) = self.watched.iter().find(|&(node, earliest)| due((node, earliest)))?;
        self.watched.insert(node, now + self.heartbeat);
        Some(node)
    }

    /// When to look again, at the latest.
    pub(super) fn deadline(&self) -> Time {
        let due = self.watched.iter().map(|(&node, &earliest)| self.due(node, earliest));
        due.fold(self.next_beat, Time::min)
    }

    /// When a watched node is reported if nothing is heard before.
    fn due(&self, node: NodeId, earliest: Time) -> Time {
        let silent = self.members.get(&node).map(|member| member.detector.deadline());
        silent.unwrap_or(self.started).max(earliest).max(self.quiet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn id(number: u16) -> NodeId {
        NodeId::new(number).expect("not zero")
    }

    /// Heartbeats every 100 ms; 500 ms of silence are suspicious; a second is left for the start.
    fn watch() -> Watch {
        let detection = Detection::default();
        Watch::new(&detection, detection.check().expect("good"), at(0))
    }

    /// Lets the time pass to `to` without a pause, and returns the reports.
    fn pass(watch: &mut Watch, from: u64, to: u64) -> Vec<(u64, u16)> {
        let mut reports = Vec::new();
        for now in (from..=to).step_by(10) {
            watch.beats(at(now));
            while let Some(node) = watch.suspect(at(now), |_| false) {
                reports.push((now, node.get()));
                watch.look(std::iter::empty(), at(now));
            }
        }
        reports
    }

    #[test]
    fn a_node_that_is_never_heard_gets_the_time_of_the_start() {
        let mut watch = watch();
        watch.look([id(3)].into_iter(), at(0));
        assert_eq!(pass(&mut watch, 0, 3_000), [(1_000, 3)]);
        watch.look([id(3)].into_iter(), at(4_000));
        watch.awake = at(4_000);
        assert_eq!(pass(&mut watch, 4_000, 5_000), [(4_000, 3)], "it was silent all the time");
    }

    #[test]
    fn a_watched_node_is_reported_once_it_is_silent_and_no_other_is() {
        let mut watch = watch();
        watch.heard(id(2), 1, at(100));
        watch.heard(id(3), 1, at(200));
        watch.look([id(3)].into_iter(), at(200));
        assert_eq!(pass(&mut watch, 200, 2_000), [(700, 3)]);
    }

    #[test]
    fn heartbeats_put_the_report_off() {
        let mut watch = watch();
        watch.look([id(3)].into_iter(), at(0));
        for now in (0..5_000).step_by(100) {
            watch.heard(id(3), 1, at(now));
            assert_eq!(pass(&mut watch, now, now + 90), []);
        }
        assert_eq!(pass(&mut watch, 5_000, 9_000), [(5_400, 3)]);
    }

    #[test]
    fn a_node_that_stays_listed_is_reported_again_an_interval_later() {
        let mut watch = watch();
        watch.look([id(3)].into_iter(), at(0));
        for now in (0..=1_000).step_by(50) {
            watch.beats(at(now));
        }
        assert_eq!(watch.suspect(at(1_000), |_| false), Some(id(3)));
        watch.look([id(3)].into_iter(), at(1_000));
        assert_eq!(watch.suspect(at(1_000), |_| false), None);
        assert_eq!(watch.suspect(at(1_100), |_| false), Some(id(3)));
    }

    #[test]
    fn a_node_that_is_gone_is_reported_at_once_and_again_an_interval_later() {
        let mut watch = watch();
        watch.heard(id(2), 1, at(100));
        watch.heard(id(3), 1, at(100));
        watch.look([id(2), id(3)].into_iter(), at(100));
        watch.beats(at(100));
        let mut suspect = |now| watch.suspect(at(now), |node| node == id(3));
        assert_eq!((suspect(110), suspect(110)), (Some(id(3)), None));
        assert_eq!((suspect(209), suspect(210)), (None, Some(id(3))));
    }

    #[test]
    fn a_restarted_node_begins_anew() {
        let detection = Detection {
            detector: crate::config::DetectorSettings::Adaptive(
                crate::detector::adaptive::Settings::for_interval(Duration::from_millis(100)),
            ),
            ..Detection::default()
        };
        let mut watch = Watch::new(&detection, detection.check().expect("good"), at(0));
        watch.look([id(3)].into_iter(), at(0));
        // Intervals of half a second: three of them are borne.
        (0..20).for_each(|beat| watch.heard(id(3), 1, at(500 * beat)));
        let slow = watch.due(id(3), at(0)).since(at(9_500));
        assert!(slow > Duration::from_millis(1_400), "{slow:?}");
        watch.heard(id(3), 2, at(9_600));
        assert_eq!(watch.due(id(3), at(0)).since(at(9_600)), Duration::from_millis(300));
    }

    #[test]
    fn after_a_pause_the_others_get_an_interval_to_be_heard() {
        let mut watch = watch();
        watch.look([id(3)].into_iter(), at(0));
        watch.heard(id(3), 1, at(0));
        assert!(watch.beats(at(0)) && !watch.beats(at(90)) && watch.beats(at(100)));
        watch.beats(at(60_000));
        assert_eq!(watch.suspect(at(60_000), |_| false), None);
        watch.heard(id(3), 1, at(60_050));
        assert_eq!(pass(&mut watch, 60_060, 61_000), [(60_550, 3)]);
    }

    #[test]
    fn it_wakes_up_for_its_own_heartbeat_and_for_reports() {
        let mut watch = watch();
        watch.beats(at(0));
        assert_eq!(watch.deadline(), at(100));
        watch.look([id(3)].into_iter(), at(0));
        watch.next_beat = at(10_000);
        assert_eq!(watch.deadline(), at(1_000));
    }

    #[test]
    fn heartbeats_that_a_pause_has_cost_are_not_made_up_for() {
        let mut watch = watch();
        assert!(watch.beats(at(0)));
        assert!(watch.beats(at(60_030)), "one is due");
        assert!(!watch.beats(at(60_031)) && !watch.beats(at(60_129)));
        assert!(watch.beats(at(60_130)));
    }
}
