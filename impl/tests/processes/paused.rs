//! A leader whose process is stopped for longer than the others wait is told, when it goes on, that
//! it has lost its leadership.

use std::time::Duration;

use serde_json::Value;

use super::common::{Cluster, Process, wait_until};

/// The changes of role in a log, and nothing else.
fn changes(log: &str) -> Vec<Value> {
    let whole = &log[..log.rfind('\n').unwrap_or(0)];
    let lines = whole.lines().map(|line| serde_json::from_str(line).expect("one object a line"));
    lines.filter(|line: &Value| line.get("was").is_some()).collect()
}

/// Pauses the leader of a cluster of three again and again.
fn pause_the_leader(protocol: &str, sections: &str, rounds: usize) {
    let cluster = Cluster::running(3, protocol, sections);
    let start = |node: u16| {
        let name = node.to_string();
        (node, cluster.run(&name, node, &["--log-format", "json"]))
    };
    let nodes: Vec<(u16, Process)> = [1, 2, 3].map(start).into();
    let log = |node: u16| cluster.log_of(&node.to_string());
    let leads = |node: u16| cluster.status(node).is_some_and(|status| status["role"] == "leader");
    for round in 1..=rounds {
        let mut leader = 0;
        let one = || {
            leader = nodes.iter().map(|&(id, _)| id).find(|&id| leads(id)).unwrap_or(0);
            let follows = |id| cluster.status(id).is_some_and(|s| s["leader"] == leader);
            [1, 2, 3].into_iter().all(follows)
        };
        wait_until("all follow one", one, || [1, 2, 3].map(log).concat());
        let before = changes(&log(leader));
        let (_, process) = nodes.iter().find(|(id, _)| *id == leader).expect("one of them");
        process.pause(Duration::from_millis(1_500));
        let told = || changes(&log(leader)).len() > before.len();
        wait_until("it is told", told, || log(leader));
        let after = changes(&log(leader));
        let lost = &after[before.len()];
        assert_eq!((&lost["was"], &lost["reason"]), (&"leader".into(), &"paused".into()), "{lost}");
        assert_eq!(lost.get("leader"), None, "round {round}: {lost}");
    }
}

#[test]
fn a_paused_leader_of_the_bully_is_always_told_that_it_has_lost() {
    pause_the_leader("bully", "", 4);
}

#[test]
fn a_paused_leader_of_the_quorum_is_always_told_that_it_has_lost() {
    pause_the_leader("quorum", "", 4);
}
