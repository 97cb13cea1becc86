//! Real processes that run the bully lose their leaders, and find new ones.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::common::{Cluster, bellwether, wait_until};

#[test]
fn five_processes_agree_through_kills_and_restarts() {
    let mut cluster = Cluster::new(5);
    (1..=5).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(5);

    cluster.take(5).kill();
    cluster.wait_for_leader(4);

    cluster.start(5);
    cluster.wait_for_leader(5);

    let (mut five, mut four) = (cluster.take(5), cluster.take(4));
    five.kill();
    four.kill();
    cluster.wait_for_leader(3);
}

#[test]
fn sigterm_ends_a_leader_cleanly_and_the_next_takes_over() {
    let mut cluster = Cluster::new(3);
    (1..=3).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(3);

    let mut three = cluster.take(3);
    three.ask_to_end();
    assert_eq!(three.ended().code(), Some(0));
    let log = cluster.log_of("3");
    assert!(log.contains("leaving") && log.contains("left"), "{log}");
    cluster.wait_for_leader(2);
}

#[test]
fn every_change_of_role_is_one_line_with_its_number_and_reason() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    let mut one = cluster.run("json", 1, &["--log-format", "json"]);
    let follows = |change: &Value| change["role"] == "follower" && change["leader"] == 2;
    let says = |line: &str| serde_json::from_str(line).is_ok_and(|change| follows(&change));
    let look = || cluster.log_of("json").lines().any(says);
    wait_until("node 1 follows 2", look, || cluster.log_of("json"));
    one.kill();

    let log = cluster.log_of("json");
    let lines = log.lines().map(|line| serde_json::from_str(line).expect("one object a line"));
    let changes: Vec<Value> = lines.filter(|line: &Value| line.get("seq").is_some()).collect();
    for (position, change) in changes.iter().enumerate() {
        assert_eq!(change["seq"], position + 1, "{log}");
        assert_eq!(change["node"], 1, "{log}");
        assert_eq!(change["incarnation"], changes[0]["incarnation"], "{log}");
        for field in ["was", "role", "reason"] {
            assert!(change[field].is_string(), "{field} in {log}");
        }
    }
    assert_eq!(changes[0]["reason"], "booted", "{log}");
    assert!(changes.iter().any(follows), "{log}");
}

#[test]
fn a_leader_repeats_its_claim_at_the_configured_interval() {
    let mut cluster = Cluster::new(2);
    let _two = cluster.run("fast", 2, &["--set", "heartbeat=10ms"]);
    cluster.start(1);
    // Two seconds are enough; with a driver that ignores what the core asks for, thirty are not.
    cluster.wait_for(1, "has heard 200 claims", |status| {
        status["members"][0]["received"].as_u64() >= Some(200)
    });
}

#[test]
fn the_exit_status_of_status_tells_whether_there_is_a_leader() {
    let mut cluster = Cluster::new(2);
    assert_eq!(cluster.ask(1, &[]).status.code(), Some(3), "no process is there");
    cluster.start(2);
    cluster.wait_for_leader(2);
    let answer = cluster.ask(2, &[]);
    assert_eq!(answer.status.code(), Some(0));
    let text = String::from_utf8_lossy(&answer.stdout);
    assert!(text.contains("role      leader") && text.contains("leader    this node"), "{text}");
    assert!(text.contains("member 1") && text.contains("protocol bully"), "{text}");

    // A candidate that waits for an answer for an hour knows no leader.
    let slow = ["--set", "election=1h", "--set", "coordinator=2h"];
    cluster.take(2).kill();
    let _one = cluster.run("slow", 1, &slow);
    cluster.wait_for(1, "is a candidate", |status| status["role"] == "candidate");
    assert_eq!(cluster.ask(1, &[]).status.code(), Some(1));
}

#[test]
fn status_waits_until_a_node_that_is_not_there_yet_knows_a_leader() {
    let mut cluster = Cluster::running(3, "quorum", "");
    let mut status = bellwether();
    status.arg("status").arg("--config").arg(cluster.config());
    status.args(["--node", "1", "--wait", "30s"]).stdout(Stdio::piped());
    let waits = status.spawn().expect("the program starts");
    // Long enough to be refused several times.
    std::thread::sleep(Duration::from_millis(500));
    (1..=3).for_each(|node| cluster.start(node));
    let answer = waits.wait_with_output().expect("it is our child");
    let text = String::from_utf8_lossy(&answer.stdout);
    assert_eq!(answer.status.code(), Some(0), "{text}");
    assert!(text.contains("leader    ") && !text.contains("none is known"), "{text}");
}

#[test]
fn status_that_waits_in_vain_ends_as_one_that_does_not_wait() {
    let cluster = Cluster::new(2);
    let at_once = cluster.ask(1, &[]);
    let started = Instant::now();
    let waited = cluster.ask(1, &["--wait", "300ms"]);
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert_eq!(waited.status.code(), Some(3));
    assert_eq!((waited.stdout, waited.stderr), (at_once.stdout, at_once.stderr));
}
