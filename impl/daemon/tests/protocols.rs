//! Every protocol, with real processes: they elect, the leader is killed, another leads, and the
//! group agrees again with the one that was killed.

use std::process::Stdio;
use std::time::{Duration, Instant};

use bellwether_docs_runner::object_of;
use serde_json::Value;

use super::common::{Cluster, bellwether};

/// Five processes, of which the highest that is up leads.
fn elects_through_a_kill_and_a_restart(protocol: &str, sections: &str) {
    let mut cluster = Cluster::running(5, protocol, sections).led(1..=5);
    cluster.take(5).kill();
    cluster.wait_for_leader(4);
    cluster.start(5);
    cluster.wait_for_leader(5);
    warns_once_and_shows_the_protocol(&cluster, 1, protocol);
}

/// A protocol that can have two leaders says so at the start, once, and which cannot. The node has
/// started once.
fn warns_once_and_shows_the_protocol(cluster: &Cluster, node: u16, protocol: &str) {
    let log = cluster.log_of(&node.to_string());
    let warnings: Vec<_> = log.lines().filter(|line| line.contains("TWO NODES CAN LEAD")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("WARN") && warnings[0].contains("`quorum`"), "{log}");
    let status = cluster.status(node).expect("it runs");
    assert_eq!(status["protocol"], protocol);
}

#[test]
fn the_bully() {
    elects_through_a_kill_and_a_restart("bully", "");
}

#[test]
fn the_bully_loses_two_at_once() {
    let mut cluster = Cluster::new(5).led(1..=5);
    let (mut five, mut four) = (cluster.take(5), cluster.take(4));
    five.kill();
    four.kill();
    cluster.wait_for_leader(3);
}

#[test]
fn the_bully_of_1982() {
    elects_through_a_kill_and_a_restart("garcia-molina", "");
}

#[test]
fn the_invitation() {
    let timing = "[invitation]\ncheck = \"400ms\"\n";
    elects_through_a_kill_and_a_restart("invitation", timing);
}

/// A ring whose hops may take a while: the machine is busy with other tests.
const RING: &str = "hop = \"60ms\"\nlap = \"1s\"\nwatch = \"1s\"\nheartbeat = \"400ms\"\n";

#[test]
fn the_ring_of_chang_and_roberts() {
    elects_through_a_kill_and_a_restart("chang-roberts", &format!("[chang-roberts]\n{RING}"));
}

#[test]
fn the_ring_of_lists() {
    elects_through_a_kill_and_a_restart("list-ring", &format!("[list-ring]\n{RING}"));
}

#[test]
fn the_election_of_stoller_with_every_detector() {
    for kind in ["fixed", "adaptive", "phi"] {
        let sections = format!("[detector]\nkind = \"{kind}\"\n");
        elects_through_a_kill_and_a_restart("stoller", &sections);
    }
}

/// A follower that was paused hears what came in meanwhile before it suspects its leader.
#[test]
fn a_paused_process_does_not_take_its_own_silence_for_that_of_others() {
    let detector = "[detector]\nheartbeat = \"400ms\"\n[detector.fixed]\ntimeout = \"1500ms\"\n";
    let mut cluster = Cluster::running(2, "stoller", detector);
    cluster.start(2);
    let one = cluster.run("1", 1, &[]);
    cluster.follows(1, 2);
    // Until it has been heard often enough.
    let seconds = Duration::from_secs;
    std::thread::sleep(seconds(1));
    let before = cluster.status(1).expect("it runs");
    one.pause(seconds(4));
    std::thread::sleep(seconds(2));
    let after = cluster.status(1).expect("it runs");
    assert_eq!((&after["seq"], &after["leader"]), (&before["seq"], &2.into()), "{after}");
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

/// One store, and four that want the lease.
#[test]
fn the_lease() {
    let durations = "hold = \"1s\"\nkeep = \"1500ms\"\nrenew = \"200ms\"\nretry = \"200ms\"\n";
    let mut cluster = Cluster::running(5, "lease", &format!("[lease]\nstore = 5\n{durations}"));
    cluster.start_all(1..=5);
    let first = cluster.wait_for_any_leader();
    assert_ne!(first, 5, "the store does not lead");
    cluster.take(first).kill();
    let second = cluster.wait_for_any_leader();
    assert_ne!(second, first);
    cluster.start(first);
    assert_eq!(cluster.wait_for_any_leader(), second, "a lease is kept while it is renewed");
    warns_once_and_shows_the_protocol(&cluster, 5, "lease");
}

#[test]
fn the_lease_with_a_store_that_a_flag_names() {
    let cluster = Cluster::running(3, "lease", "");
    let _store = cluster.run("store", 3, &["--store", "3"]);
    let client = |node| cluster.run("client", node, &["--set", "store=3"]);
    let _clients = [client(1), client(2)];
    cluster.wait_for(3, "has granted the lease", |status| status["leader"].is_u64());
    cluster.wait_for(1, "knows of it", |status| status["leader"].is_u64());
}

/// A clean stop costs no wait for a lease: the leader hands over before it leaves.
#[test]
fn a_leader_of_the_quorum_bully_that_is_asked_to_end_hands_over_first() {
    let long = "[quorum]\nlease = \"10s\"\npromise = \"12s\"\n";
    let mut cluster = Cluster::running(3, "quorum", long);
    cluster.start_all(1..=3);
    let first = cluster.wait_for_any_leader();
    // Until both others have acknowledged its rounds.
    let received = |status: &Value| -> Vec<u64> {
        let members = status["members"].as_array().expect("a list").iter();
        members.map(|member| member["received"].as_u64().expect("a number")).collect()
    };
    let before = received(&cluster.status(first).expect("it runs"));
    cluster.wait_for(first, "hears both", |status| {
        received(status).iter().zip(&before).all(|(now, before)| *now >= before + 3)
    });
    let asked = Instant::now();
    cluster.end(first);
    let second = cluster.wait_for_any_leader();
    // Voters have renewed their promises within the last round, or half of it.
    let (took, log) = (asked.elapsed(), cluster.log_of(&second.to_string()));
    assert!(took < Duration::from_secs(8), "{took:?}: {log}");
    let highest = (1..=3).filter(|&node| node != first).max();
    assert_eq!(Some(second), highest, "the highest follower is next: {log}");
    assert!(log.contains("the leader has stopped leading"), "{log}");
    assert!(!log.contains("the promise to the leader is over"), "{log}");
    let first = cluster.log_of(&first.to_string());
    assert!(first.contains("another node is to lead instead"), "{first}");
}

/// Nor does it with `lease`: the holder gives the lease back, and the store tells the others. They
/// would ask only after a while, and the store would keep the lease for longer than that.
#[test]
fn a_holder_of_the_lease_that_is_asked_to_end_gives_it_back() {
    let durations = "hold = \"8s\"\nkeep = \"10s\"\nrenew = \"200ms\"\nretry = \"10s\"\n";
    let mut cluster = Cluster::running(3, "lease", &format!("[lease]\nstore = 3\n{durations}"));
    cluster.start_all(1..=3);
    let first = cluster.wait_for_any_leader();
    let asked = Instant::now();
    cluster.end(first);
    let second = cluster.wait_for_any_leader();
    let (took, log) = (asked.elapsed(), cluster.log_of("3"));
    assert_ne!(second, first);
    assert!(took < Duration::from_secs(6), "{took:?}: {log}");
    assert!(log.contains("the holder has given the lease back"), "{log}");
    assert!(!log.contains("the lease has expired"), "{log}");
}

/// A restarted node does not depose a leader that works, and no warning is due.
#[test]
fn the_quorum_bully() {
    let mut cluster = Cluster::running(5, "quorum", "");
    // It is what runs if nothing is said.
    cluster.write(&cluster.text("test").replace("protocol = \"quorum\"\n", ""));
    cluster.start_all(1..=5);
    let first = cluster.wait_for_any_leader();
    cluster.take(first).kill();
    let second = cluster.wait_for_any_leader();
    assert_ne!(second, first);
    cluster.start(first);
    assert_eq!(cluster.wait_for_any_leader(), second, "its lease is renewed");
    let log = cluster.log_of("1");
    assert!(!log.contains("TWO NODES CAN LEAD"), "{log}");
    assert_eq!(cluster.status(1).expect("it runs")["protocol"], "quorum");
}

#[test]
fn status_waits_until_a_node_that_is_not_there_yet_knows_a_leader() {
    let mut cluster = Cluster::running(3, "quorum", "");
    let mut status = cluster.command("status", 1);
    let waits = status.args(["--wait", "30s"]).stdout(Stdio::piped()).spawn();
    let waits = waits.expect("the program starts");
    // Long enough to be refused several times.
    std::thread::sleep(Duration::from_millis(500));
    cluster.start_all(1..=3);
    let answer = waits.wait_with_output().expect("it is our child");
    let text = String::from_utf8_lossy(&answer.stdout);
    assert_eq!(answer.status.code(), Some(0), "{text}");
    assert!(text.contains("leader    ") && !text.contains("none is known"), "{text}");

    let leader = cluster.wait_for_any_leader();
    let answer = cluster.ask(leader, &[]);
    let (text, other) = (String::from_utf8_lossy(&answer.stdout), leader % 3 + 1);
    assert_eq!(answer.status.code(), Some(0), "{text}");
    for part in ["role      leader", "leader    this node", "protocol quorum"] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
    assert!(text.contains(&format!("member {other}")), "{text}");
    cluster.logs_of(&other.to_string(), &[&format!("node {other} follows node {leader} (epoch ")]);

    // All members, as no node is named.
    let all = |cluster: &Cluster, more: &[&str]| {
        let mut command = bellwether();
        let output =
            command.arg("status").arg("--config").arg(cluster.config()).args(more).output();
        let output = output.expect("the program starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    cluster.wait_for_leader(leader);
    let (status, text) = all(&cluster, &[]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((status, lines.len()), (Some(0), 4), "{text}");
    assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    for (node, line) in (1..).zip(&lines[1..]) {
        let cells: Vec<_> = line.split_whitespace().collect();
        let role = if node == leader { "leader" } else { "follower" };
        let expected = [node.to_string(), role.to_owned(), leader.to_string(), "fine".to_owned()];
        assert_eq!([cells[0], cells[2], cells[3], cells[6]], expected, "{text}");
    }
    cluster.take(other).kill();
    let (status, text) = all(&cluster, &[]);
    assert!(status == Some(1) && text.contains("not reached"), "{status:?}: {text}");
    let (_, text) = all(&cluster, &["--json", "--all"]);
    let told = object_of("bellwether-status-cluster", text);
    let told = &told["nodes"][usize::from(other - 1)];
    assert!(told["status"].is_null() && told["error"].is_string(), "{told}");
}
