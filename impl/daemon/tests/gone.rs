//! Leaders and members that are gone, stand still, vanish without a word, or have a disk that does
//! not answer: what the others do then, what is told to the one that goes on, and what is logged of
//! the links.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use bellwether_testbed::relay::Relay;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::common::{
    Cluster, Process, Signal, for_so_long, free_address, free_port, get, wait_for, wait_until,
};

/// The followers would wait an hour for the leader.
const BULLY: &str = "[bully]\nwatch = \"1h\"\nelection = \"1h\"\ncoordinator = \"3h\"\n";

/// The candidate would wait an hour for the answer of the node that was killed.
const QUORUM: &str = "[quorum]\nelection = \"1h\"\ncoordinator = \"3h\"\nskew = \"500ms\"\n";

/// The connections have to last a moment before their ends mean something.
const TIMEOUT: Duration = Duration::from_millis(1_000);

/// Three nodes that follow the highest.
fn following(protocol: &str, sections: &str) -> Cluster {
    let sections = format!("[network]\ntimeout = \"{}ms\"\n{sections}", TIMEOUT.as_millis());
    let mut cluster = Cluster::running(3, protocol, &sections);
    // No node waits for the answer of one that has not started: the highest bully leads at once,
    // and with a quorum the highest must find the others.
    let order = if protocol == "bully" { [3, 2, 1] } else { [1, 2, 3] };
    for node in order {
        cluster.start(node);
        cluster.wait_for(node, "is up", |status| protocol != "bully" || status["leader"] == 3);
    }
    cluster.wait_for_leader(3);
    sleep(TIMEOUT * 2);
    cluster
}

/// A leader whose process is gone need not be waited for.
#[test]
fn the_followers_of_a_leader_that_was_killed_elect_another_at_once() {
    let mut cluster = following("bully", BULLY);
    cluster.take(3).kill();
    cluster.wait_for_leader(2);
    // The next one does not lead for long either.
    cluster.take(2).kill();
    cluster.wait_for_leader(1);
}

#[test]
fn a_candidate_waits_for_no_answer_of_a_node_that_was_killed() {
    let mut cluster = following("quorum", QUORUM);
    cluster.take(3).kill();
    cluster.wait_for_leader(2);
}

#[test]
fn a_leader_that_ends_with_a_word_is_replaced_as_soon() {
    let mut cluster = following("bully", BULLY);
    let mut three = cluster.take(3);
    three.ask_to_end();
    cluster.wait_for_leader(2);
    assert_eq!(three.ended().code(), Some(0));
    cluster.logs_of("3", &["leaving", "left"]);
}

#[test]
fn a_leader_that_hangs_is_waited_for_and_so_is_every_one_if_that_is_configured() {
    let mut cluster = following("bully", BULLY);
    let mut other = following("bully", &format!("suspect_refused = false\n{BULLY}"));
    // Nothing is sent by it, and nothing is closed: the kernel answers for it.
    let three = cluster.take(3);
    three.send(Signal::STOP);
    other.take(3).kill();
    for_so_long(TIMEOUT * 5, || {
        for cluster in [&cluster, &other] {
            let status = cluster.status(2).expect("it is up");
            assert_eq!((&status["role"], &status["leader"]), (&"follower".into(), &3.into()));
        }
    });
    drop(three);
}

/// The lines of a log of JSON that are such. The last may not be whole yet.
fn lines(log: &str, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(wanted).collect()
}

/// Pauses the leader of a cluster of three again and again, for longer than the others wait. When
/// it goes on, it is told that it has lost its leadership.
fn pause_the_leader(protocol: &str) {
    let cluster = Cluster::running(3, protocol, "");
    let json = ["--log-format", "json"];
    let nodes = [1, 2, 3].map(|node: u16| cluster.run(&node.to_string(), node, &json));
    let log = |node: u16| cluster.log_of(&node.to_string());
    let changes = |node: u16| lines(&log(node), |line| line.get("was").is_some());
    let leads = |&node: &u16| cluster.status(node).is_some_and(|s| s["role"] == "leader");
    for round in 1..=4 {
        let one = || {
            let leader = [1, 2, 3].into_iter().find(leads)?;
            let follows = |id| cluster.status(id).is_some_and(|s| s["leader"] == leader);
            [1, 2, 3].into_iter().all(follows).then_some(leader)
        };
        let leader = wait_for("all follow one", one, || cluster.logs());
        let before = changes(leader).len();
        nodes[usize::from(leader) - 1].pause(Duration::from_millis(1_500));
        wait_until("it is told", || changes(leader).len() > before, || log(leader));
        let lost = &changes(leader)[before];
        assert_eq!((&lost["was"], &lost["reason"]), (&"leader".into(), &"paused".into()), "{lost}");
        assert_eq!(lost.get("leader"), None, "round {round}: {lost}");
    }
}

#[test]
fn a_paused_leader_of_the_bully_is_always_told_that_it_has_lost() {
    pause_the_leader("bully");
}

#[test]
fn a_paused_leader_of_the_quorum_is_always_told_that_it_has_lost() {
    pause_the_leader("quorum");
}

/// As a machine does that loses its power, and starts again. The first process of node 2 is gone
/// for the others, but no connection to it has ended. The next one is no double: it is the one that
/// answers where node 2 is.
#[test]
fn a_node_that_vanished_without_a_word_is_let_in_when_it_starts_again() {
    vanishes_and_starts_again(Duration::ZERO);
}

/// To ask it takes three times there and back: more than a second.
#[test]
fn so_is_one_that_is_far_away() {
    vanishes_and_starts_again(Duration::from_millis(260));
}

fn vanishes_and_starts_again(late: Duration) {
    let cluster = Cluster::new(2);
    // Where node 2 can be reached, whichever process it is. Everything is late by the same time.
    let runtime = Runtime::new().expect("a runtime");
    let way = Relay::listen(runtime.handle(), cluster.ports[&2], 0, &Arc::default());
    let way = way.expect("a free port");
    way.there(|there| there.delay = late);
    way.back(|back| back.delay = late);
    let start = |name: &str| {
        let port = free_port();
        way.aim(port);
        cluster.run(name, 2, &["--listen", &format!("127.0.0.1:{port}")])
    };
    let vanished = start("vanished");
    let one = cluster.run("1", 1, &[]);
    cluster.follows(1, 2);
    vanished.send(Signal::STOP);
    cluster.follows(1, 1);

    let received = |status: &Value| status["members"][0]["received"].as_u64();
    let before = cluster.status(1).as_ref().and_then(received);
    let again = start("again");
    cluster.wait_for(1, "follows again", |status| {
        status["leader"] == 2
            && received(status) > before
            && status["members"][0]["link"] == "connected"
    });
    assert!(!cluster.log_of("1").contains("two nodes with one id"), "{}", cluster.log_of("1"));
    drop((one, again, vanished));
}

/// A file that is written to find out whether the disk answers is a pipe without a reader: opening
/// it does not return.
#[test]
fn a_leader_whose_disk_does_not_answer_lets_another_lead() {
    let mut cluster = Cluster::running(3, "quorum", "");
    cluster.start_all(1..=3);
    let leader = cluster.wait_for_any_leader();
    let name = leader.to_string();
    let probe = cluster.folder().join(format!("quorum-{leader}/probe"));
    wait_until("it asks its disk", || probe.exists(), || cluster.log_of(&name));
    fs::remove_file(&probe).expect("ours");
    let made = Command::new("mkfifo").arg(&probe).status();
    assert!(made.expect("mkfifo").success());

    let others: Vec<u16> = (1..=3).filter(|&node| node != leader).collect();
    cluster.wait_for(others[0], "another leads", |status| {
        others.iter().any(|&other| status["leader"] == other)
    });
    let log = cluster.log_of(&name);
    assert!(log.contains("its storage does not answer, or fails"), "{log}");
    assert!(!log.contains("no majority renewed the lease"), "it did not wait for that: {log}");

    // Now there is a reader, but a pipe cannot be synced. A file can.
    drop(fs::File::open(&probe).expect("the node waits for that"));
    fs::remove_file(&probe).expect("ours");
    cluster.logs_of(&name, &["the storage answers again"]);
    assert_ne!(cluster.wait_for_any_leader(), 0);
}

/// The lines about the link to this node that say this.
fn about(log: &str, peer: u16, text: &str) -> Vec<Value> {
    lines(log, |line| {
        let message = line["message"].as_str().unwrap_or_default();
        message.starts_with(&format!("link to {peer} (127.0.0.1:")) && message.contains(text)
    })
}

fn breaks(log: &str, peer: u16) -> Vec<Value> {
    about(log, peer, " is broken: ")
}

fn heals(log: &str, peer: u16) -> Vec<Value> {
    about(log, peer, " is up again after ")
}

/// Nodes 1 and 2, which log as JSON, and their leader 3.
fn three(cluster: &Cluster, http: &str) -> ([Process; 2], Process) {
    let json = ["--log-format", "json"];
    let three = cluster.run("3", 3, &[]);
    let one = cluster.run("1", 1, &[&json[..], &["--http", http]].concat());
    let two = cluster.run("2", 2, &json);
    for node in [1, 2] {
        cluster.wait_for(node, "follows", |status| {
            let up = |member: &Value| member["link"] == "connected";
            let members = status["members"].as_array();
            status["leader"] == 3 && members.is_some_and(|members| members.iter().all(up))
        });
    }
    ([one, two], three)
}

/// The loss of node 3 as node 2 has logged it: what the link to it says then.
fn loss(cluster: &Cluster) -> String {
    let look = || {
        let lost = |line: &Value| {
            let links = line["links"].as_str().filter(|_| line["was"] == "follower")?;
            links.starts_with("link to 3: ").then(|| links.to_owned())
        };
        lines(&cluster.log_of("2"), |_| true).iter().find_map(lost)
    };
    wait_for("the loss is logged", look, || cluster.log_of("2"))
}

/// A link that breaks and heals is one line each in the log, and counted once each.
#[test]
fn a_member_that_is_killed_and_starts_again_is_a_break_and_a_heal() {
    let cluster = Cluster::new(3);
    let http = free_address();
    let (nodes, mut three) = three(&cluster, &http);
    three.kill();
    let log = |node: u16| cluster.log_of(&node.to_string());
    for node in [1, 2] {
        let broken = || !breaks(&log(node), 3).is_empty();
        wait_until("the break is logged", broken, || log(node));
    }
    let links = loss(&cluster);
    assert!(links.starts_with("link to 3: broken for ") && links.contains("; last heard "));
    cluster.follows(1, 2);
    // Many attempts fail meanwhile.
    sleep(Duration::from_secs(4));

    let _three = cluster.run("3", 3, &[]);
    for node in [1, 2] {
        let healed = || !heals(&log(node), 3).is_empty();
        wait_until("the heal is logged", healed, || log(node));
        cluster.follows(node, 3);
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

/// The loss of a leader is logged with what the link to it says: its process is only silent.
#[test]
fn a_leader_that_is_paused_is_lost_while_its_link_is_up() {
    let cluster = Cluster::new(3);
    let (nodes, three) = three(&cluster, &free_address());
    three.send(Signal::STOP);
    let links = loss(&cluster);
    assert!(links.starts_with("link to 3: up, last heard "), "{links}");
    assert!(breaks(&cluster.log_of("2"), 3).is_empty(), "{}", cluster.log_of("2"));
    three.send(Signal::CONT);
    drop(nodes);
}
