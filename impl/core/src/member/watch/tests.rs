//! When nodes are reported, and what a pause of this process changes.

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
        watch.is_heartbeat_due(at(now));
        while let Some(node) = watch.suspect(at(now), |_| false) {
            reports.push((now, node.get()));
            watch.set_watched(std::iter::empty(), at(now));
        }
    }
    reports
}

#[test]
fn a_node_that_is_never_heard_gets_the_time_of_the_start() {
    let mut watch = watch();
    watch.set_watched([id(3)].into_iter(), at(0));
    assert_eq!(pass(&mut watch, 0, 3_000), [(1_000, 3)]);
    watch.set_watched([id(3)].into_iter(), at(4_000));
    watch.last_run = at(4_000);
    assert_eq!(pass(&mut watch, 4_000, 5_000), [(4_000, 3)], "it was silent all the time");
}

#[test]
fn a_watched_node_is_reported_once_it_is_silent_and_no_other_is() {
    let mut watch = watch();
    watch.on_heartbeat(id(2), 1, at(100));
    watch.on_heartbeat(id(3), 1, at(200));
    watch.set_watched([id(3)].into_iter(), at(200));
    assert_eq!(pass(&mut watch, 200, 2_000), [(700, 3)]);
}

#[test]
fn heartbeats_put_the_report_off() {
    let mut watch = watch();
    watch.set_watched([id(3)].into_iter(), at(0));
    for now in (0..5_000).step_by(100) {
        watch.on_heartbeat(id(3), 1, at(now));
        assert_eq!(pass(&mut watch, now, now + 90), []);
    }
    assert_eq!(pass(&mut watch, 5_000, 9_000), [(5_400, 3)]);
}

#[test]
fn a_node_that_stays_listed_is_reported_again_an_interval_later() {
    let mut watch = watch();
    watch.set_watched([id(3)].into_iter(), at(0));
    for now in (0..=1_000).step_by(50) {
        watch.is_heartbeat_due(at(now));
    }
    assert_eq!(watch.suspect(at(1_000), |_| false), Some(id(3)));
    watch.set_watched([id(3)].into_iter(), at(1_000));
    assert_eq!(watch.suspect(at(1_000), |_| false), None);
    assert_eq!(watch.suspect(at(1_100), |_| false), Some(id(3)));
}

#[test]
fn a_node_that_is_gone_is_reported_at_once_and_again_an_interval_later() {
    let mut watch = watch();
    watch.on_heartbeat(id(2), 1, at(100));
    watch.on_heartbeat(id(3), 1, at(100));
    watch.set_watched([id(2), id(3)].into_iter(), at(100));
    watch.is_heartbeat_due(at(100));
    let mut suspect = |now| watch.suspect(at(now), |node| node == id(3));
    assert_eq!((suspect(110), suspect(110)), (Some(id(3)), None));
    assert_eq!((suspect(209), suspect(210)), (None, Some(id(3))));
}

#[test]
fn a_restarted_node_begins_anew() {
    let detection = Detection {
        detector: crate::detector::Settings::Adaptive(
            crate::detector::adaptive::Settings::for_interval(Duration::from_millis(100)),
        ),
        ..Detection::default()
    };
    let mut watch = Watch::new(&detection, detection.check().expect("good"), at(0));
    watch.set_watched([id(3)].into_iter(), at(0));
    // Intervals of half a second: three of them are borne.
    (0..20).for_each(|beat| watch.on_heartbeat(id(3), 1, at(500 * beat)));
    let slow = watch.due(id(3), at(0)).since(at(9_500));
    assert!(slow > Duration::from_millis(1_400), "{slow:?}");
    watch.on_heartbeat(id(3), 2, at(9_600));
    assert_eq!(watch.due(id(3), at(0)).since(at(9_600)), Duration::from_millis(300));
}

#[test]
fn after_a_pause_the_others_get_an_interval_to_be_heard() {
    let mut watch = watch();
    watch.set_watched([id(3)].into_iter(), at(0));
    watch.on_heartbeat(id(3), 1, at(0));
    assert!(
        watch.is_heartbeat_due(at(0))
            && !watch.is_heartbeat_due(at(90))
            && watch.is_heartbeat_due(at(100))
    );
    watch.is_heartbeat_due(at(60_000));
    assert_eq!(watch.suspect(at(60_000), |_| false), None);
    watch.on_heartbeat(id(3), 1, at(60_050));
    assert_eq!(pass(&mut watch, 60_060, 61_000), [(60_550, 3)]);
}

#[test]
fn it_wakes_up_for_its_own_heartbeat_and_for_reports() {
    let mut watch = watch();
    watch.is_heartbeat_due(at(0));
    assert_eq!(watch.deadline(), at(100));
    watch.set_watched([id(3)].into_iter(), at(0));
    watch.next_heartbeat = at(10_000);
    assert_eq!(watch.deadline(), at(1_000));
}

#[test]
fn heartbeats_that_a_pause_has_cost_are_not_made_up_for() {
    let mut watch = watch();
    assert!(watch.is_heartbeat_due(at(0)));
    assert!(watch.is_heartbeat_due(at(60_030)), "one is due");
    assert!(!watch.is_heartbeat_due(at(60_031)) && !watch.is_heartbeat_due(at(60_129)));
    assert!(watch.is_heartbeat_due(at(60_130)));
}
