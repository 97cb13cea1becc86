//! What a node does that is asked to lead no longer, or not to run, told of one node of three.

use super::{Story, at, epoch, id, ms, node};
use crate::protocol::quorum::Mark;
use crate::protocol::quorum::Message;
use crate::protocol::{Input, Request, Role};

impl Story {
    fn asks(&mut self, milliseconds: u64, request: Request) -> String {
        self.at(milliseconds, Input::Request(request))
    }
}

/// Node 2, which has heard node 3 lead epoch 1 at the 10th millisecond.
fn a_follower() -> Story {
    let mut two = Story(node(2, None));
    two.at(0, Input::Boot);
    two.hears(10, 3, Message::Coordinator(epoch(1), 1, Mark::FIRST));
    two
}

#[test]
fn a_leader_that_is_asked_to_transfer_yields_once_the_other_comes() {
    let mut three = Story::of_a_leader();
    assert_eq!(three.asks(1_400, Request::Yield(Some(id(3)))), "", "it is itself");
    assert_eq!(three.asks(1_400, Request::Yield(Some(id(9)))), "", "it is no member");
    assert_eq!(
        three.asks(1_400, Request::Yield(Some(id(1)))),
        "Invite 1 to 1, wake at 1600",
        "it leads on, and waits for a round"
    );
    assert_eq!(three.asks(1_410, Request::Yield(Some(id(1)))), "", "once");
    let stale = "ignored 2: it belongs to something that is over";
    assert_eq!(
        three.hears(1_450, 2, Message::Challenge(epoch(1), Mark::FIRST)),
        stale,
        "it is not invited"
    );
    assert_eq!(three.0.leads(at(1_450)), Some(epoch(1)));
    let said = three.hears(1_460, 1, Message::Challenge(epoch(1), Mark::FIRST));
    assert!(
        said.starts_with("durable: 2 to 1, Yield 1 to 1 to 1, Yield 1 to 1 to 2, Entrust 2 to 1, "),
        "{said}"
    );
    assert_eq!(three.0.leads(at(1_460)), None);
    assert_eq!(three.asks(1_500, Request::Yield(Some(id(1)))), "", "it does not lead");
}

#[test]
fn a_leader_yields_to_none_if_the_node_that_it_has_invited_does_not_come() {
    let mut three = Story::of_a_leader();
    three.asks(1_400, Request::Yield(Some(id(1))));
    assert_eq!(
        three.at(1_600, Input::Wake),
        "Yield 1 to 1, Yield 1 to 2, \
         leader becomes follower: it was asked to lead no longer, wake at 1700"
    );
}

#[test]
fn the_successor_is_the_highest_that_has_followed_lately() {
    let mut three = Story::of_a_leader();
    assert_eq!(three.0.successor(), None, "no node has acknowledged a round");
    three.hears(1_330, 1, Message::Ack(epoch(1), 1, Mark::FIRST));
    assert_eq!(three.0.successor(), Some(id(1)));
    three.hears(1_340, 2, Message::Ack(epoch(1), 1, Mark::FIRST));
    assert_eq!(three.0.successor(), Some(id(2)), "also after the majority");
    three.at(1_520, Input::Wake);
    three.hears(1_530, 1, Message::Ack(epoch(1), 2, Mark::FIRST));
    assert_eq!(three.0.successor(), Some(id(2)), "the round is under way");
    three.at(1_720, Input::Wake);
    assert_eq!(three.0.successor(), Some(id(1)), "node 2 has missed a whole round");
    assert_eq!(a_follower().0.successor(), None, "it does not lead");
}

#[test]
fn a_node_that_steps_down_follows_and_votes_and_does_not_run_until_its_time_is_over() {
    let mut three = Story::of_a_leader();
    assert_eq!(
        three.asks(1_400, Request::StepDown(Some(id(2)), ms(5_000))),
        "Invite 1 to 2, wake at 1600"
    );
    assert!(
        three
            .hears(1_410, 2, Message::Challenge(epoch(1), Mark::FIRST))
            .contains("Yield 1 to 2 to 2")
    );
    three.hears(1_420, 2, Message::Coordinator(epoch(2), 1, Mark::FIRST));
    // The leader is gone, and it leaves the epoch to the others.
    assert!(three.at(2_620, Input::Wake).contains("the promise to the leader is over"));
    assert_eq!(three.hears(2_700, 1, Message::Canvass(epoch(3), Mark::FIRST)), "Support 3 to 1");
    assert_eq!(three.at(6_400, Input::Wake), "wake at 6500");
    assert!(three.at(6_500, Input::Wake).contains("Canvass 3 to 1"));
}

#[test]
fn a_follower_that_steps_down_is_no_successor() {
    let mut two = a_follower();
    assert_eq!(two.asks(20, Request::StepDown(None, ms(5_000))), "");
    assert_eq!(two.hears(25, 3, Message::Invite(epoch(1))), "", "it does not take over");
    assert_eq!(
        two.hears(30, 3, Message::Yield(epoch(1), Some(id(2)))),
        "follower becomes follower: the leader has stopped leading, wake at 5020"
    );
    // Asked again, it counts from then on; for no time, it changes nothing.
    assert_eq!(two.asks(40, Request::StepDown(None, ms(1_000))), "wake at 1040");
    assert_eq!(two.asks(50, Request::StepDown(None, ms(0))), "");
}

#[test]
fn a_leader_whose_machine_is_not_fit_yields_at_its_next_round() {
    let mut three = Story::of_a_leader();
    assert_eq!(three.asks(1_400, Request::Healthy(false)), "");
    assert_eq!(
        three.at(1_520, Input::Wake),
        "Yield 1 to 1, Yield 1 to 2, \
         leader becomes follower: its machine is not fit to lead, no timer"
    );
    assert_eq!(three.asks(1_600, Request::Healthy(false)), "");
    assert_eq!(three.asks(1_700, Request::Healthy(true)), "wake at 1800");
    // A leader whose lease is over has nothing to yield.
    let mut late = Story::of_a_leader();
    late.asks(1_400, Request::Healthy(false));
    assert_eq!(
        late.at(9_000, Input::Wake),
        "leader becomes follower: no majority renewed the lease in time, no timer"
    );
}

#[test]
fn a_candidate_that_is_not_fit_any_more_gives_up_when_no_majority_comes() {
    let mut three = Story(node(3, None));
    three.at(0, Input::Boot);
    three.at(1_200, Input::Wake);
    three.at(1_300, Input::Wake);
    assert_eq!(three.0.status().role, Role::Candidate);
    assert_eq!(three.asks(1_310, Request::Healthy(false)), "");
    assert_eq!(
        three.at(1_600, Input::Wake),
        "candidate becomes follower: no majority answered in time, no timer"
    );
}

#[test]
fn a_node_that_is_fit_again_waits_for_what_is_in_the_way() {
    // A quiet time after the boot, a promise to a leader: it waits for these as before.
    let mut three = Story(node(3, None));
    three.at(0, Input::Boot);
    three.asks(10, Request::Healthy(false));
    three.asks(20, Request::Healthy(true));
    assert_eq!(three.at(1_200, Input::Wake), "wake at 1300");
    let mut two = a_follower();
    two.asks(20, Request::Healthy(false));
    assert_eq!(two.asks(30, Request::Healthy(true)), "");
    assert!(two.at(1_210, Input::Wake).contains("the promise to the leader is over"));
}

#[test]
fn a_node_that_waits_to_run_and_is_not_fit_waits_no_longer() {
    let mut three = Story(node(3, None));
    three.at(0, Input::Boot);
    assert_eq!(three.at(1_200, Input::Wake), "wake at 1300");
    assert_eq!(three.asks(1_210, Request::Healthy(false)), "no timer");
}

#[test]
fn a_node_that_has_given_way_and_is_not_fit_does_not_run() {
    let mut one = Story(node(1, None));
    one.at(0, Input::Boot);
    one.at(1_200, Input::Wake);
    one.at(1_500, Input::Wake);
    one.hears(1_510, 2, Message::Outrank(epoch(1)));
    assert_eq!(one.asks(1_600, Request::Healthy(false)), "");
    assert_eq!(
        one.at(2_410, Input::Wake),
        "waiting becomes follower: no winner announced itself in time, no timer"
    );
}
