//! How nodes come to vote that start without a state.

use std::sync::Arc;

use super::{Config, Durable, Story, at, epoch, id, mark};
use crate::protocol::quorum::{Lists, Mark, Message, Timing, WaitsToVote};
use crate::protocol::{Birth, Input, Members, Node, NodeId, Output};

const FIRST: Mark = Mark::FIRST;

/// This node of three, without a state, with this birth.
fn fresh(number: u16, birth: u64) -> Story {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = Config { id: id(number), members, timing: Timing::DEFAULT };
    Story(Node::new(config, None, birth).expect("valid"))
}

fn met(birth: u64, other: Option<u64>) -> Message {
    Message::Meet(Birth::random(birth), other.map(Birth::random), FIRST)
}

fn kept(story: &Story) -> &Durable {
    story.0.core().expect("booted").durable()
}

fn silent(story: &Story, me: NodeId) -> Vec<NodeId> {
    match story.0.core().expect("booted").waits(me) {
        Some(WaitsToVote::ToFound { silent, .. }) => silent.into_iter().collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_node_without_a_state_votes_once_all_others_have_met_it() {
    let mut one = fresh(1, 11);
    assert_eq!(
        one.at(0, Input::Boot),
        "durable: 0, Meet to 2, Meet to 3, not_started becomes follower: the node started, wake at 200"
    );
    assert_eq!(
        one.hears(10, 3, Message::Canvass(epoch(1), FIRST)),
        "ignored 3: a node that observes has no part in it"
    );
    assert_eq!(one.hears(20, 2, met(22, None)), "Meet again to 2");
    assert_eq!(one.hears(30, 2, met(22, Some(11))), "");
    assert_eq!(silent(&one, id(1)), [id(3)]);
    assert_eq!(one.at(200, Input::Wake), "Meet again to 2, Meet to 3, wake at 400");
    assert_eq!(one.hears(210, 3, met(33, Some(10))), "Meet again to 3", "that was another life");
    let founds = one.hears(220, 3, met(33, Some(11)));
    assert_eq!(founds, "durable: 0, wake at 520");
    assert_eq!(kept(&one).birth, Birth::FOUNDER);
    assert_eq!(one.hears(230, 3, Message::Canvass(epoch(1), FIRST)), "Support 1 to 3");
}

#[test]
fn a_founder_tells_for_good_whom_it_had_met_before() {
    let mut one = fresh(1, 11);
    one.at(0, Input::Boot);
    one.hears(10, 2, met(22, Some(11)));
    one.hears(20, 3, met(33, Some(11)));
    // Node 2 has not heard that, and node 3 has lost its state.
    let birth = |number| Some(Birth::random(number));
    let answer = |one: &mut Story, time, from, message| {
        one.0.handle(at(time), Input::Receive { from: id(from), message });
        std::iter::from_fn(|| one.0.poll()).find_map(|output| match output {
            Output::Send { message: Message::Meet(own, met, _), .. } => Some((own, met)),
            _ => None,
        })
    };
    assert_eq!(answer(&mut one, 30, 2, met(22, None)), Some((Birth::FOUNDER, birth(22))));
    assert_eq!(answer(&mut one, 40, 3, met(34, None)), Some((Birth::FOUNDER, birth(33))));
    let durable = kept(&one).clone();
    let mut again = Story(super::node(1, Some(durable)));
    again.at(0, Input::Boot);
    assert_eq!(answer(&mut again, 50, 3, met(34, None)), Some((Birth::FOUNDER, birth(33))));

    let mut three = fresh(3, 34);
    three.at(0, Input::Boot);
    three.hears(10, 2, met(22, Some(34)));
    let founder = Message::Meet(Birth::FOUNDER, birth(33), FIRST);
    three.hears(20, 1, founder);
    assert_eq!(kept(&three).birth, Birth::random(34), "it may have forgotten something");
    match three.0.core().expect("booted").waits(id(3)) {
        Some(WaitsToVote::ToFound { silent, founders }) => {
            assert_eq!((silent.len(), founders.into_iter().collect()), (0, vec![id(1)]));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_node_that_has_lost_its_state_follows_until_it_is_let_in() {
    let mut one = fresh(1, 12);
    one.at(0, Input::Boot);
    let round = Message::Coordinator(epoch(4), 7, FIRST);
    let follows = one.hears(10, 3, round.clone());
    assert!(follows.contains("Meet to 3") && !follows.contains("Ack"), "{follows}");
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let let_in = members.clone().letting_in(id(1), Birth::random(12)).numbered(2);
    let lists = |decided, turn| {
        let mark = mark(4, turn);
        Message::Lists(Arc::new(Lists { decided, pending: None, mark }))
    };
    let another = members.letting_in(id(1), Birth::random(13)).numbered(2);
    one.hears(20, 3, lists(another, 1));
    let round = Message::Coordinator(epoch(4), 8, mark(4, 1));
    assert!(!one.hears(30, 3, round).contains("Ack"), "the life that it was is over");
    one.hears(40, 3, lists(let_in, 2));
    let round = Message::Coordinator(epoch(4), 9, mark(4, 2));
    assert!(one.hears(50, 3, round).contains("Ack 4.9 to 3"));
}

#[test]
fn the_only_voter_of_a_cluster_founds_it() {
    let mut one = alone();
    assert_eq!(kept(&one).birth, Birth::FOUNDER);
    one.at(100, Input::Wake);
    one.at(400, Input::Wake);
    assert!(one.at(700, Input::Wake).contains("candidate becomes leader of 1"));
}

#[test]
fn the_only_voter_does_not_lead_by_a_lease_that_a_pause_has_outlasted() {
    let mut one = alone();
    one.at(100, Input::Wake);
    one.at(400, Input::Wake);
    let late = one.at(9_000, Input::Wake);
    assert!(late.contains("no majority answered") && !late.contains("Coordinator"), "{late}");
}

/// The only node of a cluster, which has just started for the first time.
fn alone() -> Story {
    let members = Members::new([id(1)]).expect("valid");
    let config = Config { id: id(1), members, timing: Timing::DEFAULT };
    let mut one = Story(Node::new(config, None, 5).expect("valid"));
    one.at(0, Input::Boot);
    one
}
