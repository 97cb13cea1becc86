//! How a leader hands over, told of one node of three.

use super::{Story, epoch, founder, granted, id, ms, node, node_with};
use crate::protocol::Birth;
use crate::protocol::quorum::Mark;
use crate::protocol::quorum::{Config, Message, Preemption, Timing};
use crate::protocol::{Input, Members, Node};

/// Node 3, which has heard node 2 lead epoch 1 at the 10th millisecond.
fn above_a_leader(preemption: Preemption) -> (Story, String) {
    let dwell = ms(500);
    let timing = Timing { preemption, dwell, ..Timing::DEFAULT };
    let mut three = Story(node_with(3, None, timing));
    three.at(0, Input::Boot);
    let said = three.hears(10, 2, Message::Coordinator(epoch(1), 1, Mark::FIRST));
    (three, said)
}

#[test]
fn a_higher_node_takes_over_once_it_has_followed_for_the_dwell_time() {
    let (mut three, said) = above_a_leader(Preemption::Dwell);
    assert_eq!(
        said,
        "durable: 1 to 2, Ack 1.1 to 2, \
         follower becomes follower of 2: the leader of the epoch was heard, wake at 510"
    );
    // Further rounds renew the promise, and the dwell time counts from the first.
    assert_eq!(three.hears(300, 2, Message::Coordinator(epoch(1), 2, Mark::FIRST)), "Ack 1.2 to 2");
    assert_eq!(three.at(510, Input::Wake), "Challenge 1 to 2, wake at 1010");
    // The challenge may be lost: it is said again.
    assert_eq!(three.at(1_010, Input::Wake), "Challenge 1 to 2, wake at 1500");
}

#[test]
fn of_two_higher_nodes_the_higher_challenges_first() {
    let timing = Timing { preemption: Preemption::Dwell, dwell: ms(500), ..Timing::DEFAULT };
    let mut two = Story(node_with(2, None, timing));
    two.at(0, Input::Boot);
    let said = two.hears(10, 1, Message::Coordinator(epoch(1), 1, Mark::FIRST));
    assert!(said.ends_with("wake at 610"), "one skew later than node 3: {said}");
}

#[test]
fn a_dwell_time_counts_from_the_leader_that_is_followed_now() {
    let (mut three, _) = above_a_leader(Preemption::Dwell);
    assert_eq!(
        three.hears(400, 1, Message::Coordinator(epoch(2), 1, Mark::FIRST)),
        "durable: 2 to 1, Ack 2.1 to 1, \
         follower becomes follower of 1: the leader of the epoch was heard, wake at 900"
    );
}

#[test]
fn without_a_dwell_time_it_takes_over_at_once_and_without_preemption_never() {
    let (_, said) = above_a_leader(Preemption::AtOnce);
    assert!(said.starts_with("durable: 1 to 2, Ack 1.1 to 2, Challenge 1 to 2, "), "{said}");
    let (mut three, said) = above_a_leader(Preemption::Never);
    assert!(!said.contains("Challenge"), "{said}");
    assert_eq!(three.at(600, Input::Wake), "");
}

#[test]
fn a_leader_that_is_challenged_stops_and_grants_the_next_epoch_before_it_yields() {
    let mut two = Story::of_a_leader_in_the_middle();
    let stale = |from| format!("ignored {from}: it belongs to something that is over");
    assert_eq!(
        two.hears(1_700, 1, Message::Challenge(epoch(1), Mark::FIRST)),
        stale(1),
        "to no lower one"
    );
    assert_eq!(
        two.hears(1_700, 3, Message::Challenge(epoch(2), Mark::FIRST)),
        stale(3),
        "for no other epoch"
    );
    assert!(two.0.leads(super::at(1_700)).is_some());
    assert_eq!(
        two.hears(1_700, 3, Message::Challenge(epoch(1), Mark::FIRST)),
        "durable: 2 to 3, Yield 1 to 3 to 1, Yield 1 to 3 to 3, Entrust 2 to 3, \
         leader becomes follower: another node is to lead instead, wake at 2900"
    );
    assert_eq!(two.0.leads(super::at(1_700)), None);
    // If no leader comes of it, it runs when its promise is over.
    assert_eq!(two.at(2_900, Input::Wake), "wake at 3100");
    assert!(two.at(3_100, Input::Wake).starts_with("Canvass 3 to 1, Canvass 3 to 3, "));
}

#[test]
fn a_node_that_is_invited_challenges_and_counts_its_lease_from_there() {
    let (mut three, _) = above_a_leader(Preemption::Never);
    let stale = "ignored 1: it belongs to something that is over";
    assert_eq!(three.hears(15, 1, Message::Invite(epoch(1))), stale, "it is not its leader");
    let said = three.hears(20, 2, Message::Invite(epoch(1)));
    assert_eq!(said, "Challenge 1 to 2, wake at 1020");
    assert_eq!(three.hears(30, 2, Message::Invite(epoch(1))), "Challenge 1 to 2", "from the first");
    assert_eq!(
        three.hears(40, 2, Message::Yield(epoch(1), Some(id(3)))),
        "durable: 2 to 3, follower becomes candidate: the leader has stopped leading, wake at 340",
        "its own grant is durable before it leads"
    );
    assert_eq!(
        three.hears(50, 2, Message::Entrust(epoch(2))),
        "Coordinator 2.1 to 1, Coordinator 2.1 to 2, \
         candidate becomes leader of 3: a majority granted the epoch, wake at 250"
    );
    assert_eq!(three.0.leads(super::at(1_019)), Some(epoch(2)));
    assert_eq!(three.0.leads(super::at(1_020)), None, "its lease is over");
}

/// Node 3 of five, which has heard node 2 lead epoch 1, and was invited at the 20th millisecond.
fn invited_of_five() -> Story {
    let members = Members::new((1..=5).map(id)).expect("valid");
    let config = Config { id: id(3), members, timing: Timing::DEFAULT };
    let mut three = Story(Node::new(config, founder(), 0).expect("valid"));
    three.at(0, Input::Boot);
    three.hears(10, 2, Message::Coordinator(epoch(1), 1, Mark::FIRST));
    assert_eq!(three.hears(20, 2, Message::Invite(epoch(1))), "Challenge 1 to 2, wake at 1020");
    three
}

#[test]
fn what_others_entrust_counts_whether_the_leader_was_heard_to_yield_or_not() {
    let waits = "durable: 2 to 3, \
                 follower becomes candidate: the leader has stopped leading, wake at 330";
    let mut three = invited_of_five();
    assert_eq!(three.hears(30, 2, Message::Yield(epoch(1), Some(id(3)))), waits);
    assert_eq!(three.hears(40, 2, Message::Entrust(epoch(2))), "", "it is counted already");
    let leads = "candidate becomes leader of 3: a majority granted the epoch";
    assert!(three.hears(50, 5, Message::Entrust(epoch(2))).contains(leads));
    let mut three = invited_of_five();
    assert_eq!(three.hears(30, 5, Message::Entrust(epoch(2))), waits);
    let stale = "ignored 2: it belongs to something that is over";
    assert_eq!(three.hears(35, 2, Message::Yield(epoch(1), Some(id(4)))), stale);
    assert!(three.hears(40, 2, Message::Yield(epoch(1), Some(id(3)))).contains(leads));
    let mut three = invited_of_five();
    three.hears(30, 2, Message::Yield(epoch(1), Some(id(3))));
    assert!(three.at(330, Input::Wake).contains("no majority answered in time"));
}

#[test]
fn a_node_that_is_not_prepared_claims_an_epoch_that_none_has_granted_yet() {
    let (mut three, _) = above_a_leader(Preemption::Never);
    let stale = |from| format!("ignored {from}: it belongs to something that is over");
    assert_eq!(three.hears(15, 1, Message::Entrust(epoch(2))), stale(1));
    assert_eq!(
        three.hears(20, 2, Message::Yield(epoch(1), Some(id(3)))),
        "durable: 3 to 3, Claim 3 to 1, Claim 3 to 2, \
         follower becomes candidate: the leader has stopped leading, wake at 320"
    );
    assert_eq!(three.hears(25, 1, Message::Entrust(epoch(2))), stale(1), "it promised too early");
    assert!(
        three
            .hears(30, 1, Message::Grant(epoch(3), Birth::FOUNDER))
            .contains("candidate becomes leader of 3")
    );
}

/// Its challenge before the crash may be the one that the leader hears.
#[test]
fn a_node_that_has_restarted_in_an_epoch_is_prepared_in_the_next() {
    let mut three = Story(node(3, granted(1, 2)));
    three.at(0, Input::Boot);
    three.hears(10, 2, Message::Coordinator(epoch(1), 1, Mark::FIRST));
    assert_eq!(three.hears(20, 2, Message::Invite(epoch(1))), "Challenge 1 to 2");
    three.hears(30, 2, Message::Coordinator(epoch(2), 1, Mark::FIRST));
    let said = three.hears(40, 2, Message::Invite(epoch(2)));
    assert_eq!(said, "Challenge 2 to 2, wake at 1040");
}

#[test]
fn a_yield_of_a_node_that_is_not_followed_is_nothing() {
    let (mut three, _) = above_a_leader(Preemption::Never);
    let stale = |from| format!("ignored {from}: it belongs to something that is over");
    assert_eq!(three.hears(20, 1, Message::Yield(epoch(1), Some(id(3)))), stale(1));
    assert_eq!(three.hears(20, 2, Message::Yield(epoch(2), Some(id(3)))), stale(2));
}

#[test]
fn others_grant_the_next_epoch_unasked_or_run_if_no_node_is_next() {
    let mut one = Story(node(1, None));
    one.at(0, Input::Boot);
    one.hears(10, 2, Message::Coordinator(epoch(1), 1, Mark::FIRST));
    let mut other = Story(one.0.clone());
    assert_eq!(
        one.hears(20, 2, Message::Yield(epoch(1), Some(id(3)))),
        "durable: 2 to 3, Entrust 2 to 3, \
         follower becomes follower: the leader has stopped leading, wake at 1220"
    );
    assert_eq!(
        one.hears(30, 2, Message::Claim(epoch(2), Mark::FIRST, Birth::FOUNDER)),
        "Refuse 2 for 3 to 2",
        "an epoch is granted once"
    );
    assert_eq!(
        other.hears(20, 2, Message::Yield(epoch(1), None)),
        "follower becomes follower: the leader has stopped leading, wake at 320"
    );
}

#[test]
fn nothing_is_granted_to_a_successor_that_is_no_member() {
    let follower = || {
        let mut one = Story(node(1, None));
        one.at(0, Input::Boot);
        one.hears(10, 2, Message::Coordinator(epoch(1), 1, Mark::FIRST));
        one
    };
    let (mut one, mut other) = (follower(), follower());
    let stranger = one.hears(20, 2, Message::Yield(epoch(1), Some(id(9))));
    assert_eq!(stranger, other.hears(20, 2, Message::Yield(epoch(1), None)));
    assert!(!stranger.contains("durable"), "{stranger}");
}
