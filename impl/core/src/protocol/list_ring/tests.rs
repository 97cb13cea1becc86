//! Stories: what happens to one node, line by line, and to a few of them on virtual time.

use super::{List, ListRing, Message};
use crate::protocol::ring::stories::{self, Ring, Words, id};
use crate::protocol::ring::{Config, Lap, Timing};
use crate::protocol::{Input, Members, Node};

impl Words for Message {
    fn words(&self) -> String {
        let ids = |list: &List| {
            let ids: Vec<_> = list.iter().map(|id| id.to_string()).collect();
            ids.join(" ")
        };
        match self {
            Message::Election(list) => format!("election [{}]", ids(list)),
            Message::Coordinator { leader, passed } => {
                format!("coordinator {leader} [{}]", ids(passed))
            }
            Message::Ack(Lap::Election(id)) => format!("ack of election {id}"),
            Message::Ack(Lap::Coordinator(id)) => format!("ack of coordinator {id}"),
        }
    }
}

type Story = stories::Story<ListRing>;

fn list(numbers: &[u16]) -> List {
    List::new(&numbers.iter().map(|&number| id(number)).collect::<Vec<_>>()).expect("a list")
}

fn election(numbers: &[u16]) -> Message {
    Message::Election(list(numbers))
}

fn coordinator(leader: u16, numbers: &[u16]) -> Message {
    Message::Coordinator { leader: id(leader), passed: list(numbers) }
}

fn ack_election(origin: u16) -> Message {
    Message::Ack(Lap::Election(id(origin)))
}

fn ack_coordinator(origin: u16) -> Message {
    Message::Ack(Lap::Coordinator(id(origin)))
}

#[test]
fn a_list_that_comes_home_makes_the_highest_in_it_the_leader() {
    let mut two = Story::of(2);
    assert_eq!(
        two.at(0, Input::Wake),
        "election [2] to 3, follower becomes candidate: the leader was silent for too long, wake \
         at 20"
    );
    assert_eq!(two.hears(1, 3, ack_election(2)), "wake at 1000");
    assert_eq!(
        two.hears(5, 1, election(&[2, 3, 1])),
        "ack of election 2 to 1, coordinator 3 [2] to 3, candidate becomes follower of 3: the \
         election completed the ring, wake at 25"
    );
    assert_eq!(two.hears(6, 3, ack_coordinator(2)), "wake at 1005");
    assert_eq!(two.hears(9, 1, coordinator(3, &[2, 3, 1])), "ack of coordinator 2 to 1", "home");
    assert_eq!(two.leader(), Some(3));
}

#[test]
fn other_lists_pass_and_change_nothing() {
    let mut two = Story::of(2);
    two.at(0, Input::Wake);
    two.hears(1, 3, ack_election(2));
    assert_eq!(
        two.hears(2, 1, election(&[4, 1])),
        "ack of election 4 to 1, election [4 1 2] to 3, wake at 22"
    );
    assert_eq!(two.hears(3, 3, ack_election(4)), "wake at 1000", "it still waits for its own");
}

#[test]
fn who_is_announced_leads_and_keeps_saying_so() {
    let mut three = Story::of(3);
    three.at(0, Input::Wake);
    three.hears(1, 4, ack_election(3));
    assert_eq!(
        three.hears(2, 2, coordinator(3, &[2])),
        "ack of coordinator 2 to 2, coordinator 3 [2 3] to 4, candidate becomes leader of 3: the \
         election completed the ring, wake at 22"
    );
    three.hears(3, 4, ack_coordinator(2));
    assert_eq!(three.at(202, Input::Wake), "coordinator 3 [3] to 4, wake at 222");
}

#[test]
fn a_list_that_comes_home_too_late_decides_nothing() {
    let mut two = Story::of(2);
    two.at(0, Input::Wake);
    two.hears(1, 3, ack_election(2));
    two.hears(2, 1, coordinator(4, &[4, 1]));
    two.hears(3, 3, ack_coordinator(4));
    assert_eq!(two.hears(4, 1, election(&[2, 3, 1])), "ack of election 2 to 1");
    assert_eq!(two.leader(), Some(4));
}

#[test]
fn a_lower_leader_is_contested_not_followed() {
    let mut three = Story::of(3);
    three.at(0, Input::Wake);
    three.hears(1, 4, ack_election(3));
    assert_eq!(three.hears(2, 2, coordinator(1, &[1, 2])), "ack of coordinator 1 to 2");
    three.hears(3, 2, coordinator(4, &[2]));
    three.hears(4, 4, ack_coordinator(2));
    assert_eq!(
        three.hears(5, 2, coordinator(2, &[1, 2])),
        "ack of coordinator 1 to 2, election [3] to 4, follower becomes candidate: a lower node \
         claims to lead, wake at 25"
    );
}

#[test]
fn what_was_begun_by_a_silent_member_or_announces_it_is_removed() {
    for message in [election(&[4, 1, 2]), coordinator(4, &[4, 1, 2]), coordinator(4, &[2])] {
        let mut three = Story::of(3);
        three.at(0, Input::Wake);
        three.hears(1, 4, ack_election(3));
        three.hears(2, 2, coordinator(4, &[1, 2]));
        three.hears(3, 4, ack_coordinator(1));
        three.hears(4, 2, message);
        assert_eq!(
            three.at(24, Input::Wake),
            "election [3] to 4, follower becomes candidate: the node that began what was to be \
             handed on is \
             silent, wake at 44"
        );
        assert_eq!(three.at(44, Input::Wake), "election [3] to 1, wake at 64");
    }
}

#[test]
fn a_node_that_no_other_answers_leads() {
    let mut four = Story::of(4);
    four.at(0, Input::Wake);
    four.at(20, Input::Wake);
    four.at(40, Input::Wake);
    assert_eq!(
        four.at(60, Input::Wake),
        "candidate becomes leader of 4: no other member answered in time, wake at 260"
    );
}

/// Node 2, which has led alone from 60 on.
fn leader() -> Story {
    let mut two = Story::of(2);
    for milliseconds in [0, 20, 40, 60] {
        two.at(milliseconds, Input::Wake);
    }
    assert_eq!(two.leader(), Some(2));
    two
}

#[test]
fn a_leader_says_so_when_it_hears_the_announcement_of_another() {
    assert_eq!(
        leader().hears(70, 1, coordinator(1, &[1])),
        "ack of coordinator 1 to 1, election [2] to 3, 1 leads as well, leader becomes candidate: \
         a lower node claims to lead, wake at 90"
    );
    assert_eq!(
        leader().hears(70, 1, coordinator(4, &[3, 4, 1])),
        "ack of coordinator 3 to 1, coordinator 4 [3 4 1 2] to 3, 4 leads as well, leader becomes \
         follower of 4: a higher node claims to lead, wake at 90"
    );
    for announced in [coordinator(4, &[1]), coordinator(2, &[1]), coordinator(2, &[2])] {
        let said = leader().hears(70, 1, announced);
        assert!(!said.contains("leads as well"), "it has passed no other leader: {said}");
    }
}

#[test]
fn what_no_correct_node_would_send_is_ignored_and_told() {
    let mut two = Story::of(2);
    two.at(0, Input::Wake);
    let unknown = "it names a node that is not a configured member";
    for (from, message, cause) in [
        (9, election(&[1]), "the sender is not a configured member"),
        (2, election(&[1]), "the sender has this node's own id"),
        (1, election(&[1, 9]), unknown),
        (1, coordinator(9, &[1]), unknown),
        (1, coordinator(3, &[9, 1]), unknown),
        (1, ack_election(9), unknown),
    ] {
        assert_eq!(two.hears(1, from, message), format!("ignored {from}: {cause}"));
    }
}

#[test]
fn a_group_that_no_list_can_hold_is_refused() {
    let members = Members::new((1..=33).map(id)).expect("valid");
    let config = Config { id: id(1), members, timing: Timing::DEFAULT };
    let refused = Node::<ListRing>::new(config, None, 0).expect_err("must be refused").to_string();
    assert_eq!(refused, "33 members are more than the 32 that a list holds: use another protocol");
}

#[test]
fn three_nodes_agree_on_the_highest_through_a_crash_and_a_recovery() {
    let mut ring = Ring::<ListRing>::of(&[1, 2, 3]);
    ring.run(1_100);
    assert_eq!(ring.leaders(), [Some(3); 3]);
    ring.crash(3);
    ring.run(1_500);
    assert_eq!(ring.leaders(), [Some(2); 2]);
    ring.start(3);
    ring.run(300);
    assert_eq!(ring.leaders(), [Some(3); 3]);
}

#[test]
fn a_lower_node_that_comes_back_costs_nothing_but_its_hops_of_the_heartbeat() {
    let mut ring = Ring::<ListRing>::of(&[1, 2, 3, 4, 5]);
    ring.run(1_100);
    ring.crash(2);
    ring.run(900);
    ring.start(2);
    ring.messages = 0;
    ring.run(1_000);
    assert_eq!(ring.leaders(), [Some(5); 5]);
    assert_eq!(ring.messages, 50, "five announcements over five hops, each acknowledged");
}
