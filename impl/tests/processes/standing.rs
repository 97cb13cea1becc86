//! What an operator does with priorities and maintenance, at real processes.

use std::fs;

use super::bad_input::refuses;
use super::common::{Signal, bellwether, wait_until};
use super::roles::Roles;

/// What `maintenance` says, and its exit status.
fn maintenance(roles: &Roles, node: u16, what: &str, more: &[&str]) -> (Option<i32>, String) {
    let mut command = bellwether();
    command.args(["maintenance", what, "--http", &roles.http[&node]]);
    let output = command.args(["--token-file", &roles.token]).args(more).output().expect("it runs");
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    (output.status.code(), said.concat())
}

/// Waits until what `status` says of a node has this part.
fn says(roles: &Roles, node: u16, part: &str) {
    let said = || String::from_utf8_lossy(&roles.cluster.ask(node, &[]).stdout).into_owned();
    wait_until(part, || said().contains(part), said);
}

#[test]
fn maintenance_is_begun_and_ended_at_any_node_and_told_by_all() {
    let mut three = Roles::new(3, "");
    [2, 3].into_iter().for_each(|node| three.found(node));
    let (leader, epoch) = three.leader();
    assert_eq!(leader, 3);
    let begun = "done: the cluster is in maintenance at 2, 3\n\
                 not yet at 1, which learn of it once they are connected\n";
    assert_eq!(maintenance(&three, 2, "begin", &[]), (Some(0), begun.to_owned()));
    three.found(1);
    for node in 1..=3 {
        says(&three, node, "problem   the cluster is in maintenance: no node runs");
    }
    three.kill(3);
    // The node that would lead is restarted, and does not run either.
    three.kill(2);
    three.start(2);
    says(&three, 2, "leader    none is known");
    says(&three, 1, "leader    none is known");
    let (status, said) = maintenance(&three, 1, "end", &["--json"]);
    assert_eq!(status, Some(0), "{said}");
    let said = bellwether_docs_runner::object_of("bellwether-control", said);
    let expected = serde_json::json!({
        "version": 1, "maintenance": false, "known": [1, 2], "missing": [3],
    });
    assert_eq!(said, expected);
    let (leader, later) = three.leader();
    assert!(leader == 2 && later > epoch, "{leader} in {later}");
    refuses(&["maintenance", "pause", "--http", "127.0.0.1:1"], 2, &["begin", "end"]);
}

#[test]
fn a_priority_is_read_again_and_the_leader_hands_over() {
    let mut three = Roles::new(3, "priority = 100\npreempt_delay = \"300ms\"");
    (1..=3).for_each(|node| three.start(node));
    assert_eq!(three.leader().0, 3);
    let text = fs::read_to_string(three.cluster.config()).expect("ours");
    let set = |priority: &str| {
        let text = text.replace("priority = 100", &format!("priority = {priority}"));
        fs::write(three.cluster.config(), text).expect("ours");
        three.running[&1].send(Signal::HUP);
    };
    set("201");
    wait_until("node 1 leads", || three.leader().0 == 1, || three.cluster.log_of("1"));
    says(&three, 1, "priority  201");
    let status = three.status(2);
    assert_eq!(
        (&status["members"][0]["priority"], &status["priority"]),
        (&201.into(), &100.into())
    );
    // What is wrong changes nothing.
    set("300");
    let complains = || three.cluster.log_of("1").contains("use a number from 0 to 255");
    wait_until("it complains", complains, || three.cluster.log_of("1"));
    assert_eq!(three.status(1)["priority"], serde_json::Value::Null, "the file is wrong");
    fs::write(three.cluster.config(), &text).expect("ours");
    says(&three, 1, "priority  201");
    set("0");
    wait_until("another leads", || three.leader().0 == 3, || three.cluster.log_of("3"));
}
