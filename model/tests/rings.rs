//! What elections on the two rings cost, and which time-outs are enough.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Limits, Options, Verdict};
use bellwether_model::machine::machine;
use bellwether_model::property::TIMEOUTS_ACCURATE;
use bellwether_model::protocol::chang_roberts::ChangRoberts;
use bellwether_model::protocol::list_ring::ListRing;
use bellwether_model::protocol::{Protocol, enough, variant};
use bellwether_model::tune::{self, Question};
use bellwether_model::world::{Delay, Durations, Scenario, Start, Timed, World};

/// The named variant, with rules replaced as on the command line: `skip=false t_lap=true`.
fn rules<P: Protocol>(name: &str, overrides: &str) -> P {
    let one = |rule: &str| {
        let (name, value) = rule.split_once('=').expect("rule=value");
        (name.to_owned(), value.to_owned())
    };
    variant(name, &overrides.split_whitespace().map(one).collect::<Vec<_>>()).expect("it exists")
}

fn most<P: Protocol>(rules: P, scenario: Scenario, name: &str) -> Option<u64> {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let costs = bounds(&world, Until::Rest, (Limits::NONE, 2), &mut |_| {}).expect("threads");
    assert!(costs.incomplete.is_none());
    let line = costs.lines.iter().find(|line| line.name() == name);
    match &line.unwrap_or_else(|| panic!("{name} is not counted")).bound {
        Bound::Most(most, _) => Some(*most),
        Bound::Unbounded(_) => None,
    }
}

fn crashes(nodes: usize, crashes: u8) -> Scenario {
    Scenario::calm(nodes).with_crashes(crashes, 0)
}

fn cold(nodes: usize) -> Scenario {
    Scenario { start: Start::Cold, ..Scenario::calm(nodes) }
}

/// No process is down, and one process believes the leader to be.
fn one_starter(nodes: usize) -> Scenario {
    let mut scenario = Scenario::calm(nodes);
    scenario.faults.suspicions = 1;
    scenario
}

/// Chang and Roberts 1979: the k-th highest id travels over n - k + 1 links at worst.
#[test]
fn the_ring_of_ids_costs_what_the_paper_counts() {
    let ring = |order: &str| rules::<ChangRoberts>("published", order);
    for n in 2..=5_u64 {
        let nodes = n as usize;
        let worst = |rules, scenario| most(rules, scenario, "messages").expect("a bound");
        assert_eq!(worst(ring("order=descending"), cold(nodes)), n * (n + 1) / 2 + n);
        assert_eq!(worst(ring("order=ascending"), cold(nodes)), 3 * n - 1);
        for order in ["order=ascending", "order=descending"] {
            assert_eq!(worst(ring(order), one_starter(nodes)), 3 * n - 1);
            assert_eq!(most(ring(order), cold(nodes), "messages/coordinator"), Some(n));
        }
    }
}

/// Lists do not merge: each costs a lap, and an announcement.
#[test]
fn the_ring_of_lists_costs_two_laps_for_each_starter() {
    let ring = rules::<ListRing>("tanenbaum", "skip=false");
    for n in 2..=4_u64 {
        assert_eq!(most(ring, cold(n as usize), "messages"), Some(2 * n * n));
        assert_eq!(most(ring, one_starter(n as usize), "messages"), Some(2 * n));
    }
}

/// A heartbeat repeats for as long as no process notices a crash, which is a question of clocks.
#[test]
fn the_repaired_rings_elect_a_bounded_number_of_times_but_repeat_heartbeats() {
    fn bounded<P: Protocol>() {
        let ring = rules::<P>("recommended", "");
        assert_eq!(most(ring, crashes(3, 1), "messages/coordinator"), None);
        assert_eq!(most(ring, crashes(3, 1), "elections"), Some(2));
    }
    bounded::<ChangRoberts>();
    bounded::<ListRing>();
}

/// The durations that are said to be enough are the shortest.
#[test]
fn the_time_outs_that_are_enough_are_the_shortest_that_are_accurate() {
    fn shortest<P: Protocol>() {
        let rules = rules::<P>("recommended", "");
        let named =
            |name: &str| enough::<P>().into_iter().find(|known| known.0 == name).expect("one");
        let given = ["t-detect", "t-heartbeat"].map(named);
        let durations = Durations::of(given).expect("possible");
        let question = Question {
            sought: tune::time_outs(&*machine(rules)),
            rules: machine(rules),
            scenario: crashes(3, 1),
            given: Timed::of(Delay::AtMost(1), durations),
            property: TIMEOUTS_ACCURATE.to_owned(),
            most: 12,
            options: Options::default(),
        };
        let row = question.row(1, 0, &mut |_, _, _| {}).expect("possible");
        assert_eq!(row.periods, Some(Verdict::Holds), "{}", P::NAME);
        for (name, ticks) in ["t-hop", "t-lap"].map(named) {
            assert_eq!(row.ticks(name), Some(ticks), "{} {name}", P::NAME);
        }
    }
    shortest::<ChangRoberts>();
    shortest::<ListRing>();
}
