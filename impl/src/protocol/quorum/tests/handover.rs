//! How a leader hands over, told of one node of three.

use super::{Story, epoch, granted, id, ms, node, node_with};
use crate::protocol::Input;
use crate::protocol::quorum::{Message, Preemption, Timing};

/// Node 3, which has heard node 2 lead epoch 1 at the 10th millisecond.
fn above_a_leader(preemption: Preemption) -> (Story, String) {
    let dwell = ms(500);
    let timing = Timing { preemption, dwell, ..Timing::DEFAULT };
    let mut three = Story(node_with(3, None, timing));
    three.at(0, Input::Boot);
    let said = three.hears(10, 2, Message::Coordinator(epoch(1), 1));
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
    assert_eq!(three.hears(300, 2, Message::Coordinator(epoch(1), 2)), "Ack 1.2 to 2");
    assert_eq!(three.at(510, Input::Wake), "Challenge 1 to 2, wake at 1010");
    // The challenge may be lost: it is said again.
    assert_eq!(three.at(1_010, Input::Wake), "Challenge 1 to 2, wake at 1500");
}

#[test]
fn of_two_higher_nodes_the_higher_challenges_first() {
    let timing = Timing { preemption: Preemption::Dwell, dwell: ms(500), ..Timing::DEFAULT };
    let mut two = Story(node_with(2, None, timing));
    two.at(0, Input::Boot);
    let said = two.hears(10, 1, Message::Coordinator(epoch(1), 1));
    assert!(said.ends_with("wake at 610"), "one skew later than node 3: {said}");
}

#[test]
fn a_dwell_time_counts_from_the_leader_that_is_followed_now() {
    let (mut three, _) = above_a_leader(Preemption::Dwell);
    assert_eq!(
        three.hears(400, 1, Message::Coordinator(epoch(2), 1)),
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
fn a_leader_that_is_challenged_stops_before_it_yields() {
    let mut two = Story::of_a_leader_in_the_middle();
    assert_eq!(
        two.hears(1_700, 1, Message::Challenge(epoch(1))),
        "ignored 1: it belongs to something that is over",
        "to no lower one"
    );
    assert_eq!(
        two.hears(1_700, 3, Message::Challenge(epoch(2))),
        "ignored 3: it belongs to something that is over",
        "for no other epoch"
    );
    assert!(two.0.leads(super::at(1_700)).is_some());
    assert_eq!(
        two.hears(1_700, 3, Message::Challenge(epoch(1))),
        "Yield 1 to 3 to 1, Yield 1 to 3 to 3, \
         leader becomes waiting: another node is to lead instead, wake at 2600"
    );
    assert_eq!(two.0.leads(super::at(1_700)), None);
    // If no leader comes of it, it runs again.
    assert!(two.at(2_600, Input::Wake).starts_with("Canvass 2 to 1, Canvass 2 to 3, "));
}

#[test]
fn the_node_that_is_next_claims_without_a_canvass_and_proves_that_it_may() {
    let (mut three, _) = above_a_leader(Preemption::Never);
    assert_eq!(
        three.hears(20, 2, Message::Yield(epoch(1), Some(id(3)))),
        "durable: 2 to 3, Succeed 2 to 1, Succeed 2 to 2, \
         follower becomes candidate: the leader has stopped leading, wake at 320"
    );
    assert!(three.hears(30, 1, Message::Grant(epoch(2))).contains("candidate becomes leader of 3"));
    assert_eq!(three.0.leads(super::at(30)), Some(epoch(2)));
}

#[test]
fn a_yield_of_a_node_that_is_not_followed_is_nothing() {
    let (mut three, _) = above_a_leader(Preemption::Never);
    let stale = |from| format!("ignored {from}: it belongs to something that is over");
    assert_eq!(three.hears(20, 1, Message::Yield(epoch(1), Some(id(3)))), stale(1));
    assert_eq!(three.hears(20, 2, Message::Yield(epoch(2), Some(id(3)))), stale(2));
}

#[test]
fn others_make_way_for_the_node_that_is_next_or_run_if_there_is_none() {
    let mut one = Story(node(1, None));
    one.at(0, Input::Boot);
    one.hears(10, 2, Message::Coordinator(epoch(1), 1));
    let mut other = Story(one.0.clone());
    assert_eq!(
        one.hears(20, 2, Message::Yield(epoch(1), Some(id(3)))),
        "follower becomes waiting: the leader has stopped leading, wake at 920"
    );
    assert_eq!(
        other.hears(20, 2, Message::Yield(epoch(1), None)),
        "follower becomes follower: the leader has stopped leading, wake at 320"
    );
}

#[test]
fn a_proven_claim_is_granted_whatever_was_promised_in_the_epoch_before_and_counted_once() {
    let mut one = Story(node(1, granted(1, 2)));
    one.at(0, Input::Boot);
    one.hears(10, 2, Message::Coordinator(epoch(1), 1));
    // It has not heard the leader yield.
    assert_eq!(
        one.hears(20, 3, Message::Succeed(epoch(3))),
        "Refuse 1 for 2 to 3",
        "of a later epoch it proves nothing"
    );
    assert!(
        one.hears(20, 3, Message::Succeed(epoch(2))).starts_with("durable: 2 to 3, Grant 2 to 3")
    );
    assert_eq!(
        one.hears(30, 2, Message::Succeed(epoch(2))),
        "Refuse 2 for 3 to 2",
        "an epoch is granted once"
    );
}
