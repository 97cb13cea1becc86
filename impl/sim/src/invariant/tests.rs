//! Each invariant holds where it should, and breaks on what it is for.

use std::time::Duration;

use bellwether_core::protocol::quorum::{Lists, Mark};
use bellwether_core::protocol::{Birth, Epoch, Members, NodeId, Role};

use super::{Answer, Face, Fact, Memory, Moment, Term, Terms, View, named};
use crate::subject::{Granted, Says};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// The list with this number, of nodes with these ids.
fn list(number: u64, ids: &[u16]) -> Members {
    Members::of_any_size(ids.iter().copied().map(id)).numbered(number)
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
        work: None,
        prepared: true,
        durable: Some(granted),
        lists: Some(Lists::first(list(1, &[1, 2, 3]))),
        elected_by: Some(Lists::first(list(1, &[1, 2, 3]))),
        birth: Some(Birth::FOUNDER),
        waits: false,
        wiped: 0,
        problem: false,
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

/// Returns what the invariant says to one fact after the other, each at its moment; the first
/// complaint.
fn says(name: &'static str, history: &[(u64, &[Face], Fact)]) -> Result<(), String> {
    let (invariants, mut memory) = (named(&[name]), Memory::default());
    assert_eq!(invariants.len(), 1, "{name}");
    let mut agreed: Option<(Moment, NodeId)> = None;
    history.iter().try_for_each(|&(at, nodes, fact)| {
        let at = Moment(at);
        let leader = nodes[0].leader.filter(|&l| nodes.iter().all(|n| n.leader == Some(l)));
        let since = agreed.filter(|&(_, before)| Some(before) == leader);
        agreed = since.or(leader.map(|leader| (at, leader)));
        let view = View { at, nodes, agreed, terms: terms() };
        invariants[0].1(&mut memory, view, fact)
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
fn two_leases_must_not_overlap_and_work_is_as_good_as_a_leader() {
    let (mut leads, mut works) = (nodes(), nodes());
    leading(&mut leads, 2, 1, 10);
    works[2].work = leads[2].term;
    for mut both in [leads, works] {
        leading(&mut both, 1, 2, 99);
        let look = |at| says("at-most-one-leader", &[(at, &both, Fact::Changed(1))]);
        assert_eq!(look(10), Ok(()), "the first is over");
        assert!(look(9).is_err());
    }
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
    lost[1].durable = None;
    lost[1].birth = None;
    assert_eq!(says(name, &[begins, (20, &lost, Fact::Changed(1))]), Ok(()), "it has no vote");
    lost[1].birth = Some(Birth::random(7));
    assert_eq!(says(name, &[begins, (20, &lost, Fact::Changed(1))]), Ok(()), "not by that list");
    lost[1].birth = Some(Birth::FOUNDER);
    assert!(says(name, &[begins, (20, &lost, Fact::Changed(1))]).is_err(), "it votes at once");
}

#[test]
fn a_majority_of_each_list_must_stand_behind_a_leader() {
    let mut led = nodes();
    leading(&mut led, 2, 1, 10);
    led[0].durable = None;
    let pending = |ids: &[u16]| {
        let lists = Lists::first(list(1, &[1, 2, 3]));
        Some(Lists { pending: Some(list(2, ids)), ..lists })
    };
    let name = "epochs-grow";
    led[2].elected_by = pending(&[2, 3]);
    assert_eq!(says(name, &[(5, &led, Fact::Changed(2))]), Ok(()));
    led[2].elected_by = pending(&[1, 3]);
    assert!(says(name, &[(5, &led, Fact::Changed(2))]).is_err(), "one of two");
}

#[test]
fn a_number_has_one_decided_list_and_no_node_goes_back() {
    let (first, mut second, mut third) = (nodes(), nodes(), nodes());
    let next = |ids: &[u16], turn| {
        let mark = Mark { epoch: Epoch::new(1), turn };
        Some(Lists { decided: list(2, ids), pending: None, mark })
    };
    second[0].lists = next(&[1, 2], 2);
    third[1].lists = next(&[1, 3], 2);
    let all = |other: &[Face]| {
        let history = [
            (5, first.as_slice(), Fact::Changed(0)),
            (6, second.as_slice(), Fact::Changed(0)),
            (7, other, Fact::Changed(1)),
        ];
        says("one-list-per-number", &history)
    };
    assert!(all(&third).is_err(), "two lists with number 2");
    third[1].lists = next(&[1, 2], 2);
    assert_eq!(all(&third), Ok(()), "the same list");
    let grows = |one: &[Face], other: &[Face]| {
        says("lists-grow", &[(5, one, Fact::Changed(0)), (6, other, Fact::Changed(0))])
    };
    assert_eq!(grows(&first, &second), Ok(()));
    assert!(grows(&second, &first).is_err(), "lost in a crash");
    let mut wiped = first.clone();
    wiped[0].wiped = 1;
    assert_eq!(grows(&second, &wiped), Ok(()), "lost with the disk");
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
        (5, nodes.as_slice(), Fact::Sent { from: 0, to: id(to), says, led: false })
    };
    let name = "grants-stand";
    assert_eq!(says(name, &[grant(3, 1), grant(3, 1)]), Ok(()), "the same grant again");
    assert!(says(name, &[grant(3, 2)]).is_err(), "not durable");
    assert!(says(name, &[grant(2, 1)]).is_err(), "durable for another");
    assert!(says(name, &[grant(3, 1), grant(2, 1)]).is_err(), "to two");
    let claim = Fact::Sent { from: 0, to: id(2), says: Says::Claims(1), led: false };
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
    assert_eq!(says(name, &word(true)), Ok(()));
    assert!(says(name, &word(false)).is_err());
}

#[test]
fn a_program_loses_before_its_node_gives_the_next_epoch_away() {
    let mut led = nodes();
    leading(&mut led, 2, 4, 10);
    let mut works = nodes();
    works[2].work = led[2].term;
    let name = "loss-before-word";
    let word = |at, nodes, says| [(at, nodes, Fact::Sent { from: 2, to: id(1), says, led: false })];
    for nodes in [led.as_slice(), &works] {
        for gives in [Says::Grants(5), Says::Gives(5, id(2)), Says::Claims(5)] {
            assert!(says(name, &word(9, nodes, gives)).is_err(), "{gives:?}");
            assert_eq!(says(name, &word(10, nodes, gives)), Ok(()), "its lease is over");
        }
        assert_eq!(says(name, &word(9, nodes, Says::Claims(4))), Ok(()), "what it leads");
        assert_eq!(says(name, &word(9, nodes, Says::Leads(5))), Ok(()), "it gives nothing away");
    }
}

#[test]
fn a_program_does_not_lead_when_its_process_or_its_disk_stood_still() {
    let mut led = nodes();
    leading(&mut led, 2, 1, 10);
    let none = nodes();
    let waits = |paused, stalled| Fact::Waits { node: 2, paused, stalled };
    let cases = [
        ("pause-is-a-loss", waits(true, false), waits(false, true)),
        ("stalled-disk-is-a-loss", waits(false, true), waits(true, false)),
    ];
    for (name, fact, other) in cases {
        assert!(says(name, &[(5, &led, fact)]).is_err(), "{name}");
        assert_eq!(says(name, &[(5, &none, fact)]), Ok(()), "{name}: it knows");
        assert_eq!(says(name, &[(5, &led, other)]), Ok(()), "{name}: another reason");
    }
}

#[test]
fn a_program_prepares_itself_before_it_leads() {
    let mut led = nodes();
    leading(&mut led, 2, 1, 10);
    let name = "prepared-first";
    assert_eq!(says(name, &[(5, &led, Fact::Changed(2))]), Ok(()));
    led[2].prepared = false;
    assert!(says(name, &[(5, &led, Fact::Changed(2))]).is_err());
}

/// Node 3 led epoch 4 when it was asked to let node 1 lead.
fn answered(able: Option<bool>, leads: Option<u64>, answer: Answer) -> Fact {
    Fact::Answered { node: 2, to: id(1), epoch: Some(4), leads, able, answer }
}

#[test]
fn an_answer_to_an_operator_is_what_has_happened() {
    let (nodes, name) = (nodes(), "transfers-are-true");
    let says_so = |from, epoch| {
        let says = Says::Leads(epoch);
        (5, nodes.as_slice(), Fact::Sent { from, to: id(2), says, led: true })
    };
    let answers = |leads, answer| (6, nodes.as_slice(), answered(None, leads, answer));
    let done = answers(None, Answer::Done(Some(5)));
    assert_eq!(says(name, &[says_so(2, 4), says_so(0, 5), done]), Ok(()));
    assert!(says(name, &[says_so(2, 4), done]).is_err(), "it has not said so");
    assert!(says(name, &[says_so(1, 5), done]).is_err(), "another node has");
    let before = answers(None, Answer::Done(Some(4)));
    assert!(says(name, &[says_so(0, 4), before]).is_err(), "it led that epoch before");
    assert!(says(name, &[answers(None, Answer::Done(None))]).is_err(), "without an epoch");
    assert_eq!(says(name, &[answers(Some(4), Answer::Stays)]), Ok(()));
    assert!(says(name, &[answers(None, Answer::Stays)]).is_err(), "it leads no longer");
    assert!(says(name, &[answers(Some(6), Answer::Stays)]).is_err(), "it leads again");
    for other in [Answer::Other, Answer::Refused] {
        assert_eq!(says(name, &[answers(None, other)]), Ok(()), "it promises nothing");
    }
}

#[test]
fn the_node_that_can_take_over_does() {
    let (nodes, name) = (nodes(), "transfers-work");
    let look = |able, answer| says(name, &[(6, &nodes, answered(able, Some(4), answer))]);
    let done = Answer::Done(Some(5));
    for answer in [done, Answer::Stays, Answer::Other, Answer::Refused] {
        assert_eq!(look(None, answer), Ok(()), "it is not known");
        assert_eq!(look(Some(true), answer).is_ok(), answer == done, "{answer:?}");
        let stays = matches!(answer, Answer::Stays | Answer::Refused);
        assert_eq!(look(Some(false), answer).is_ok(), stays, "{answer:?}");
    }
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
    let later = |nodes: &[Face]| {
        says("settles", &[(1_500, nodes, Fact::Passed), (4_000_001_500, nodes, Fact::Passed)])
    };
    assert_eq!(later(&two), Ok(()));
    let mut waits = with(2);
    if let Some(lists) = &mut waits[1].lists {
        lists.pending = Some(list(2, &[2, 3]));
    }
    assert_eq!(says("settles", &[(1_500, &waits, Fact::Passed)]), Ok(()), "not decided yet");
    assert!(later(&waits).is_err(), "a list is pending");
    waits[2].up = false;
    assert_eq!(later(&waits), Ok(()), "it cannot be decided");
    let mut forgot = with(2);
    forgot[2].waits = true;
    assert!(later(&forgot).is_err(), "it is not let in");
    forgot[2].up = false;
    assert_eq!(later(&forgot), Ok(()), "it cannot be let in");
    assert!(says("stabilises", &[(1_500, &two, Fact::Passed)]).is_err(), "not the highest");
}

#[test]
fn a_grant_is_above_each_token_that_its_process_has_seen() {
    let nodes = nodes();
    let told = |life, token, is_grant| {
        (5, nodes.as_slice(), Fact::Told { node: 0, life, token, is_grant })
    };
    let name = "tokens-grow";
    assert_eq!(says(name, &[told(0, 7, false), told(0, 8, true), told(0, 3, false)]), Ok(()));
    assert!(says(name, &[told(0, 7, false), told(0, 7, true)]).is_err());
    assert_eq!(says(name, &[told(0, 7, false), told(1, 1, true)]), Ok(()), "it has seen nothing");
}

#[test]
fn a_fence_lets_no_older_write_pass() {
    let nodes = nodes();
    let written = |token| (5, nodes.as_slice(), Fact::Written(token));
    assert_eq!(says("fence-in-order", &[written(3), written(3), written(4)]), Ok(()));
    assert!(says("fence-in-order", &[written(4), written(3)]).is_err());
}

#[test]
fn a_mishap_is_told_in_time() {
    let (quiet, mut tells) = (nodes(), nodes());
    tells[1].problem = true;
    let name = "problems-are-told";
    let mishap = (5, quiet.as_slice(), Fact::Mishap { by: Moment(9) });
    let late = (10, quiet.as_slice(), Fact::Passed);
    let in_time = (9, quiet.as_slice(), Fact::Passed);
    assert_eq!(says(name, &[mishap, in_time]), Ok(()), "there is time left");
    assert!(says(name, &[mishap, late]).is_err());
    assert_eq!(says(name, &[mishap, (8, tells.as_slice(), Fact::Passed), late]), Ok(()));
}
