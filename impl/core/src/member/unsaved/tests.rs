//! What waits for a state, and for how long.

use super::*;
use crate::protocol::{NodeId, Reason};

const LIFETIME: Duration = Duration::from_millis(100);

type Waits = Unsaved<char, u8>;

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

/// In these tests, the message with this number says so.
fn send(message: u8) -> Deferred<u8> {
    let to = NodeId::new(2).expect("not zero");
    Deferred::Send(Sent { to, id: message.into(), message })
}

fn change(from: Role, to: Role) -> Event {
    let leader = NodeId::new(1).filter(|_| to == Role::Leader);
    Event::RoleChanged { from, to, leader, reason: Reason::BOOTED }
}

fn lead() -> Deferred<u8> {
    Deferred::Lead(change(Role::Candidate, Role::Leader))
}

fn save(unsaved: &mut Waits, state: char) {
    assert_eq!(unsaved.push(at(0), Output::Persist(state)), None);
}

/// It waits, or is next.
fn add(unsaved: &mut Waits, now: Time, step: &Deferred<u8>) {
    let output = match *step {
        Deferred::Send(Sent { to, message, .. }) => Output::Send { to, message },
        Deferred::Lead(event) => Output::Event(event),
        Deferred::Change(_) => unreachable!("a node does not put it out"),
    };
    assert_eq!(unsaved.push(now, output), None);
}

fn drain(unsaved: &mut Waits, now: Time) -> Vec<Deferred<u8>> {
    std::iter::from_fn(|| unsaved.next(now)).collect()
}

#[test]
fn what_comes_after_a_state_waits_for_it_and_for_no_later_one() {
    let mut unsaved = Unsaved::new(LIFETIME, 3);
    add(&mut unsaved, at(0), &send(1));
    save(&mut unsaved, 'a');
    add(&mut unsaved, at(0), &send(2));
    assert_eq!(drain(&mut unsaved, at(0)), [send(1)]);
    assert_eq!(unsaved.begin_save(), Some('a'));
    add(&mut unsaved, at(1), &lead());
    save(&mut unsaved, 'b');
    add(&mut unsaved, at(1), &send(3));
    save(&mut unsaved, 'c');
    add(&mut unsaved, at(1), &send(4));
    assert_eq!(
        (drain(&mut unsaved, at(1)), unsaved.begin_save()),
        (vec![], None),
        "it is under way"
    );
    assert_eq!(unsaved.waiting(), 4);
    unsaved.finish_save();
    assert!(unsaved.is_behind());
    assert_eq!(drain(&mut unsaved, at(1)), [send(2), lead()]);
    assert_eq!(unsaved.begin_save(), Some('c'), "it says all that the one before it said");
    assert!(unsaved.is_behind() && drain(&mut unsaved, at(1)).is_empty());
    unsaved.finish_save();
    assert!(!unsaved.is_behind());
    assert_eq!(drain(&mut unsaved, at(1)), [send(3), send(4)]);
    assert_eq!(unsaved.begin_save(), None);
}

#[test]
fn what_is_no_promise_and_wakes_wait_for_nothing() {
    let mut unsaved = Waits::new(LIFETIME, 3);
    save(&mut unsaved, 'a');
    unsaved.begin_save();
    let from = NodeId::new(2).expect("not zero");
    let ignored = Event::Ignored { from, cause: Reason::OWN_ID };
    for event in [ignored, change(Role::Leader, Role::Follower)] {
        assert_eq!(unsaved.push(at(0), Output::Event(event)), Some(Immediate::Report(event)));
    }
    let wake = Some(at(7));
    assert_eq!(unsaved.push(at(0), Output::WakeAt(wake)), Some(Immediate::WakeAt(wake)));
}

#[test]
fn a_message_that_waits_for_too_long_is_dropped_and_news_is_not() {
    let mut unsaved = Unsaved::new(LIFETIME, 3);
    save(&mut unsaved, 'a');
    add(&mut unsaved, at(0), &send(1));
    add(&mut unsaved, at(0), &lead());
    add(&mut unsaved, at(50), &send(2));
    assert_eq!(unsaved.begin_save(), Some('a'));
    unsaved.finish_save();
    assert_eq!(drain(&mut unsaved, at(101)), [lead(), send(2)]);
}

#[test]
fn a_node_that_has_lost_is_never_said_to_have_led() {
    let mut unsaved = Unsaved::new(LIFETIME, 3);
    save(&mut unsaved, 'a');
    add(&mut unsaved, at(0), &lead());
    add(&mut unsaved, at(0), &send(1));
    unsaved.push(at(0), Output::Event(change(Role::Leader, Role::Follower)));
    unsaved.begin_save();
    unsaved.finish_save();
    assert_eq!(drain(&mut unsaved, at(0)), [send(1)]);
}
