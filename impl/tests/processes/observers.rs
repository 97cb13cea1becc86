//! A member that only observes: it follows whichever leader there is, and is no part of a majority.

use std::time::{Duration, Instant};

use super::bad_input::refuses;
use super::common::{Cluster, bellwether, wait_until};
use super::roles::Roles;

/// Longer than any promise, and an election after it.
const LONG: Duration = Duration::from_secs(7);

#[test]
fn an_observer_follows_and_helps_no_voter_to_lead() {
    // No leader loses its lease because the machine has much to do.
    let patient = "quorum.lease = \"3s\"\nquorum.promise = \"3500ms\"";
    let mut watched = Roles::new(4, &format!("observers = [4]\n{patient}"));
    (1..=4).for_each(|node| watched.start(node));
    let (leader, epoch) = watched.leader();
    assert_ne!(leader, 4, "an observer never leads");
    let observes = watched.status(4);
    assert_eq!((&observes["observes"], &observes["role"]), (&true.into(), &"follower".into()));
    let voter = watched.status(leader);
    assert_eq!(voter["observes"], false);
    let members = voter["members"].as_array().expect("a list");
    let observers: Vec<_> = members.iter().filter(|one| one["observes"] == true).collect();
    assert_eq!(observers.len(), 1, "{voter}");
    assert_eq!(observers[0]["node"], 4);

    // Whether there is an observer or not changes nothing.
    watched.kill(4);
    std::thread::sleep(LONG);
    let now = watched.status(leader);
    assert_eq!((&now["seq"], &now["epoch"]), (&voter["seq"], &voter["epoch"]), "{now}");
    watched.start(4);
    assert_eq!(watched.leader(), (leader, epoch));

    watched.kill(leader);
    let (second, next) = watched.leader();
    assert!(second != 4 && next > epoch, "{second} leads {next} after {epoch}");

    // One voter and an observer are no majority.
    watched.kill(second);
    let left = *watched.running.keys().find(|&&node| node != 4).expect("one voter");
    let lost = || [left, 4].iter().all(|&node| watched.status(node)["leader"].is_null());
    wait_until("neither has a leader", lost, || watched.cluster.log_of("4"));
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        for node in [left, 4] {
            let status = watched.status(node);
            assert!(status["leader"].is_null(), "{status}");
        }
    }
    watched.start(second);
    let (_, third) = watched.leader();
    assert!(third > next, "{third} after {next}");
}

#[test]
fn no_leader_hands_over_to_an_observer() {
    let mut watched = Roles::new(4, "observers = [4]");
    (1..=4).for_each(|node| watched.start(node));
    let (leader, epoch) = watched.leader();
    let http = &watched.http[&leader];
    let asked = ["transfer", "--http", http, "--token-file", &watched.token, "--to", "4"];
    let answer = bellwether().args(asked).output().expect("it runs");
    let text = String::from_utf8_lossy(&answer.stderr);
    assert_eq!(answer.status.code(), Some(1), "{text}");
    assert!(text.contains("node 4 only observes, and never leads"), "{text}");
    assert_eq!(watched.leader(), (leader, epoch));
}

#[test]
fn observers_that_cannot_be_are_refused() {
    let cluster = Cluster::running(3, "quorum", "");
    let config = cluster.config();
    let check = |more: &[&str], parts: &[&str]| {
        let path = config.to_str().expect("plain text");
        refuses(&[&["check-config", path, "--node", "1"], more].concat(), 2, parts);
    };
    check(&["--observers", "9"], &["node 9 is to observe", "under [members]"]);
    check(&["--observers", "2,2"], &["2 is listed twice"]);
    check(&["--observers", "1,2,3"], &["0 member(s) vote", "at least 1"]);
    check(
        &["--observers", "3", "--protocol", "bully"],
        &["protocol bully has no observers", "quorum"],
    );
    check(&["--observers", "x"], &["`x` is not a node id"]);
}
