//! A member that votes and never leads: its vote lets others lead, and it stays what it is.

use std::time::{Duration, Instant};

use super::bad_input::refuses;
use super::common::{Cluster, bellwether, wait_until};
use super::roles::Roles;

/// Longer than any promise, and an election after it.
const LONG: Duration = Duration::from_secs(3);

/// Waits until all that run follow node `leader`, and returns its epoch.
fn epoch_of(roles: &Roles, leader: u16) -> u64 {
    let mut epoch = None;
    let leads = || {
        let (seen, of) = roles.leader();
        epoch = Some(of).filter(|_| seen == leader);
        epoch.is_some()
    };
    wait_until(&format!("all follow {leader}"), leads, String::new);
    epoch.expect("seen above")
}

#[test]
fn a_witness_lets_others_lead_and_never_leads_itself() {
    let mut three = Roles::new(3, "witnesses = [3]");
    // With the vote of the witness alone.
    [3, 2].into_iter().for_each(|node| three.found(node));
    let first = epoch_of(&three, 2);
    three.found(1);
    assert_eq!(epoch_of(&three, 2), first);
    assert_eq!(three.status(1)["witnesses"], serde_json::json!([3]));
    let said = three.cluster.ask(3, &[]).stdout;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("follower, a witness, for"), "{said}");

    three.kill(2);
    let second = epoch_of(&three, 1);
    assert!(second > first, "{second} after {first}");
    let asked = ["transfer", "--http", &three.http[&1], "--token-file", &three.token, "--to", "3"];
    let answer = bellwether().args(asked).output().expect("it runs");
    let text = String::from_utf8_lossy(&answer.stderr);
    assert_eq!(answer.status.code(), Some(1), "{text}");
    assert!(text.contains("node 3 is a witness, which votes and never leads"), "{text}");
    assert_eq!(epoch_of(&three, 1), second);

    // A restart changes nothing. The other voter that is left is asked not to lead, and the witness
    // does not run either.
    three.kill(3);
    three.start(3);
    assert!(epoch_of(&three, 1) >= second);
    let asked = ["step-down", "--http", &three.http[&1], "--token-file", &three.token];
    let answer = bellwether().args(asked).args(["--for", "1min"]).output().expect("it runs");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        let status = three.status(3);
        assert!(status["leader"].is_null() || status["leader"] == 1, "{status}");
        assert!(status.is_null() || status["role"] == "follower", "{status}");
    }
    three.start(2);
    assert!(epoch_of(&three, 2) > second);
}

#[test]
fn witnesses_that_cannot_be_are_refused() {
    let cluster = Cluster::running(3, "quorum", "");
    let config = cluster.config();
    let check = |more: &[&str], parts: &[&str]| {
        let path = config.to_str().expect("plain text");
        refuses(&[&["check-config", path, "--node", "1"], more].concat(), 2, parts);
    };
    check(&["--witnesses", "9"], &["node 9 is to be a witness", "under [members]"]);
    check(&["--witnesses", "2,2"], &["2 is listed twice"]);
    check(&["--witnesses", "1,2,3"], &["3 member(s) vote", "all are witnesses"]);
    check(&["--witnesses", "3", "--observers", "3"], &["node 3", "name it as one of the two"]);
    check(
        &["--witnesses", "3", "--protocol", "bully"],
        &["protocol bully has no witnesses", "quorum"],
    );
}
