//! Members that only observe: they follow, are asked for nothing, and count for nothing.

use super::*;
use crate::protocol::Birth;
use crate::protocol::quorum::{Mark, Preemption};
use crate::protocol::{MemberError, Request};

/// Nodes 1, 2, 3, of which `observers` observe.
fn three(number: u16, observers: &[u16], preemption: Preemption) -> Story {
    let timing = Timing { preemption, ..Timing::DEFAULT };
    Story(of(&[1, 2, 3], number, observers, timing))
}

fn of(ids: &[u16], number: u16, observers: &[u16], timing: Timing) -> Node<Quorum> {
    let members = Members::new(ids.iter().copied().map(id)).expect("valid");
    let members = members.with_observers(observers.iter().copied().map(id)).expect("valid");
    Node::new(Config { id: id(number), members, timing }, founder(), 0).expect("valid")
}

#[test]
fn an_observer_follows_for_as_long_as_it_hears_the_leader_and_says_nothing() {
    let mut three = three(3, &[3], Preemption::AtOnce);
    assert_eq!(
        three.at(0, Input::Boot),
        "not_started becomes follower: the node started",
        "it has promised nothing, and never runs"
    );
    let heard = three.hears(10, 2, Message::Coordinator(epoch(4), 1, Mark::FIRST));
    assert_eq!(
        heard,
        "durable: 4 to 2, follower becomes follower of 2: the leader of the epoch was heard, \
         wake at 1210",
        "no acknowledgement, and no challenge of a lower leader"
    );
    assert_eq!(
        three.hears(1_000, 2, Message::Coordinator(epoch(4), 2, Mark::FIRST)),
        "wake at 2200"
    );
    let old = three.hears(1_010, 1, Message::Coordinator(epoch(3), 9, Mark::FIRST));
    assert_eq!(old, "ignored 1: it belongs to something that is over", "nor does it refuse");
    assert_eq!(
        three.at(2_200, Input::Wake),
        "follower becomes follower: the promise to the leader is over, no timer"
    );
    assert_eq!(three.hears(3_000, 2, Message::Yield(epoch(4), None)), STALE);
}

const STALE: &str = "ignored 2: it belongs to something that is over";

#[test]
fn an_observer_is_asked_in_vain() {
    for message in [
        Message::Canvass(epoch(5), Mark::FIRST),
        Message::Claim(epoch(5), Mark::FIRST, Birth::FOUNDER),
        Message::Support(epoch(5)),
        Message::Grant(epoch(5), Birth::FOUNDER),
        Message::Outrank(epoch(5)),
        Message::Ack(epoch(5), 1, Mark::FIRST),
        Message::Refuse(epoch(5), None),
        Message::Challenge(epoch(5), Mark::FIRST),
        Message::Invite(epoch(5)),
        Message::Entrust(epoch(5)),
    ] {
        let mut three = three(3, &[3], Preemption::Never);
        three.at(0, Input::Boot);
        three.hears(10, 2, Message::Coordinator(epoch(5), 1, Mark::FIRST));
        let said = three.hears(20, 2, message.clone());
        assert_eq!(said, "ignored 2: a node that observes has no part in it", "{message:?}");
    }
}

/// Whatever it is told of the next leader, it grants that nothing.
#[test]
fn an_observer_waits_for_the_next_leader_when_its_own_yields() {
    for next in [None, Some(id(1)), Some(id(3))] {
        let mut three = three(3, &[3], Preemption::Never);
        three.at(0, Input::Boot);
        three.hears(10, 2, Message::Coordinator(epoch(5), 1, Mark::FIRST));
        assert_eq!(
            three.hears(20, 2, Message::Yield(epoch(5), next)),
            "follower becomes follower: the leader has stopped leading, no timer",
            "{next:?}"
        );
    }
}

/// With one of three that observes, the two others are the voters.
#[test]
fn only_voters_are_asked_and_counted() {
    let mut two = three(2, &[3], Preemption::Never);
    two.at(0, Input::Boot);
    two.at(1_200, Input::Wake);
    let canvasses = two.at(1_300, Input::Wake);
    assert!(canvasses.starts_with("Canvass 1 to 1, follower becomes"), "{canvasses}");
    let ignored = "ignored 3: a node that observes has no part in it";
    assert_eq!(two.hears(1_310, 3, Message::Support(epoch(1))), ignored);
    let claims = two.hears(1_320, 1, Message::Support(epoch(1)));
    assert_eq!(claims, "durable: 1 to 2, Claim 1 to 1, wake at 1620", "no higher one can outrank");
    assert_eq!(two.hears(1_330, 3, Message::Grant(epoch(1), Birth::FOUNDER)), ignored);
    let leads = two.hears(1_340, 1, Message::Grant(epoch(1), Birth::FOUNDER));
    assert!(leads.starts_with("Coordinator 1.1 to 1, Coordinator 1.1 to 3, "), "{leads}");
    assert_eq!(two.hears(1_350, 3, Message::Ack(epoch(1), 1, Mark::FIRST)), ignored);
    assert_eq!(two.0.leads(at(2_319)), Some(epoch(1)));
    assert_eq!(two.0.leads(at(2_320)), None, "the answer of an observer renews nothing");
    assert_eq!(two.hears(1_360, 3, Message::Challenge(epoch(1), Mark::FIRST)), ignored);
    assert_eq!(two.hears(1_370, 3, Message::Claim(epoch(7), Mark::FIRST, Birth::FOUNDER)), ignored);
}

/// Of two voters and three observers, two are a majority.
#[test]
fn a_majority_is_one_of_voters_however_many_observe() {
    let mut two = Story(of(&[1, 2, 3, 4, 5], 2, &[3, 4, 5], Timing::DEFAULT));
    two.at(0, Input::Boot);
    two.at(1_200, Input::Wake);
    two.at(1_300, Input::Wake);
    two.hears(1_310, 1, Message::Support(epoch(1)));
    two.hears(1_320, 1, Message::Grant(epoch(1), Birth::FOUNDER));
    assert_eq!(two.0.status().role, Role::Leader);
    assert_eq!(two.0.waits_for(), None);
}

/// Nothing may end early because an observer is gone.
#[test]
fn a_candidate_waits_for_higher_voters_only() {
    let mut two = Story(of(&[1, 2, 3, 4], 2, &[4], Timing::DEFAULT));
    two.at(0, Input::Boot);
    two.at(1_200, Input::Wake);
    two.at(1_400, Input::Wake);
    two.hears(1_410, 1, Message::Support(epoch(1)));
    assert_eq!(two.0.waits_for(), Some((Timer::Election, vec![id(3)])));
}

#[test]
fn a_leader_invites_no_observer() {
    let mut two = three(2, &[3], Preemption::Never);
    two.at(0, Input::Boot);
    two.at(1_200, Input::Wake);
    two.at(1_300, Input::Wake);
    two.hears(1_310, 1, Message::Support(epoch(1)));
    two.hears(1_320, 1, Message::Grant(epoch(1), Birth::FOUNDER));
    assert_eq!(two.at(1_330, Input::Request(Request::Yield(Some(id(3))))), "");
    assert_eq!(two.0.status().role, Role::Leader);
}

#[test]
fn an_observer_does_not_run_whatever_it_is_told_of_its_machine() {
    let mut three = three(3, &[3], Preemption::AtOnce);
    three.at(0, Input::Boot);
    for request in [
        Request::Healthy(false),
        Request::Healthy(true),
        Request::StepDown(None, ms(100)),
        Request::Yield(None),
    ] {
        three.at(10, Input::Request(request));
    }
    assert_eq!(three.at(110, Input::Wake), "no timer");
}

#[test]
fn observers_are_members_and_leave_enough_voters() {
    let all = || Members::new([1, 2, 3].map(id)).expect("valid");
    let unknown = all().with_observers([id(4)]);
    assert!(matches!(unknown, Err(MemberError::UnknownObserver { .. })), "{unknown:?}");
    let twice = all().with_observers([id(3), id(3)]);
    assert_eq!(twice, Err(MemberError::DuplicateId { node: id(3) }));
    let none = all().with_observers([id(3), id(1), id(2)]);
    assert_eq!(none, Err(MemberError::TooFewVoters { voters: 0 }));
    let one = all().with_observers([id(3), id(1)]).expect("one votes");
    assert_eq!(one.voters(), [id(2)]);
    let two = all().with_observers([id(2)]).expect("two vote");
    assert_eq!((two.voters(), two.count()), (&[id(1), id(3)][..], 3));
    assert!(two.observes(id(2)) && !two.votes(id(2)) && !two.observes(id(9)));
    assert_eq!(two.candidates().collect::<Vec<_>>(), [id(1), id(3)]);
}
