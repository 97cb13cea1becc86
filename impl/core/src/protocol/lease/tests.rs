//! Stories: what happens to one client, to the store, and to three of them on virtual time.

use std::time::Duration;

use super::{
    ClientConfig, Config, Durable, Durations, Lease, Message, Request, StoreConfig, Token,
};
use crate::protocol::{self, Epoch, Input, Members, Node, NodeId, Output, Time};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

const STORE: u16 = 9;

fn durations() -> Durations {
    let ms = Duration::from_millis;
    Durations { hold: ms(1_000), keep: ms(1_500), renew: ms(200), retry: ms(300) }
}

fn client(number: u16, started: u32) -> Node<Lease> {
    let config = ClientConfig { id: id(number), store: id(STORE), durations: durations() };
    Node::new(Config::Client(config), Some(Durable { started }), 0).expect("valid")
}

fn store() -> Node<Lease> {
    let clients = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = StoreConfig { id: id(STORE), clients, durations: durations() };
    Node::new(Config::Store(config), None, 0).expect("valid")
}

/// One node, told what happens at which millisecond, and the outputs it gave, on one line.
struct Story(Node<Lease>);

impl Story {
    fn at(&mut self, milliseconds: u64, input: Input<Message>) -> String {
        self.0.handle(at(milliseconds), input);
        let outputs: Vec<_> = std::iter::from_fn(|| self.0.poll()).map(|o| line(&o)).collect();
        outputs.join(", ")
    }

    fn hears(&mut self, milliseconds: u64, from: u16, message: Message) -> String {
        self.at(milliseconds, Input::Receive { from: id(from), message })
    }
}

fn line(output: &Output<Durable, Message>) -> String {
    match output {
        Output::Persist(Durable { started }) => format!("durable: started {started} times"),
        Output::Send { to, message } => format!("{} to {to}", said(*message)),
        Output::Event(event) => event.to_string(),
        Output::WakeAt(None) => "no timer".to_owned(),
        Output::WakeAt(Some(time)) => {
            format!("wake at {}", time.since(Time::ZERO).as_millis())
        }
    }
}

fn said(message: Message) -> String {
    let name = |Request { started, number }| format!("{started}.{number}");
    match message {
        Message::Acquire(request) => format!("Acquire {}", name(request)),
        Message::Renew(request, token) => format!("Renew {} of {token}", name(request)),
        Message::Granted(request, token) => format!("Granted {}: {token}", name(request)),
        Message::Refused(request, _) => format!("Refused {}", name(request)),
        Message::Write(token) => format!("Write with {token}"),
        Message::Release(token) => format!("Release {token}"),
        Message::Available => "Available".to_owned(),
    }
}

fn request(started: u32, number: u32) -> Request {
    Request { started, number }
}

fn granted(started: u32, number: u32, token: u64) -> Message {
    Message::Granted(request(started, number), Token::new(token))
}

#[test]
fn a_client_counts_its_lease_from_before_it_asked() {
    let mut one = Story(client(1, 0));
    assert_eq!(
        one.at(0, Input::Boot),
        "durable: started 1 times, Acquire 1.1 to 9, \
         not_started becomes candidate: the node started, wake at 1000"
    );
    assert_eq!(
        one.hears(150, STORE, granted(1, 1, 7)),
        "candidate becomes leader of 1: the store granted the lease, wake at 350"
    );
    assert_eq!(one.at(350, Input::Wake), "Write with 7 to 9, Renew 1.2 of 7 to 9, wake at 550");
    one.at(550, Input::Wake);
    one.at(750, Input::Wake);
    one.at(950, Input::Wake);
    assert_eq!(
        one.at(1000, Input::Wake),
        "Acquire 1.6 to 9, leader becomes candidate: the lease has expired, wake at 2000",
        "not 1150, which is when it got the answer"
    );
}

#[test]
fn a_renewal_lasts_from_before_it_was_asked_for() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    one.hears(10, STORE, granted(1, 1, 7));
    one.at(210, Input::Wake);
    assert_eq!(one.hears(220, STORE, granted(1, 2, 7)), "");
    let until: Vec<_> = one.0.armed().collect();
    assert!(until.contains(&(super::Timer::Lease, at(1_210))), "{until:?}");
}

#[test]
fn the_answer_to_an_earlier_request_counts_for_nothing() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    assert_eq!(one.at(1_000, Input::Wake), "Acquire 1.2 to 9, wake at 2000");
    assert_eq!(one.hears(1_010, STORE, granted(1, 1, 7)), "", "its lease is over at 1000");
    assert!(one.hears(1_020, STORE, granted(1, 2, 8)).contains("becomes leader"));
    assert_eq!(one.hears(1_030, STORE, granted(1, 2, 8)), "", "it has had that answer");
}

/// The store extends the lease each time, and each answer comes after the next renewal was sent.
#[test]
fn renewals_that_are_answered_after_the_next_one_extend_nothing() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    one.hears(10, STORE, granted(1, 1, 7));
    one.at(210, Input::Wake);
    for (at, number) in [(410, 2), (610, 3), (810, 4)] {
        assert!(one.at(at, Input::Wake).contains(&format!("Renew 1.{} of 7", number + 1)));
        assert_eq!(one.hears(at + 12, STORE, granted(1, number, 7)), "");
    }
    assert_eq!(
        one.at(1_000, Input::Wake),
        "Acquire 1.6 to 9, leader becomes candidate: the lease has expired, wake at 2000"
    );
}

#[test]
fn a_client_that_starts_again_has_requests_that_it_never_had() {
    let mut again = Story(client(1, 4));
    assert!(again.at(0, Input::Boot).starts_with("durable: started 5 times, Acquire 5.1"));
    assert_eq!(again.hears(5, STORE, granted(4, 1, 3)), "", "asked for by its former self");
}

/// The deadline comes first, however late it is noticed.
#[test]
fn a_client_that_slept_finds_its_lease_gone_before_it_hears_anything() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    one.hears(10, STORE, granted(1, 1, 7));
    assert_eq!(one.0.holds(at(999)), Some(Token::new(7)));
    assert_eq!(one.0.holds(at(1_000)), None, "also before it has noticed");
    one.at(210, Input::Wake);
    let woken = one.hears(9_000, STORE, granted(1, 2, 7));
    assert!(woken.contains("leader becomes candidate: the lease has expired"), "{woken}");
    assert!(!woken.contains("becomes leader"), "{woken}");
}

/// What was due before the lease was over is not done afterwards.
#[test]
fn a_holder_that_wakes_up_too_late_writes_nothing() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    one.hears(10, STORE, granted(1, 1, 7));
    assert_eq!(
        one.at(1_000, Input::Wake),
        "Acquire 1.2 to 9, leader becomes candidate: the lease has expired, wake at 2000"
    );
}

#[test]
fn a_client_that_is_refused_follows_the_holder_and_asks_again() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    let refused = Message::Refused(request(1, 1), Some(id(3)));
    assert_eq!(
        one.hears(20, STORE, refused),
        "candidate becomes follower of 3: the store refused the lease, wake at 320"
    );
    assert_eq!(one.at(320, Input::Wake), "Acquire 1.2 to 9, wake at 1320");
}

/// A doubled request has been granted twice, and the renewal names the first grant.
#[test]
fn a_client_that_is_refused_in_its_own_name_does_not_lead() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    one.hears(10, STORE, granted(1, 1, 7));
    one.at(210, Input::Wake);
    let refused = Message::Refused(request(1, 2), Some(id(1)));
    assert_eq!(
        one.hears(220, STORE, refused),
        "leader becomes candidate: the store refused the lease, wake at 520"
    );
    assert_eq!(one.0.status().leader, None);
}

#[test]
fn the_store_grants_what_is_free_or_the_askers_own() {
    let mut store = Story(store());
    assert_eq!(store.at(0, Input::Boot), "not_started becomes follower: the node started");
    assert_eq!(
        store.hears(10, 1, Message::Acquire(request(1, 1))),
        "Granted 1.1: 1 to 1, follower becomes follower of 1: the store granted the lease, \
         wake at 1510"
    );
    assert_eq!(store.hears(20, 2, Message::Acquire(request(1, 1))), "Refused 1.1 to 2");
    assert_eq!(
        store.hears(30, 1, Message::Acquire(request(2, 1))),
        "Granted 2.1: 2 to 1, wake at 1530",
        "it has started again: a new token"
    );
    assert_eq!(
        store.hears(40, 1, Message::Renew(request(1, 2), Token::new(1))),
        "Refused 1.2 to 1",
        "its former self"
    );
    assert_eq!(
        store.at(1_530, Input::Wake),
        "follower becomes follower: the lease has expired, no timer"
    );
    assert!(store.hears(1_540, 2, Message::Acquire(request(1, 2))).starts_with("Granted 1.2: 3"));
}

#[test]
fn the_fence_knows_of_a_grant_before_its_holder_has_written() {
    let mut node = Story(store());
    node.at(0, Input::Boot);
    node.hears(10, 1, Message::Acquire(request(1, 1)));
    node.hears(20, 1, Message::Write(Token::new(1)));
    node.hears(1_600, 2, Message::Acquire(request(1, 1)));
    node.hears(1_610, 1, Message::Write(Token::new(1)));
    let Some(Lease::Store(core)) = node.0.core() else { panic!("a store") };
    assert_eq!((core.holder(), core.token()), (Some(id(2)), Token::new(2)));
    assert_eq!(core.written(), Token::new(1), "what came late changed nothing");
    node.hears(1_620, 2, Message::Write(Token::new(2)));
    let Some(Lease::Store(core)) = node.0.core() else { panic!("a store") };
    assert_eq!(core.written(), Token::new(2));
}

#[test]
fn a_holder_that_is_asked_to_yield_gives_its_lease_back() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    one.hears(10, STORE, granted(1, 1, 7));
    let lease = one.0.lease().expect("it leads for a time");
    assert_eq!((lease.epoch, lease.until), (Epoch::new(7), at(1_000)));
    one.at(210, Input::Wake);
    assert_eq!(
        one.at(250, Input::Request(protocol::Request::Yield(None))),
        "Release 7 to 9, leader becomes candidate: it was asked to lead no longer, wake at 550"
    );
    assert_eq!(one.0.lease(), None);
    assert_eq!(one.hears(260, STORE, granted(1, 2, 7)), "", "the renewal comes too late");
    assert_eq!(one.at(270, Input::Request(protocol::Request::Yield(None))), "", "it has yielded");
    assert_eq!(one.at(550, Input::Wake), "Acquire 1.3 to 9, wake at 1550", "it asks again");
}

#[test]
fn a_client_that_steps_down_follows_and_leads_only_when_its_time_is_over() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    one.hears(10, STORE, granted(1, 1, 7));
    let away = protocol::Request::StepDown(None, Duration::from_millis(1_000));
    assert_eq!(
        one.at(100, Input::Request(away)),
        "Release 7 to 9, leader becomes candidate: it was asked to lead no longer, wake at 400"
    );
    assert_eq!(
        one.at(400, Input::Wake),
        "Renew 1.2 of 0 to 9, wake at 1100",
        "it asks which one leads, and not for the lease"
    );
    let refused = |number| Message::Refused(request(1, number), Some(id(2)));
    assert_eq!(
        one.hears(410, STORE, refused(2)),
        "candidate becomes follower of 2: the store refused the lease, wake at 710"
    );
    one.at(710, Input::Wake);
    one.hears(720, STORE, refused(3));
    one.at(1_020, Input::Wake);
    one.hears(1_030, STORE, refused(4));
    assert_eq!(one.at(1_100, Input::Wake), "Acquire 1.5 to 9, wake at 2100", "its time is over");
}

#[test]
fn a_client_that_may_not_lead_any_more_gives_back_what_it_is_granted() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    assert_eq!(one.at(5, Input::Request(protocol::Request::Healthy(false))), "");
    assert_eq!(one.hears(10, STORE, granted(1, 1, 7)), "Release 7 to 9, wake at 310");
    assert_eq!(one.0.holds(at(11)), None);
    assert_eq!(
        one.at(20, Input::Request(protocol::Request::Healthy(true))),
        "Acquire 1.2 to 9, wake at 1020",
        "it is fit again, and asks at once"
    );
    one.hears(30, STORE, granted(1, 2, 8));
    assert_eq!(
        one.at(40, Input::Request(protocol::Request::Healthy(false))),
        "Release 8 to 9, leader becomes candidate: its machine is not fit to lead, wake at 340"
    );
}

#[test]
fn a_client_that_is_told_again_that_it_is_fit_asks_when_it_would_have_asked() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    one.hears(20, STORE, Message::Refused(request(1, 1), Some(id(3))));
    for now in [30, 40, 50] {
        assert_eq!(one.at(now, Input::Request(protocol::Request::Healthy(true))), "");
    }
    assert_eq!(one.at(320, Input::Wake), "Acquire 1.2 to 9, wake at 1320", "and no earlier");
}

#[test]
fn a_client_that_waits_to_ask_asks_at_once_when_the_lease_is_free() {
    let mut one = Story(client(1, 0));
    one.at(0, Input::Boot);
    assert_eq!(one.hears(5, STORE, Message::Available), "", "it has asked already");
    one.hears(20, STORE, Message::Refused(request(1, 1), Some(id(3))));
    assert_eq!(one.hears(50, STORE, Message::Available), "Acquire 1.2 to 9, wake at 1050");
    one.hears(60, STORE, granted(1, 2, 8));
    assert_eq!(one.hears(70, STORE, Message::Available), "", "it has the lease");
}

#[test]
fn a_lease_that_is_given_back_is_free_at_once_and_the_others_hear_so() {
    let mut store = Story(store());
    store.at(0, Input::Boot);
    store.hears(10, 1, Message::Acquire(request(1, 1)));
    assert_eq!(store.hears(20, 2, Message::Release(Token::new(1))), "", "it is not its own");
    assert_eq!(store.hears(25, 2, Message::Acquire(request(1, 1))), "Refused 1.1 to 2");
    assert_eq!(
        store.hears(30, 1, Message::Release(Token::new(1))),
        "Available to 2, Available to 3, \
         follower becomes follower: the holder has given the lease back, no timer"
    );
    assert!(store.hears(40, 2, Message::Acquire(request(1, 2))).starts_with("Granted 1.2: 2"));
}

#[test]
fn a_release_that_comes_late_frees_no_newer_grant() {
    let mut store = Story(store());
    store.at(0, Input::Boot);
    store.hears(10, 1, Message::Acquire(request(1, 1)));
    store.hears(20, 1, Message::Release(Token::new(1)));
    store.hears(30, 1, Message::Acquire(request(1, 2)));
    assert_eq!(store.hears(40, 1, Message::Release(Token::new(1))), "", "it came twice");
    assert_eq!(store.hears(50, 2, Message::Acquire(request(1, 1))), "Refused 1.1 to 2");
}

#[test]
fn nobody_listens_to_whom_it_should_not() {
    let mut one = Story(client(1, 0));
    assert_eq!(one.hears(0, STORE, granted(1, 1, 1)), "", "it has not started");
    one.at(0, Input::Boot);
    for (from, message) in [
        (2, granted(1, 1, 1)),
        (1, granted(1, 1, 1)),
        (STORE, Message::Write(Token::new(1))),
        (2, Message::Available),
        (STORE, Message::Release(Token::new(1))),
    ] {
        assert!(one.hears(10, from, message).starts_with("ignored"), "{message:?} of {from}");
    }
    let mut store = Story(store());
    store.at(0, Input::Boot);
    for (from, message) in [
        (7, Message::Acquire(request(1, 1))),
        (STORE, granted(1, 1, 1)),
        (1, granted(1, 1, 1)),
        (7, Message::Release(Token::new(1))),
        (1, Message::Available),
    ] {
        assert!(store.hears(10, from, message).starts_with("ignored"), "{message:?} of {from}");
    }
}

#[test]
fn durations_that_contradict_each_other_are_refused() {
    let with = |change: fn(&mut Durations)| {
        let mut durations = durations();
        change(&mut durations);
        durations.validate()
    };
    assert_eq!(with(|_| {}), Ok(()));
    assert_eq!(Durations::DEFAULT.validate(), Ok(()));
    let hold = with(|d| d.hold = d.keep).expect_err("too long").to_string();
    assert!(hold.starts_with("lease.hold (1.5s) must be shorter than lease.keep (1.5s)"), "{hold}");
    let renew = with(|d| d.renew = d.hold).expect_err("too late").to_string();
    assert!(renew.starts_with("lease.renew (1s) must be at most half of lease.hold"), "{renew}");
    let none = with(|d| d.retry = Duration::ZERO).expect_err("no time");
    assert!(none.to_string().contains("lease.retry is 0ns"), "{none}");
}
