//! The stories are scripts in `testdata`. Here are the token that a holder has, and what can be
//! wrong with the durations.

use std::time::Duration;

use super::{ClientConfig, Config, Durations, Lease, Message, Request, StoreConfig, Token};
use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{self, Input, Members, Node, NodeId, Time};
use crate::stories;

/// The members are clients of the store, which is node 9.
impl Scripted for Lease {
    fn configured(id: NodeId, members: Members) -> Config {
        let durations = durations();
        if members.contains(id) {
            Config::Client(ClientConfig { id, store: node(9), durations })
        } else {
            Config::Store(StoreConfig { id, clients: members, durations })
        }
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<Lease>>("src/protocol/lease/testdata");
}

fn node(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn durations() -> Durations {
    let ms = Duration::from_millis;
    Durations { hold: ms(1_000), keep: ms(1_500), renew: ms(200), retry: ms(300) }
}

#[test]
fn a_holder_has_its_token_until_its_lease_is_over() {
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    let granted = Message::Granted(Request { started: 1, number: 1 }, Token::new(7));
    for (is_fit, token) in [(true, Some(Token::new(7))), (false, None)] {
        let members = Members::new([node(1)]).expect("valid");
        let config = Lease::configured(node(1), members);
        let mut one = Node::<Lease>::new(config, None, 0).expect("valid");
        one.handle(at(0), Input::Boot);
        one.handle(at(5), Input::Request(protocol::Request::Healthy(is_fit)));
        one.handle(at(10), Input::Receive { from: node(9), message: granted });
        assert_eq!([11, 999].map(|now| one.holds(at(now))), [token; 2]);
        assert_eq!(one.holds(at(1_000)), None, "also before it has noticed");
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
