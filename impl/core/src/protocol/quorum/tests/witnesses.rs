//! Witnesses: members that vote, are waited for by no candidate, and never lead.

use super::*;
use crate::protocol::Birth;
use crate::protocol::quorum::Mark;
use crate::protocol::{MemberError, Request};

/// One of these nodes, of which the highest is a witness.
fn of(ids: &[u16], number: u16, preemption: Preemption) -> Story {
    let members = Members::new(ids.iter().copied().map(id)).expect("valid");
    let members = members.with_witnesses(ids.last().copied().map(id)).expect("valid");
    let timing = Timing { preemption, ..Timing::DEFAULT };
    Story(Node::new(Config { id: id(number), members, timing }, founder(), 0).expect("valid"))
}

/// Node 2 of three, which leads epoch 1 from the 1320th millisecond on.
fn leader() -> Story {
    let mut two = of(&[1, 2, 3], 2, Preemption::Never);
    two.at(0, Input::Boot);
    two.at(1_200, Input::Wake);
    two.at(1_300, Input::Wake);
    two.hears(1_310, 1, Message::Support(epoch(1)));
    two.hears(1_320, 3, Message::Grant(epoch(1), Birth::FOUNDER));
    assert_eq!(two.0.status().role, Role::Leader, "the witness has granted it");
    two
}

/// It would run first, and take over at once, if it were none.
#[test]
fn a_witness_votes_and_never_canvasses() {
    let mut three = of(&[1, 2, 3], 3, Preemption::AtOnce);
    assert_eq!(
        three.at(0, Input::Boot),
        "not_started becomes follower: the node started, wake at 1200",
        "it may have promised something"
    );
    assert_eq!(three.at(1_200, Input::Wake), "no timer", "it does not wait to run");
    assert_eq!(three.hears(1_210, 1, Message::Canvass(epoch(1), Mark::FIRST)), "Support 1 to 1");
    assert_eq!(
        three.hears(1_220, 1, Message::Claim(epoch(1), Mark::FIRST, Birth::FOUNDER)),
        "durable: 1 to 1, Grant 1 to 1, wake at 2420"
    );
    assert_eq!(
        three.hears(1_230, 1, Message::Coordinator(epoch(1), 1, Mark::FIRST)),
        "Ack 1.1 to 1, follower becomes follower of 1: the leader of the epoch was heard, \
         wake at 2430",
        "no challenge of a lower leader"
    );
    assert_eq!(three.hears(1_240, 1, Message::Invite(epoch(1))), "", "nor if it is asked to");
    assert_eq!(
        three.hears(1_250, 2, Message::Claim(epoch(2), Mark::FIRST, Birth::FOUNDER)),
        "Refuse 1 for 1 to 2"
    );
    assert_eq!(
        three.at(2_430, Input::Wake),
        "follower becomes follower: the promise to the leader is over, no timer"
    );
    for healthy in [false, true] {
        assert_eq!(three.at(2_440, Input::Request(Request::Healthy(healthy))), "");
    }
    assert_eq!(three.hears(2_450, 2, Message::Canvass(epoch(2), Mark::FIRST)), "Support 2 to 2");
}

#[test]
fn a_candidate_waits_for_no_witness() {
    let mut two = of(&[1, 2, 3], 2, Preemption::Never);
    two.at(0, Input::Boot);
    assert_eq!(two.at(1_200, Input::Wake), "wake at 1300", "the highest that may lead");
    let canvasses = two.at(1_300, Input::Wake);
    assert!(canvasses.starts_with("Canvass 1 to 1, Canvass 1 to 3, follower"), "{canvasses}");
    assert_eq!(
        two.hears(1_310, 1, Message::Support(epoch(1))),
        "durable: 1 to 2, Claim 1 to 1, Claim 1 to 3, wake at 1610"
    );
}

#[test]
fn a_candidate_waits_for_higher_nodes_that_may_lead() {
    let mut two = of(&[1, 2, 3, 4], 2, Preemption::Never);
    two.at(0, Input::Boot);
    two.at(1_200, Input::Wake);
    two.at(1_400, Input::Wake);
    assert_eq!(two.hears(1_410, 1, Message::Support(epoch(1))), "");
    assert_eq!(two.hears(1_420, 4, Message::Support(epoch(1))), "", "node 3 may run");
    assert_eq!(two.0.waits_for(), Some((Timer::Election, vec![id(3)])));
}

#[test]
fn the_answer_of_a_witness_renews_a_lease() {
    let mut two = leader();
    assert_eq!(two.0.leads(at(2_310)), None, "the lease counts from the claim");
    two.hears(1_330, 3, Message::Ack(epoch(1), 1, Mark::FIRST));
    assert_eq!(two.0.leads(at(2_319)), Some(epoch(1)));
    assert_eq!(two.0.leads(at(2_320)), None);
}

#[test]
fn a_witness_is_no_successor() {
    let mut two = leader();
    two.hears(1_330, 3, Message::Ack(epoch(1), 1, Mark::FIRST));
    assert_eq!(two.0.successor(), None);
    assert_eq!(two.at(1_340, Input::Request(Request::Yield(Some(id(3))))), "");
    assert_eq!(two.0.status().role, Role::Leader);
    two.hears(1_350, 1, Message::Ack(epoch(1), 1, Mark::FIRST));
    assert_eq!(two.0.successor(), Some(id(1)));
    let invites = two.at(1_360, Input::Request(Request::Yield(Some(id(1)))));
    assert!(invites.starts_with("Invite 1 to 1"), "{invites}");
}

/// A node that takes a witness for the successor would grant it an epoch, and wait for it in vain.
#[test]
fn a_leader_that_yields_to_a_witness_yields_to_none() {
    let mut one = of(&[1, 2, 3], 1, Preemption::Never);
    one.at(0, Input::Boot);
    one.hears(10, 2, Message::Coordinator(epoch(5), 1, Mark::FIRST));
    assert_eq!(
        one.hears(20, 2, Message::Yield(epoch(5), Some(id(3)))),
        "follower becomes follower: the leader has stopped leading, wake at 220"
    );
}

#[test]
fn witnesses_are_voters_and_leave_one_that_may_lead() {
    let all = || Members::new([1, 2, 3].map(id)).expect("valid");
    let unknown = all().with_witnesses([id(4)]);
    assert!(matches!(unknown, Err(MemberError::UnknownWitness { .. })), "{unknown:?}");
    let twice = all().with_witnesses([id(3), id(3)]);
    assert_eq!(twice, Err(MemberError::DuplicateId { node: id(3) }));
    let none_leads = all().with_witnesses([1, 2, 3].map(id));
    assert_eq!(none_leads, Err(MemberError::NoCandidate { voters: 3 }));
    let watched = || all().with_observers([id(1)]).expect("two vote");
    let none_leads = watched().with_witnesses([2, 3].map(id));
    assert_eq!(none_leads, Err(MemberError::NoCandidate { voters: 2 }));
    let both = Err(MemberError::WitnessObserves { node: id(1) });
    assert_eq!(watched().with_witnesses([id(1)]), both);
    assert_eq!(all().with_witnesses([id(1)]).expect("valid").with_observers([id(1)]), both);

    let two = all().with_witnesses([id(3), id(1)]).expect("node 2 may lead");
    assert_eq!((two.voters().len(), two.witnesses()), (3, &[id(1), id(3)][..]));
    assert_eq!(two.candidates().collect::<Vec<_>>(), [id(2)]);
    assert!(two.is_witness(id(3)) && two.votes(id(3)) && !two.may_lead(id(3)));
    assert!(two.may_lead(id(2)) && !two.may_lead(id(9)) && !two.is_witness(id(9)));
}
