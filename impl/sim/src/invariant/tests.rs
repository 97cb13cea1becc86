//! Each invariant holds where it should, and breaks on what it is for.

use std::time::Duration;

use bellwether::protocol::{NodeId, Role};

use super::{Face, Fact, Moment, Term, Terms, View, named};
use crate::subject::{Granted, Says};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// Three nodes that have granted epoch 1 to node 3, and none leads.
fn nodes() -> Vec<Face> {
    let granted = Granted { epoch: 1, to: Some(id(3)) };
    let face = |number| Face {
        id: id(number),
        up: true,
        role: Role::Follower,
        leader: None,
        term: None,
        durable: Some(granted),
    };
    [1, 2, 3].map(face).to_vec()
}

fn leading(nodes: &mut [Face], place: usize, epoch: u64, until: u64) {
    nodes[place].role = Role::Leader;
    nodes[place].term = Some(Term { epoch: Some(epoch), until: Moment(until) });
}

fn terms() -> Terms {
    Terms { from: Moment(100), calm: Moment(1_000), bound: Duration::from_nanos(500) }
}

/// What the invariant says to one fact after the other, each at its moment; the first complaint.
fn says(name: &'static str, history: &[(u64, &[Face], Fact)]) -> Result<(), String> {
    let mut invariants = named(&[name]);
    assert_eq!(invariants.len(), 1, "{name}");
    history.iter().try_for_each(|&(at, nodes, fact)| {
        let at = Moment(at);
        let leader = nodes[0].leader.filter(|&l| nodes.iter().all(|n| n.leader == Some(l)));
        let agreed = leader.map(|leader| (at, leader));
        let view = View { at, nodes, agreed, terms: terms() };
        invariants[0].1.look(view, fact)
    })
}

#[test]
fn an_epoch_has_one_leader_even_one_after_the_other() {
    let (mut first, mut second) = (nodes(), nodes());
    leading(&mut first, 2, 1, 10);
    leading(&mut second, 1, 1, 99);
    let name = "one-leader-per-epoch";
    let after = |place| (50, second.as_slice(), Fact::Changed(place));
    assert_eq!(says(name, &[(5, &first, Fact::Changed(2)), (6, &first, Fact::Changed(2))]), Ok(()));
    assert!(says(name, &[(5, &first, Fact::Changed(2)), after(1)]).is_err());
}

#[test]
fn two_leases_must_not_overlap() {
    let mut both = nodes();
    leading(&mut both, 2, 1, 10);
    leading(&mut both, 1, 2, 99);
    let name = "at-most-one-leader";
    assert_eq!(says(name, &[(10, &both, Fact::Changed(1))]), Ok(()), "the first is over");
    assert!(says(name, &[(9, &both, Fact::Changed(1))]).is_err());
}

#[test]
fn a_majority_must_stand_behind_a_leader_for_good() {
    let mut led = nodes();
    leading(&mut led, 2, 1, 10);
    let mut lost = nodes();
    lost[0].durable = None;
    let name = "epochs-grow";
    let begins = (5, led.as_slice(), Fact::Changed(2));
    assert_eq!(says(name, &[begins, (20, &lost, Fact::Changed(0))]), Ok(()), "two of three");
    lost[1].durable = Some(Granted { epoch: 1, to: Some(id(2)) });
    assert!(says(name, &[begins, (20, &lost, Fact::Changed(1))]).is_err());
    lost[1].durable = Some(Granted { epoch: 2, to: None });
    assert_eq!(says(name, &[begins, (20, &lost, Fact::Changed(1))]), Ok(()), "a higher epoch");
}

#[test]
fn leaders_begin_in_the_order_of_their_epochs() {
    let (mut first, mut second) = (nodes(), nodes());
    leading(&mut first, 2, 7, 10);
    leading(&mut second, 1, 6, 99);
    let name = "epochs-in-order";
    let begins = (5, first.as_slice(), Fact::Changed(2));
    assert!(says(name, &[begins, (20, &second, Fact::Changed(1))]).is_err());
    leading(&mut second, 1, 8, 99);
    assert_eq!(says(name, &[begins, (20, &second, Fact::Changed(1))]), Ok(()));
}

#[test]
fn a_grant_is_durable_and_given_once() {
    let nodes = nodes();
    let grant = |to, epoch| {
        let says = Says::Grants(epoch);
        (5, nodes.as_slice(), Fact::Sent { from: 0, to: id(to), says, led: None })
    };
    let name = "grants-stand";
    assert_eq!(says(name, &[grant(3, 1), grant(3, 1)]), Ok(()), "the same grant again");
    assert!(says(name, &[grant(3, 2)]).is_err(), "not durable");
    assert!(says(name, &[grant(2, 1)]).is_err(), "durable for another");
    assert!(says(name, &[grant(3, 1), grant(2, 1)]).is_err(), "to two");
    let claim = Fact::Sent { from: 0, to: id(2), says: Says::Claims(1), led: None };
    assert!(says(name, &[(5, &nodes, claim)]).is_err(), "a claim is a grant to oneself");
}

#[test]
fn only_a_lease_gives_the_word() {
    let nodes = nodes();
    let word = |led| {
        let says = Says::Leads(4);
        [(5, nodes.as_slice(), Fact::Sent { from: 2, to: id(1), says, led })]
    };
    let name = "lease-before-word";
    assert_eq!(says(name, &word(Some(Some(4)))), Ok(()));
    assert!(says(name, &word(Some(Some(3)))).is_err(), "of another epoch");
    assert!(says(name, &word(None)).is_err(), "without a lease");
}

#[test]
fn the_first_leader_must_stay() {
    let mut led = nodes();
    leading(&mut led, 2, 1, 500);
    let (none, name) = (nodes(), "first-leader-stays");
    assert_eq!(says(name, &[(5, &none, Fact::Passed), (100, &led, Fact::Passed)]), Ok(()));
    assert!(says(name, &[(100, &none, Fact::Passed)]).is_err(), "none leads");
    let begins = (100, led.as_slice(), Fact::Passed);
    assert!(says(name, &[begins, (200, &none, Fact::Passed)]).is_err(), "deposed");
    assert!(says(name, &[begins, (500, &led, Fact::Passed)]).is_err(), "its lease is over");
}

#[test]
fn all_must_agree_in_time() {
    let with = |leader: u16| {
        let mut nodes = nodes();
        nodes.iter_mut().for_each(|face| face.leader = Some(id(leader)));
        nodes
    };
    let (none, two, three) = (nodes(), with(2), with(3));
    for name in ["settles", "stabilises"] {
        assert_eq!(says(name, &[(1_499, &none, Fact::Passed)]), Ok(()), "not due yet");
        assert!(says(name, &[(1_500, &none, Fact::Passed)]).is_err());
        assert!(says(name, &[(1_501, &three, Fact::Passed)]).is_err(), "too late");
        assert_eq!(says(name, &[(1_500, &three, Fact::Passed)]), Ok(()));
    }
    assert_eq!(says("settles", &[(1_500, &two, Fact::Passed)]), Ok(()));
    assert!(says("stabilises", &[(1_500, &two, Fact::Passed)]).is_err(), "not the highest");
}
