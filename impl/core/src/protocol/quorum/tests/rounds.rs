//! Which rounds renew a lease, and until when, on networks that are slower than the rounds.

use crate::protocol::Birth;
use crate::protocol::quorum::Mark;
use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::{Story, at, epoch, founder, id, ms};
use crate::protocol::quorum::{Config, Message, Quorum, Timing};
use crate::protocol::{Input, Members, Node, NodeId, Output, Role, Time};

const LEADS: Message = Message::Ack(crate::protocol::Epoch::new(1), 1, Mark::FIRST);

#[test]
fn an_acknowledgement_counts_from_the_sending_of_its_own_round_however_late() {
    let mut three = Story::of_a_leader();
    three.at(1_520, Input::Wake);
    three.at(1_720, Input::Wake);
    assert_eq!(three.hears(1_900, 1, LEADS), "", "the round of 1320");
    assert_eq!(three.0.leads(at(2_319)), Some(epoch(1)));
    assert_eq!(three.0.leads(at(2_320)), None, "not 2520 or 2720, of which nothing was heard");
    three.hears(1_910, 1, Message::Ack(epoch(1), 3, Mark::FIRST));
    assert_eq!(three.0.leads(at(2_719)), Some(epoch(1)), "it answers the round of 1720");
    assert_eq!(three.0.leads(at(2_720)), None);
}

#[test]
fn an_acknowledgement_counts_for_earlier_rounds_too() {
    let members = Members::new((1..=5).map(id)).expect("valid");
    let mut five = Story(
        Node::new(Config { id: id(5), members, timing: Timing::DEFAULT }, founder(), 0)
            .expect("valid"),
    );
    five.at(0, Input::Boot);
    five.at(1_200, Input::Wake);
    five.at(1_300, Input::Wake);
    for message in [Message::Support(epoch(1)), Message::Grant(epoch(1), Birth::FOUNDER)] {
        five.hears(1_310, 1, message.clone());
        five.hears(1_310, 2, message);
    }
    five.at(1_510, Input::Wake);
    five.at(1_710, Input::Wake);
    five.hears(1_900, 1, Message::Ack(epoch(1), 3, Mark::FIRST));
    assert_eq!(five.0.leads(at(2_310)), None, "its lease is that of its claim");
    five.hears(1_910, 2, Message::Ack(epoch(1), 2, Mark::FIRST));
    assert_eq!(five.0.leads(at(2_509)), Some(epoch(1)), "two have answered the second or a later");
    assert_eq!(five.0.leads(at(2_510)), None);
}

#[test]
fn an_answer_to_a_round_that_has_not_begun_gives_nothing() {
    let mut three = Story::of_a_leader();
    let stale = "ignored 1: it belongs to something that is over";
    assert_eq!(three.hears(1_330, 1, Message::Ack(epoch(1), 2, Mark::FIRST)), stale);
    assert_eq!(three.0.leads(at(2_310)), None);
}

#[test]
fn an_answer_to_a_round_whose_lease_would_be_over_gives_nothing() {
    let mut three = Story::of_a_leader();
    three.hears(1_330, 1, LEADS);
    for round in 0..4 {
        three.at(1_520 + round * 200, Input::Wake);
    }
    three.hears(2_200, 2, Message::Ack(epoch(1), 4, Mark::FIRST));
    assert_eq!(three.0.leads(at(2_919)), Some(epoch(1)), "the round of 1920");
    three.hears(2_210, 1, Message::Ack(epoch(1), 2, Mark::FIRST));
    assert_eq!(three.0.leads(at(2_920)), None, "an earlier one shortens nothing");
}

/// A cluster of one needs no answer.
#[test]
fn the_only_voter_leads_and_renews_its_lease() {
    let members = Members::of_any_size([id(1)]);
    let mut one = Story(
        Node::new(Config { id: id(1), members, timing: Timing::DEFAULT }, founder(), 0)
            .expect("valid"),
    );
    one.at(0, Input::Boot);
    for now in 1..5_000 {
        one.at(now, Input::Wake);
        assert!(now < 2_000 || one.0.leads(at(now)).is_some(), "it leads at {now}");
    }
}

/// The lease that a leader of five has, reckoned from all that was sent and heard.
struct Reckoning {
    lease: Duration,
    sent: Vec<Time>,
    answered: BTreeMap<NodeId, u64>,
    until: Time,
}

impl Reckoning {
    fn hears(&mut self, from: NodeId, round: u64) {
        let latest = self.answered.entry(from).or_default();
        *latest = round.max(*latest);
        let mut latest: Vec<_> = self.answered.values().copied().collect();
        latest.sort_unstable();
        // With the leader, two of the others are a majority of five.
        let Some(second) = latest.iter().rev().nth(1) else { return };
        let Some(sent) = second.checked_sub(1).and_then(|at| self.sent.get(at as usize)) else {
            return;
        };
        self.until = self.until.max(*sent + self.lease);
    }
}

proptest! {
    /// The lease is never longer than the answers allow, and never shorter: whatever is late, lost
    /// or answered out of order.
    #[test]
    fn the_lease_is_that_of_the_latest_round_that_a_majority_has_answered(
        answers in prop::collection::vec((1_u16..=4, 0_usize..6, 1_u64..120), 1..200),
    ) {
        let members = Members::new((1..=5).map(id)).expect("valid");
        let config = Config { id: id(5), members, timing: Timing::DEFAULT };
        let mut five: Node<Quorum> = Node::new(config, founder(), 0).expect("valid");
        let mut now = 0;
        let tell = |five: &mut Node<Quorum>, now: u64, input| {
            five.handle(at(now), input);
            let sent = |output| match output {
                Output::Send { message: Message::Coordinator(_, round, _), .. } => Some(round),
                _ => None,
            };
            std::iter::from_fn(|| five.poll()).filter_map(sent).max()
        };
        for (at, input) in [
            (0, Input::Boot),
            (1_200, Input::Wake),
            (1_300, Input::Wake),
            (1_310, Input::Receive { from: id(1), message: Message::Support(epoch(1)) }),
            (1_310, Input::Receive { from: id(2), message: Message::Support(epoch(1)) }),
            (1_310, Input::Receive { from: id(1), message: Message::Grant(epoch(1), Birth::FOUNDER) }),
            (1_310, Input::Receive { from: id(2), message: Message::Grant(epoch(1), Birth::FOUNDER) }),
        ] {
            now = at;
            tell(&mut five, at, input);
        }
        let lease = Timing::DEFAULT.lease;
        let (sent, answered) = (vec![at(now)], BTreeMap::new());
        let mut reckoning = Reckoning { lease, sent, answered, until: at(now) + lease };
        for (from, back, later) in answers {
            for _ in 0..later {
                now += 1;
                if let Some(round) = tell(&mut five, now, Input::Wake) {
                    prop_assert_eq!(round as usize, reckoning.sent.len() + 1);
                    reckoning.sent.push(at(now));
                }
            }
            if five.status().role != Role::Leader {
                prop_assert!(reckoning.until <= at(now), "it gave up a lease that lasted");
                return Ok(());
            }
            let Some(round) = reckoning.sent.len().checked_sub(back).filter(|&round| round > 0)
            else {
                continue;
            };
            let message = Message::Ack(epoch(1), round as u64, Mark::FIRST);
            tell(&mut five, now, Input::Receive { from: id(from), message });
            reckoning.hears(id(from), round as u64);
            let last = reckoning.until.since(Time::ZERO).as_millis() as u64 - 1;
            prop_assert_eq!(five.leads(at(last)), Some(epoch(1)));
            prop_assert_eq!(five.leads(reckoning.until), None);
        }
    }
}

/// How often leader and follower lose the leader in a minute. A message takes `one_way`
/// milliseconds, and from the tenth second on `later`.
fn leaders_lost(one_way: u64, later: u64, timing: Timing) -> usize {
    let members = Members::new([1, 2].map(id)).expect("valid");
    let mut nodes = [1, 2].map(|number| {
        let config = Config { id: id(number), members: members.clone(), timing };
        Node::<Quorum>::new(config, founder(), 0).expect("valid")
    });
    let mut flights: Vec<(u64, usize, Input<Message>)> =
        vec![(0, 0, Input::Boot), (0, 1, Input::Boot)];
    let (mut led, mut lost) = (false, 0);
    for now in 0..60_000 {
        let due: Vec<_> = flights.extract_if(.., |flight| flight.0 <= now).collect();
        let wakes = [0, 1].map(|to| (now, to, Input::Wake));
        for (_, to, input) in due.into_iter().chain(wakes) {
            nodes[to].handle(at(now), input);
            while let Some(output) = nodes[to].poll() {
                if let Output::Send { to: other, message } = output {
                    let message = Input::Receive { from: id(to as u16 + 1), message };
                    let takes = if now < 10_000 { one_way } else { later };
                    flights.push((now + takes, usize::from(other.get()) - 1, message));
                }
            }
        }
        let leads = nodes.iter().any(|node| node.leads(at(now)).is_some());
        lost += usize::from(led && !leads);
        led = leads;
    }
    assert!(led || lost > 0, "no node has led with {one_way} ms one way");
    lost
}

#[test]
fn a_leader_keeps_its_lease_while_a_round_trip_is_shorter_than_the_lease_without_a_round() {
    let timing = Timing::DEFAULT;
    let longest = timing.longest_round_trip().as_millis() as u64;
    assert_eq!(longest, 800, "a lease without a round");
    for round_trip in (20..longest).step_by(20).chain([longest - 2]) {
        assert_eq!(leaders_lost(5, round_trip / 2, timing), 0, "{round_trip} ms");
    }
    assert!(leaders_lost(5, longest / 2 + 1, timing) > 0, "the bound is no larger");
    let seldom = Timing { round: ms(450), ..timing };
    let longest = seldom.longest_round_trip().as_millis() as u64;
    assert_eq!(longest, 500, "half a lease: two rounds wait at a time");
    assert_eq!(leaders_lost(5, longest / 2 - 1, seldom), 0);
}

/// The first lease counts from the claim, and the first round follows the grants.
#[test]
fn a_node_comes_to_lead_while_two_round_trips_are_shorter_than_the_lease() {
    let timing = Timing { election: ms(900), coordinator: ms(2_700), ..Timing::DEFAULT };
    for one_way in (5..250).step_by(5).chain([249]) {
        assert_eq!(leaders_lost(one_way, one_way, timing), 0, "{one_way} ms one way");
    }
    assert!(leaders_lost(251, 251, timing) > 0, "the bound is no larger");
}
