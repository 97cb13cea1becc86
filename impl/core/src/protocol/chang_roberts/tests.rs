//! Stories: what happens to one node, line by line, and to a few of them on virtual time.

use std::time::Duration;

use super::{ChangRoberts, Message};
use crate::protocol::ring::Error;
use crate::protocol::ring::stories::{self, Ring, Words, config, id};
use crate::protocol::ring::{Lap, Timer, Timing};
use crate::protocol::{Input, Members, Node, Time};

impl Words for Message {
    fn words(&self) -> String {
        match self {
            Message::Election(id) => format!("election {id}"),
            Message::Coordinator(id) => format!("coordinator {id}"),
            Message::Ack(Lap::Election(id)) => format!("ack of election {id}"),
            Message::Ack(Lap::Coordinator(id)) => format!("ack of coordinator {id}"),
        }
    }
}

type Story = stories::Story<ChangRoberts>;

fn election(number: u16) -> Message {
    Message::Election(id(number))
}

fn coordinator(number: u16) -> Message {
    Message::Coordinator(id(number))
}

fn ack(lap: Lap) -> Message {
    Message::Ack(lap)
}

#[test]
fn a_node_that_starts_listens_and_follows_whoever_says_that_it_leads() {
    let mut two = Story::of(2);
    assert_eq!(two.leader(), None);
    let at_once = Time::ZERO + Duration::from_millis(1);
    let mut booted = Node::<ChangRoberts>::new(config(2, &[1, 2, 3, 4]), None, 0).expect("valid");
    booted.handle(Time::ZERO, Input::Boot);
    booted.handle(at_once, Input::Receive { from: id(1), message: coordinator(4) });
    assert_eq!(booted.status().leader, Some(id(4)));
    assert!(two.at(0, Input::Wake).starts_with("election 2 to 3"), "unless no node says so");
}

#[test]
fn an_id_that_comes_home_makes_a_leader_that_keeps_saying_so() {
    let mut four = Story::of(4);
    assert_eq!(
        four.at(0, Input::Wake),
        "election 4 to 1, follower becomes candidate: the leader was silent for too long, wake at \
         20"
    );
    assert_eq!(four.hears(1, 1, ack(Lap::Election(id(4)))), "wake at 1000");
    assert_eq!(
        four.hears(5, 3, election(4)),
        "ack of election 4 to 3, coordinator 4 to 1, candidate becomes leader of 4: the node's \
         own id completed the ring, wake at 25"
    );
    assert_eq!(four.hears(6, 1, ack(Lap::Coordinator(id(4)))), "wake at 205");
    assert_eq!(four.hears(9, 3, coordinator(4)), "ack of coordinator 4 to 3", "it is home");
    assert_eq!(four.at(205, Input::Wake), "coordinator 4 to 1, wake at 225", "a heartbeat");
}

#[test]
fn a_higher_id_passes_and_its_owner_is_followed() {
    let mut two = Story::of(2);
    two.at(0, Input::Wake);
    two.hears(1, 3, ack(Lap::Election(id(2))));
    assert_eq!(
        two.hears(2, 1, election(4)),
        "ack of election 4 to 1, election 4 to 3, candidate becomes waiting: a higher node has \
         started an election, wake at 22"
    );
    two.hears(3, 3, ack(Lap::Election(id(4))));
    assert_eq!(
        two.hears(4, 1, coordinator(4)),
        "ack of coordinator 4 to 1, coordinator 4 to 3, waiting becomes follower of 4: a higher \
         node claims to lead, wake at 24"
    );
    assert_eq!(two.hears(5, 3, ack(Lap::Coordinator(id(4)))), "wake at 1004");
    assert_eq!(
        two.at(1_004, Input::Wake),
        "election 2 to 3, follower becomes candidate: the leader was silent for too long, wake at \
         1024"
    );
}

#[test]
fn a_lower_id_is_replaced_by_a_follower_and_swallowed_by_whoever_takes_part() {
    let mut three = Story::of(3);
    three.at(0, Input::Wake);
    three.hears(1, 4, ack(Lap::Election(id(3))));
    assert_eq!(three.hears(2, 2, election(1)), "ack of election 1 to 2", "swallowed");
    three.hears(3, 2, coordinator(4));
    three.hears(4, 4, ack(Lap::Coordinator(id(4))));
    assert_eq!(
        three.hears(5, 2, election(1)),
        "ack of election 1 to 2, election 3 to 4, follower becomes candidate: a lower node has \
         started an election, wake at 25"
    );
}

#[test]
fn a_silent_member_is_skipped_and_the_last_one_alone_leads() {
    let mut two = Story::of(2);
    two.at(0, Input::Wake);
    assert_eq!(two.at(20, Input::Wake), "election 2 to 4, wake at 40");
    assert_eq!(two.at(40, Input::Wake), "election 2 to 1, wake at 60");
    assert_eq!(
        two.at(60, Input::Wake),
        "candidate becomes leader of 2: no other member answered in time, wake at 260"
    );
    assert_eq!(two.at(260, Input::Wake), "coordinator 2 to 3, wake at 280", "3 may be back");
}

#[test]
fn what_cannot_come_home_is_removed_and_there_is_an_election() {
    let mut three = Story::of(3);
    three.at(0, Input::Wake);
    three.hears(1, 4, ack(Lap::Election(id(3))));
    three.hears(2, 2, coordinator(4));
    assert_eq!(
        three.at(22, Input::Wake),
        "election 3 to 4, follower becomes candidate: the node that began what was to be handed \
         on is \
         silent, wake at 42",
        "4 is silent, and it was 4's announcement"
    );
    assert_eq!(three.at(42, Input::Wake), "election 3 to 1, wake at 62");
}

#[test]
fn an_id_that_comes_home_too_late_is_not_believed() {
    let mut three = Story::of(3);
    three.at(0, Input::Wake);
    three.hears(1, 4, ack(Lap::Election(id(3))));
    three.hears(2, 2, election(4));
    three.hears(3, 4, ack(Lap::Election(id(4))));
    assert_eq!(three.hears(4, 2, election(3)), "ack of election 3 to 2");
    assert_eq!(three.leader(), None);
}

#[test]
fn a_lower_leader_is_contested_not_followed() {
    let mut three = Story::of(3);
    three.at(0, Input::Wake);
    three.hears(1, 4, ack(Lap::Election(id(3))));
    assert_eq!(three.hears(2, 2, coordinator(1)), "ack of coordinator 1 to 2", "it holds one");
    three.hears(3, 2, coordinator(4));
    three.hears(4, 4, ack(Lap::Coordinator(id(4))));
    assert_eq!(
        three.hears(5, 2, coordinator(2)),
        "ack of coordinator 2 to 2, election 3 to 4, follower becomes candidate: a lower node \
         claims to lead, wake at 25"
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
        leader().hears(70, 1, coordinator(1)),
        "ack of coordinator 1 to 1, election 2 to 3, 1 leads as well, leader becomes candidate: \
         a lower node claims to lead, wake at 90"
    );
    assert_eq!(
        leader().hears(70, 1, coordinator(4)),
        "ack of coordinator 4 to 1, coordinator 4 to 3, 4 leads as well, leader becomes follower \
         of 4: a higher node claims to lead, wake at 90"
    );
    assert_eq!(leader().hears(70, 1, coordinator(2)), "ack of coordinator 2 to 1", "its own");
    let said = leader().hears(70, 1, election(4));
    assert!(!said.contains("leads as well"), "4 does not lead yet: {said}");
}

#[test]
fn an_election_that_is_lost_on_the_way_is_held_again() {
    let mut three = Story::of(3);
    three.at(0, Input::Wake);
    three.hears(1, 4, ack(Lap::Election(id(3))));
    assert_eq!(three.at(1_000, Input::Wake), "election 3 to 4, wake at 1020");
}

#[test]
fn several_messages_wait_for_silent_members_and_go_on_together() {
    let mut one = Story::of(1);
    one.at(0, Input::Wake);
    one.hears(5, 4, election(3));
    one.hears(6, 4, election(4));
    assert_eq!(
        one.at(26, Input::Wake),
        "election 1 to 3, election 3 to 3, election 4 to 3, wake at 46"
    );
    assert_eq!(one.hears(27, 3, ack(Lap::Election(id(1)))), "");
    assert_eq!(
        one.at(46, Input::Wake),
        "election 4 to 4, election 1 to 2, waiting becomes candidate: the node that began what \
         was to be \
         handed on is silent, wake at 66",
        "what 3 began is gone"
    );
}

#[test]
fn what_no_correct_node_would_send_is_ignored_and_told() {
    let mut two = Story::of(2);
    two.at(0, Input::Wake);
    for (from, message, cause) in [
        (9, election(3), "the sender is not a configured member"),
        (2, election(3), "the sender has this node's own id"),
        (1, election(9), "it names a node that is not a configured member"),
        (1, coordinator(9), "it names a node that is not a configured member"),
        (1, ack(Lap::Election(id(9))), "it names a node that is not a configured member"),
    ] {
        assert_eq!(two.hears(1, from, message), format!("ignored {from}: {cause}"));
    }
}

#[test]
fn settings_that_contradict_themselves_are_refused_with_numbers_and_a_remedy() {
    let build = |number: u16, change: &dyn Fn(&mut Timing)| {
        let mut config = config(number, &[1, 2, 3]);
        change(&mut config.timing);
        Node::<ChangRoberts>::new(config, None, 0).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(build(2, &|_| {}), Ok(()));
    assert_eq!(
        build(9, &|_| {}),
        Err("node 9 is not among the members (1, 2, 3): add it to them, or use another id".into())
    );
    assert_eq!(
        build(2, &|t| t.hop = Duration::ZERO),
        Err("chang-roberts.hop is 0ns: use more than 0s and at most 24h".into())
    );
    assert_eq!(
        build(2, &|t| t.lap = Duration::from_millis(60)),
        Err("chang-roberts.lap (60ms) must be longer than chang-roberts.hop (20ms) times the 3 \
             members: a \
             message waits so long on its way round if members are down; try 80ms"
            .into())
    );
    assert_eq!(
        build(2, &|t| t.heartbeat = Duration::from_millis(60)),
        Err("chang-roberts.heartbeat (60ms) must be longer than chang-roberts.hop (20ms) times \
             the 3 members: a \
             message waits so long on its way round if members are down; try 80ms"
            .into())
    );
    assert_eq!(
        build(2, &|t| t.heartbeat = Duration::from_millis(500)),
        Err("chang-roberts.heartbeat (500ms) must be shorter than half of chang-roberts.watch \
             (1s): one lost heartbeat would start an election; try 200ms"
            .into())
    );
    let two = Members::new([id(1), id(2)]).expect("valid");
    assert!(matches!(
        Node::<ChangRoberts>::new(
            crate::protocol::ring::Config {
                id: id(1),
                members: two,
                timing: Timing {
                    hop: Duration::from_millis(90),
                    watch: Duration::from_millis(150),
                    ..Timing::DEFAULT
                }
            },
            None,
            0
        ),
        Err(Error::ShorterThanALap { name: "watch", .. })
    ));
}

#[test]
fn three_nodes_agree_on_the_highest_through_a_crash_and_a_recovery() {
    let mut ring = Ring::<ChangRoberts>::of(&[1, 2, 3]);
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
fn the_last_one_leads_until_another_is_back() {
    let mut ring = Ring::<ChangRoberts>::of(&[1, 2, 3]);
    ring.run(1_100);
    ring.crash(3);
    ring.crash(2);
    ring.run(2_000);
    assert_eq!(ring.leaders(), [Some(1)]);
    ring.start(2);
    ring.run(300);
    assert_eq!(ring.leaders(), [Some(2); 2]);
}

#[test]
fn a_quiet_ring_hands_round_one_claim_at_a_time() {
    let mut ring = Ring::<ChangRoberts>::of(&[1, 2, 3]);
    ring.run(2_000);
    ring.messages = 0;
    ring.run(2_000);
    assert_eq!(ring.messages, 60, "ten claims over three hops, each acknowledged");
}

/// Only one timer of a role is armed, and `Hop` exactly while something is not acknowledged.
#[test]
fn each_role_waits_for_one_thing() {
    let mut two = Story::of(2);
    assert_eq!(two.armed(), [Timer::Watch], "it listens");
    two.at(0, Input::Wake);
    assert_eq!(two.armed(), [Timer::Hop, Timer::Lap]);
    two.hears(1, 3, ack(Lap::Election(id(2))));
    assert_eq!(two.armed(), [Timer::Lap]);
    two.hears(2, 1, coordinator(4));
    assert_eq!(two.armed(), [Timer::Hop, Timer::Watch]);
}
