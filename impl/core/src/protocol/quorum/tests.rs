//! The stories are scripts in `testdata`. Here is what no script tells: stories with many
//! parameters, the lease by a reckoning of its own, and what is wrong with a configuration.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::changes::{Lists, is_majority};
use super::{Config, Mark, Message, Preemption, Quorum, Timing};
use crate::protocol::stories::{Nodes, Scripted, id};
use crate::protocol::{
    Birth, Core, DurationError, Epoch, Input, Members, Node, NodeId, Output, Role, Time,
};
use crate::stories::{self, tell};

impl Scripted for Quorum {
    fn configured(id: NodeId, members: Members) -> Config {
        Config { id, members, timing: Timing::DEFAULT }
    }

    fn set(config: &mut Config, key: &str, value: &str) -> Option<()> {
        let timing = &mut config.timing;
        if key == "preemption" {
            let named = Preemption::NAMES.into_iter().find(|(name, _)| *name == value);
            timing.preemption = named?.1;
            return Some(());
        }
        let duration = match key {
            "round" => &mut timing.round,
            "lease" => &mut timing.lease,
            "promise" => &mut timing.promise,
            "election" => &mut timing.election,
            "coordinator" => &mut timing.coordinator,
            "dwell" => &mut timing.dwell,
            _ => return None,
        };
        *duration = ms(value.parse().ok()?);
        Some(())
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<Quorum>>("src/protocol/quorum/testdata");
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + ms(milliseconds)
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// These nodes, which have started.
fn started(nodes: &str) -> Nodes<Quorum> {
    let mut started = Nodes::default();
    tell(&mut started, &format!("node {nodes}\nat 0 boot"));
    started
}

/// How many of these lines say something.
fn count(told: &[String], what: &str) -> usize {
    told.iter().filter(|line| line.contains(what)).count()
}

#[test]
fn the_last_leader_leads_again_whenever_the_network_comes_back() {
    let mut led_by_1 = started("1,2,3");
    tell(&mut led_by_1, "delay 5\nrun 2000\n3 at 2000 request yield(1)\nrun 500");
    for outage in (1_000..6_000).step_by(37) {
        let (mut nodes, end) = (led_by_1.clone(), 2_500 + outage + 4_000);
        tell(&mut nodes, &format!("run {outage} mute=1,2,3\nrun 4000"));
        let leads = tell(&mut nodes, &format!("1 leads {end}"));
        assert_eq!(count(&leads, "epoch"), 1, "after an outage of {outage} ms: {leads:?}");
    }
}

#[test]
fn in_each_election_the_member_leads_that_comes_first_and_after_it_the_second() {
    let orders = [[3, 2], [2, 3], [1, 3], [3, 1], [2, 1], [1, 2]];
    for (election, [first, second]) in orders.into_iter().enumerate() {
        let mut nodes = started(&format!("1,2,3 order={election}"));
        let mut led = tell(&mut nodes, &format!("run 1400\n{first} leads 1400"));
        led.extend(tell(&mut nodes, &format!("crash {first}\nrun 1750\n{second} leads 3150")));
        assert_eq!(count(&led, "leads: epoch"), 2, "{election}: {led:?}");
    }
}

/// How often a leader of two loses its lease in a minute. A message takes `one_way` milliseconds,
/// and from the tenth second on `later`.
fn leases_lost(one_way: u64, later: u64, timing: &str) -> usize {
    let mut nodes = started(&format!("1,2 members=1,2 {timing}"));
    let minute = format!("delay {one_way}\nrun 10000\ndelay {later}\nrun 50000");
    let told = tell(&mut nodes, &minute);
    assert!(count(&told, "becomes leader") > 0, "no node has led with {one_way} ms one way");
    count(&told, "leader becomes")
}

#[test]
fn a_leader_keeps_its_lease_while_a_round_trip_is_shorter_than_the_lease_without_a_round() {
    let timing = Timing::DEFAULT;
    let longest = timing.longest_round_trip().as_millis() as u64;
    assert_eq!(longest, 800, "a lease without a round");
    for round_trip in (20..longest).step_by(20).chain([longest - 2]) {
        assert_eq!(leases_lost(5, round_trip / 2, ""), 0, "{round_trip} ms");
    }
    assert!(leases_lost(5, longest / 2 + 1, "") > 0, "the bound is no larger");
    let longest = Timing { round: ms(450), ..timing }.longest_round_trip().as_millis() as u64;
    assert_eq!(longest, 500, "half a lease: two rounds wait at a time");
    assert_eq!(leases_lost(5, longest / 2 - 1, "round=450"), 0);
}

/// The first lease counts from the claim, and the first round follows the grants.
#[test]
fn a_node_comes_to_lead_while_two_round_trips_are_shorter_than_the_lease() {
    let timing = "election=900 coordinator=2700";
    for one_way in (5..250).step_by(5).chain([249]) {
        assert_eq!(leases_lost(one_way, one_way, timing), 0, "{one_way} ms one way");
    }
    assert!(leases_lost(251, 251, timing) > 0, "the bound is no larger");
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
        let (epoch, members) = (Epoch::new(1), Members::new((1..=5).map(id)).expect("valid"));
        let config = Quorum::configured(id(5), members);
        let mut five = Node::<Quorum>::new(config, Quorum::founder(), 0).expect("valid");
        let mut now = 0;
        let tell = |five: &mut Node<Quorum>, now: u64, input| {
            five.handle(at(now), input);
            let sent = |output| match output {
                Output::Send { message: Message::Coordinator(_, round, _), .. } => Some(round),
                _ => None,
            };
            std::iter::from_fn(|| five.poll()).filter_map(sent).max()
        };
        let (support, grant) = (Message::Support(epoch), Message::Grant(epoch, Birth::FOUNDER));
        for (at, input) in [
            (0, Input::Boot),
            (1_200, Input::Wake),
            (1_300, Input::Wake),
            (1_310, Input::Receive { from: id(1), message: support.clone() }),
            (1_310, Input::Receive { from: id(2), message: support }),
            (1_310, Input::Receive { from: id(1), message: grant.clone() }),
            (1_310, Input::Receive { from: id(2), message: grant }),
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
            let message = Message::Ack(epoch, round as u64, Mark::FIRST);
            tell(&mut five, now, Input::Receive { from: id(from), message });
            reckoning.hears(id(from), round as u64);
            let last = reckoning.until.since(Time::ZERO).as_millis() as u64 - 1;
            prop_assert_eq!(five.leads(at(last)), Some(epoch));
            prop_assert_eq!(five.leads(reckoning.until), None);
        }
    }
}

#[test]
fn a_promise_that_a_lease_may_outlast_is_refused_with_the_numbers() {
    let timing = Timing { promise: ms(1_010), ..Timing::DEFAULT };
    let Err(DurationError::Conflict(conflict)) = timing.validate() else {
        panic!("{timing:?} is refused")
    };
    let text = conflict.to_string();
    for part in ["quorum.promise", "1.01s", "quorum.lease", "1s", "try 1.02020202"] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
    let enough = Timing { promise: conflict.remedy, ..timing };
    assert_eq!(enough.validate(), Ok(()));
    let clocks = Timing { drift_ppm: 1_000_000, ..Timing::DEFAULT };
    assert!(clocks.validate().is_err(), "no promise is long enough for such clocks");
}

/// Nobody knows which of its two lives a node was in when it granted an epoch.
#[test]
fn a_voter_with_two_births_in_two_lists_counts_in_no_majority() {
    let decided = Members::new([1, 2, 3].map(id)).expect("valid");
    let pending = Some(decided.clone().letting_in(id(3), Birth::random(7)));
    let lists = Lists { decided, pending, mark: Mark::FIRST };
    let counts = |these: [u16; 2]| is_majority(&lists, |node| these.map(id).contains(&node));
    assert_eq!([[1, 2], [1, 3], [2, 3]].map(counts), [true, false, false]);
}
