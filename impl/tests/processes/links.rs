//! A link that breaks and heals is one line each in the log, and counted once each; and the loss of
//! a leader is logged with what the link to it says: whether its process is gone, or only silent.

use serde_json::Value;

use super::common::{Cluster, Process, Signal, free_port, wait_until};
use super::http::get;

const JSON: [&str; 2] = ["--log-format", "json"];

/// The lines of a log of JSON that are such.
fn lines(log: &str, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(wanted).collect()
}

/// Whether a line is about the link to this node, and says that.
fn says(line: &Value, peer: u16, text: &str) -> bool {
    let message = line["message"].as_str().unwrap_or_default();
    message.starts_with(&format!("link to {peer} (127.0.0.1:")) && message.contains(text)
}

fn breaks(log: &str, peer: u16) -> Vec<Value> {
    lines(log, |line| says(line, peer, " is broken: "))
}

fn heals(log: &str, peer: u16) -> Vec<Value> {
    lines(log, |line| says(line, peer, " is up again after "))
}

/// Nodes 1 and 2, which log as JSON, and their leader 3.
fn three(cluster: &Cluster, http: &str) -> ([Process; 2], Process) {
    let three = cluster.run("3", 3, &[]);
    let one = cluster.run("1", 1, &[&JSON[..], &["--http", http]].concat());
    let two = cluster.run("2", 2, &JSON);
    for node in [1, 2] {
        cluster.wait_for(node, "follows", |status| {
            let up = |member: &Value| member["link"] == "connected";
            let members = status["members"].as_array();
            status["leader"] == 3 && members.is_some_and(|members| members.iter().all(up))
        });
    }
    ([one, two], three)
}

/// The loss of node 3 as node 2 has logged it.
fn loss(cluster: &Cluster) -> Value {
    let says = |line: &Value| line["links"].as_str().is_some_and(|s| s.starts_with("link to 3: "));
    let lost = |log: &str| lines(log, |line| line["was"] == "follower" && says(line));
    let log = || cluster.log_of("2");
    wait_until("the loss is logged", || !lost(&log()).is_empty(), log);
    lost(&log()).remove(0)
}

#[test]
fn a_member_that_is_killed_and_starts_again_is_a_break_and_a_heal() {
    let cluster = Cluster::new(3);
    let http = format!("127.0.0.1:{}", free_port());
    let (nodes, mut three) = three(&cluster, &http);
    three.kill();
    let log = |node: u16| cluster.log_of(&node.to_string());
    for node in [1, 2] {
        let broken = || !breaks(&log(node), 3).is_empty();
        wait_until("the break is logged", broken, || log(node));
    }
    let lost = loss(&cluster);
    let links = lost["links"].as_str().expect("a text");
    assert!(links.starts_with("link to 3: broken for "), "{lost}");
    assert!(links.contains("; last heard "), "{lost}");
    cluster.wait_for(1, "follows 2", |status| status["leader"] == 2);
    // Many attempts fail meanwhile.
    std::thread::sleep(std::time::Duration::from_secs(4));

    let _three = cluster.run("3", 3, &[]);
    for node in [1, 2] {
        let healed = || !heals(&log(node), 3).is_empty();
        wait_until("the heal is logged", healed, || log(node));
        cluster.wait_for(node, "follows 3", |status| status["leader"] == 3);
        let log = log(node);
        let (breaks, heals) = (breaks(&log, 3), heals(&log, 3));
        assert_eq!((breaks.len(), heals.len()), (1, 1), "{log}");
        assert_eq!((&breaks[0]["level"], &heals[0]["level"]), (&"WARN".into(), &"INFO".into()));
        assert_eq!((&breaks[0]["peer"], &heals[0]["peer"]), (&3.into(), &3.into()));
        assert!(breaks[0]["heard_ms"].is_u64() && breaks[0]["error"].is_string(), "{log}");
        assert!(heals[0]["attempts"].as_u64() > Some(1), "{log}");
        assert!(heals[0]["down_ms"].as_u64() > Some(1_000), "{log}");
        let message = heals[0]["message"].as_str().expect("a text");
        assert!(message.contains("attempts failed, the last: "), "{message}");
    }
    let (_, metrics) = get(&format!("http://{http}/metrics")).expect("it answers");
    for line in [
        "bellwether_link_breaks_total{member=\"3\"} 1",
        "bellwether_link_heals_total{member=\"3\"} 1",
        "bellwether_link_breaks_total{member=\"2\"} 0",
        "bellwether_link_up{member=\"3\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found.trim_end_matches(".0") == line), "{metrics}");
    }
    drop(nodes);
}

#[test]
fn a_leader_that_is_paused_is_lost_while_its_link_is_up() {
    let cluster = Cluster::new(3);
    let http = format!("127.0.0.1:{}", free_port());
    let (nodes, three) = three(&cluster, &http);
    three.send(Signal::STOP);
    let lost = loss(&cluster);
    let links = lost["links"].as_str().expect("a text");
    assert!(links.starts_with("link to 3: up, last heard "), "{lost}");
    assert!(breaks(&cluster.log_of("2"), 3).is_empty(), "{}", cluster.log_of("2"));
    three.send(Signal::CONT);
    drop(nodes);
}
