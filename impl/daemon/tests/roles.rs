//! What an operator makes of members: observers, which follow and are no part of a majority;
//! witnesses, which vote and never lead; priorities; and maintenance.

use std::thread::sleep;
use std::time::Duration;

use bellwether_docs_runner::object_of;
use serde_json::{Value, json};

use super::common::{Served, Signal, for_so_long, wait_for, wait_until};

impl Served {
    /// Waits until all that run follow this node, and returns its epoch.
    #[track_caller]
    fn led_by(&self, leader: u16) -> u64 {
        let look = || Some(self.leader()).filter(|seen| seen.0 == leader);
        wait_for(&format!("all follow {leader}"), look, || self.cluster.logs()).1
    }

    /// The leader hands over to none that must not lead.
    #[track_caller]
    fn keeps_its_lead(&self, leader: u16, other: u16, why: &str) {
        let (status, said) = self.ask(leader, &["transfer", "--to", &other.to_string()]);
        assert!(status == Some(1) && said.contains(why), "{status:?}: {said}");
    }

    /// Waits until what `status` says of a node has this part.
    #[track_caller]
    fn tells(&self, node: u16, part: &str) {
        let said = || String::from_utf8_lossy(&self.cluster.ask(node, &[]).stdout).into_owned();
        wait_until(part, || said().contains(part), said);
    }
}

#[test]
fn an_observer_follows_and_helps_no_voter_to_lead() {
    // Longer than any promise, and an election after it.
    let long = Duration::from_secs(7);
    // No leader loses its lease because the machine has much to do.
    let patient = "quorum.lease = \"3s\"\nquorum.promise = \"3500ms\"";
    let mut watched = Served::new(4, &format!("observers = [4]\n{patient}"));
    watched.start_all(1..=4);
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
    sleep(long);
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
    for_so_long(long, || assert!(lost(), "{}", watched.cluster.logs()));
    watched.start(second);
    let (_, third) = watched.leader();
    assert!(third > next, "{third} after {next}");
}

#[test]
fn no_leader_hands_over_to_an_observer() {
    let mut watched = Served::new(4, "observers = [4]");
    watched.start_all(1..=4);
    let (leader, epoch) = watched.leader();
    watched.keeps_its_lead(leader, 4, "node 4 only observes, and never leads");
    assert_eq!(watched.leader(), (leader, epoch));
}

#[test]
fn a_witness_lets_others_lead_and_never_leads_itself() {
    let mut three = Served::new(3, "witnesses = [3]");
    // With the vote of the witness alone.
    [3, 2].into_iter().for_each(|node| three.found(node));
    let first = three.led_by(2);
    three.found(1);
    assert_eq!(three.led_by(2), first);
    assert_eq!(three.status(1)["witnesses"], json!([3]));
    three.tells(3, "follower, a witness, for");

    three.kill(2);
    let second = three.led_by(1);
    assert!(second > first, "{second} after {first}");
    three.keeps_its_lead(1, 3, "node 3 is a witness, which votes and never leads");
    assert_eq!(three.led_by(1), second);

    // A restart changes nothing. The other voter that is left is asked not to lead, and the witness
    // does not run either.
    three.kill(3);
    three.start(3);
    assert!(three.led_by(1) >= second);
    let (status, said) = three.ask(1, &["step-down", "--for", "1min"]);
    assert_eq!(status, Some(0), "{said}");
    // Longer than any promise, and an election after it.
    for_so_long(Duration::from_secs(3), || {
        let status = three.status(3);
        assert!(status["leader"].is_null() || status["leader"] == 1, "{status}");
        assert!(status.is_null() || status["role"] == "follower", "{status}");
    });
    three.start(2);
    assert!(three.led_by(2) > second);
}

#[test]
fn maintenance_is_begun_and_ended_at_any_node_and_told_by_all() {
    let mut three = Served::new(3, "");
    [2, 3].into_iter().for_each(|node| three.found(node));
    let (leader, epoch) = three.leader();
    assert_eq!(leader, 3);
    let begun = "done: the cluster is in maintenance at 2, 3\n\
                 not yet at 1, which learn of it once they are connected\n";
    assert_eq!(three.ask(2, &["maintenance", "begin"]), (Some(0), begun.to_owned()));
    three.found(1);
    for node in 1..=3 {
        three.tells(node, "problem   the cluster is in maintenance: no node stands");
    }
    three.kill(3);
    // The node that would lead is restarted, and does not run either.
    three.kill(2);
    three.start(2);
    three.tells(2, "leader    none is known");
    three.tells(1, "leader    none is known");
    let (status, said) = three.ask(1, &["maintenance", "end", "--json"]);
    assert_eq!(status, Some(0), "{said}");
    let said = object_of("bellwether-control", said);
    let expected = json!({ "version": 1, "maintenance": false, "known": [1, 2], "missing": [3] });
    assert_eq!(said, expected);
    let (leader, later) = three.leader();
    assert!(leader == 2 && later > epoch, "{leader} in {later}");
}

#[test]
fn a_priority_is_read_again_and_the_leader_hands_over() {
    let mut three = Served::new(3, "priority = 100\npreempt_delay = \"300ms\"");
    three.start_all(1..=3);
    assert_eq!(three.leader().0, 3);
    let text = three.cluster.text_of("bellwether.toml");
    let set = |priority: &str| {
        three.cluster.write(&text.replace("priority = 100", &format!("priority = {priority}")));
        three.send(1, Signal::HUP);
    };
    set("201");
    three.led_by(1);
    three.tells(1, "priority  201");
    let status = three.status(2);
    assert_eq!(
        (&status["members"][0]["priority"], &status["priority"]),
        (&201.into(), &100.into())
    );
    // What is wrong changes nothing.
    set("300");
    three.cluster.logs_of("1", &["use a number from 0 to 255"]);
    assert_eq!(three.status(1)["priority"], Value::Null, "the file is wrong");
    three.cluster.write(&text);
    three.tells(1, "priority  201");
    set("0");
    three.led_by(3);
}
