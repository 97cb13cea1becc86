//! What a member does when its program asks for something.

use super::*;
use crate::protocol::Birth;

fn not_leading() -> RequestError {
    RequestError::NotLeading { node: id(3) }
}

#[test]
fn a_leader_that_hands_over_answers_when_it_leads_no_longer() {
    let mut run = leader(&usual());
    let done = run.asks(1, Command::HandOver(None));
    assert_eq!(sent(&done), [(2, Message::Invite(first()))], "it followed");
    assert!(answers(&done).is_empty() && run.leads());
    let done = run.hears(2, Message::Challenge(first(), Mark::FIRST));
    assert_eq!(tells(&done), [(Role::Follower, "handed_over")]);
    assert_eq!(answers(&done), [(1, Ok(Some(id(2))))]);
    assert_eq!((sent(&done), run.until()), (vec![], None), "it is not saved yet");
    let done = run.saved();
    assert!(sent(&done).contains(&(2, Message::Entrust(Epoch::new(2)))));
    assert_eq!(answers(&run.asks(2, Command::HandOver(None))), [(2, Err(not_leading()))]);
    let done = run.asks(3, Command::StepDown(ms(1_000)));
    assert_eq!(answers(&done), [(3, Ok(None))], "it leads no longer");
}

#[test]
fn a_leader_leads_on_if_the_node_to_which_it_is_to_hand_over_does_not_come() {
    let mut run = leader(&usual());
    let done = run.asks(1, Command::HandOver(Some(id(1))));
    assert_eq!(answers(&done), []);
    for round in 2..=5 {
        assert_eq!(answers(&run.runs(200)), [], "it waits for five rounds");
        run.hears(2, Message::Ack(first(), round, Mark::FIRST));
    }
    let error = RequestError::NotTaken { to: id(1), leader: Some(id(3)) };
    assert_eq!(answers(&run.runs(200)), [(1, Err(error))]);
    assert!(run.leads());
}

#[test]
fn what_cannot_be_done_is_refused() {
    let members = members().with_observers([id(1)]).expect("two vote");
    let mut run = candidate_among(members, &usual());
    run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    assert!(run.leads());
    let mut asks = |command| answers(&run.asks(7, command)).pop().expect("answered").1;
    for to in [3, 9].map(id) {
        let refused = RequestError::NoSuccessor { node: id(3), to };
        assert_eq!(asks(Command::HandOver(Some(to))), Err(refused));
    }
    assert_eq!(asks(Command::HandOver(Some(id(1)))), Err(RequestError::Observer { to: id(1) }));
    assert_eq!(asks(Command::Ping), Ok(None));
    assert!(run.leads());

    let mut run = bully();
    for command in [Command::HandOver(None), Command::StepDown(ms(1)), Command::SetHealthy(false)] {
        let refused = RequestError::Unsupported { protocol: "bully" };
        assert_eq!(answers(&run.asks(8, command)), [(8, Err(refused))]);
    }
    assert_eq!(answers(&run.asks(9, Command::Ping)), [(9, Ok(None))]);
}

#[test]
fn a_witness_cannot_take_over() {
    let members = members().with_witnesses([id(1)]).expect("two may lead");
    let mut run = candidate_among(members, &usual());
    run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    let refused = RequestError::Witness { to: id(1) };
    assert_eq!(answers(&run.asks(7, Command::HandOver(Some(id(1))))), [(7, Err(refused))]);
    assert!(run.leads());
}

/// The store grants the lease to the client that asks first.
#[test]
fn a_holder_of_the_lease_steps_down_and_chooses_no_successor() {
    let mut run = holder();
    let refused = RequestError::Unsupported { protocol: "lease" };
    let done = run.asks(1, Command::HandOver(Some(id(2))));
    assert_eq!((answers(&done), run.leads()), (vec![(1, Err(refused))], true));
    let done = run.asks(2, Command::StepDown(ms(60_000)));
    assert_eq!(answers(&done), [(2, Ok(None))]);
    assert_eq!(sent(&done), [(3, lease::Message::Release(lease::Token::new(7)))]);
    assert!(!run.leads());
}

#[test]
fn its_deadlines_come_before_what_is_asked() {
    let mut run = leader(&setup(ms(60_000)));
    run.now = run.until().expect("it leads");
    let done = run.asks(1, Command::HandOver(None));
    assert_eq!(answers(&done), [(1, Err(not_leading()))]);
}

#[test]
fn a_leader_that_is_not_fit_leads_until_its_next_round() {
    let mut run = leader(&usual());
    assert_eq!(answers(&run.asks(1, Command::SetHealthy(false))), [(1, Ok(None))]);
    assert!(run.leads());
    let done = run.runs(200);
    assert_eq!(tells(&done), [(Role::Follower, "unfit")]);
    assert_eq!(tells(&run.runs(5_000)), [], "it does not run");
    run.asks(2, Command::SetHealthy(true));
    run.runs(100);
    assert_eq!(run.role(), Role::Candidate);
}

#[test]
fn a_leader_that_is_frozen_keeps_its_lease_and_does_not_run_once_it_is_lost() {
    let mut run = leader(&usual());
    assert_eq!(answers(&run.asks(1, Command::Freeze(ms(10_000)))), [(1, Ok(None))]);
    assert!(run.leads(), "as before");
    // No node acknowledges its rounds.
    assert_eq!(tells(&run.runs(9_900)), [(Role::Follower, "lease_over")]);
    run.runs(300);
    assert_eq!(run.role(), Role::Candidate, "the time is over");
}

#[test]
fn what_was_asked_last_counts() {
    let mut run = leader(&usual());
    run.asks(1, Command::Freeze(ms(100)));
    run.asks(2, Command::StepDown(ms(10_000)));
    let done = run.hears(2, Message::Challenge(first(), Mark::FIRST));
    assert_eq!(answers(&done), [(2, Ok(Some(id(2))))]);
    run.saved();
    run.runs(9_000);
    assert_eq!(run.role(), Role::Follower);
}
