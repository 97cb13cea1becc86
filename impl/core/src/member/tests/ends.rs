//! How a member takes part no longer.

use super::*;
use crate::protocol::Birth;

#[test]
fn one_that_does_not_lead_leaves_at_once() {
    let mut run = candidate(&usual());
    assert_eq!(run.take(Event::Stop), [Action::End(End::Left)]);
    assert!(run.member.leaves());
    assert_eq!(run.hears(2, Message::Grant(first(), Birth::FOUNDER)), []);
    assert_eq!((run.wake(), run.asks(1, Command::Ping)), (vec![], vec![]));
}

#[test]
fn one_that_cannot_hand_over_leaves_at_once() {
    let mut run = bully();
    assert_eq!(run.take(Event::Stop), [Action::End(End::Left)]);
}

#[test]
fn a_leader_hands_over_first() {
    let mut run = leader(&usual());
    let done = run.take(Event::Stop);
    assert_eq!(sent(&done), [(2, Message::Invite(first()))]);
    assert!(run.leads() && !run.member.leaves());
    assert_eq!(run.take(Event::Stop), [], "it is told once");
    let done = run.hears(2, Message::Challenge(first(), Mark::FIRST));
    assert_eq!(tells(&done), [(Role::Follower, "handed_over")]);
    assert!(run.member.leaves() && sent(&done).is_empty(), "it is not saved yet");
    let done = run.saved();
    assert!(sent(&done).contains(&(2, Message::Entrust(Epoch::new(2)))));
    assert_eq!(done.last(), Some(&Action::End(End::HandedOver)));
}

#[test]
fn a_leader_whose_successor_does_not_answer_leaves_after_a_round() {
    let mut run = leader(&usual());
    run.take(Event::Stop);
    assert_eq!(run.runs(199), []);
    let done = run.runs(1);
    assert_eq!(tells(&done), [(Role::Follower, "asked_to_yield")]);
    assert_eq!(done.last(), Some(&Action::End(End::HandedOver)));
    // One that no node follows has none to wait for.
    let mut run = candidate(&usual());
    run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    let done = run.take(Event::Stop);
    assert_eq!(tells(&done), [(Role::Follower, "asked_to_yield")]);
    assert_eq!(done.last(), Some(&Action::End(End::HandedOver)));
}

/// Another node leads as soon as the store hears of it.
#[test]
fn a_holder_of_the_lease_gives_it_back_once_its_work_has_ended() {
    let mut run = holder();
    run.works = true;
    assert_eq!(run.take(Event::Stop), [Action::EndWork(Epoch::new(7))]);
    assert!(run.leads() && run.member.awaits_work());
    run.works = false;
    let done = run.take(Event::WorkEnded);
    assert_eq!(tells(&done), [(Role::Candidate, "asked_to_yield")]);
    let release = (3, lease::Message::Release(lease::Token::new(7)));
    assert_eq!(sent(&done), [release]);
    assert_eq!(done.last(), Some(&Action::End(End::HandedOver)));
    assert!(matches!(done[0], Action::Publish(_)), "its program knows before the store does");
}

#[test]
fn one_that_leaves_waits_half_a_second_for_its_storage() {
    let mut run = unsaved_leader(&usual());
    assert_eq!(run.take(Event::Stop), []);
    assert!(run.member.leaves());
    assert_eq!(run.runs(499), []);
    assert_eq!(run.runs(1), [Action::Log(LogLine::Unsaved), Action::End(End::Left)]);
}

#[test]
fn one_that_leaves_is_not_said_to_lead_any_more() {
    let mut run = unsaved_leader(&usual());
    run.take(Event::Stop);
    let done = run.saved();
    assert_eq!((tells(&done), run.leads()), (vec![], false));
    assert_eq!(done.last(), Some(&Action::End(End::Left)));
}

#[test]
fn one_that_leaves_and_cannot_save_says_so() {
    let mut run = unsaved_leader(&usual());
    run.take(Event::Stop);
    let done = run.take(Event::StorageAnswered(StorageAnswer::Failed("it is full".to_owned())));
    assert_eq!(done, [Action::End(End::Failed)]);
}
