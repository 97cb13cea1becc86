//! What the checker decides about the two rings, what their elections cost, and what is lost
//! without each rule of the repaired rings.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Limits, Options, Report, Verdict, check};
use bellwether_model::machine::machine;
use bellwether_model::property::{self, Property, TIMEOUTS_ACCURATE};
use bellwether_model::protocol::chang_roberts::ChangRoberts;
use bellwether_model::protocol::list_ring::ListRing;
use bellwether_model::protocol::{Protocol, enough, variant};
use bellwether_model::tune::{self, Question};
use bellwether_model::world::{Delay, Durations, Faults, Scenario, Start, Timed, World};

/// The named variant, with rules replaced as on the command line: `skip=false t_lap=true`.
fn rules<P: Protocol>(name: &str, overrides: &str) -> P {
    let one = |rule: &str| {
        let (name, value) = rule.split_once('=').expect("rule=value");
        (name.to_owned(), value.to_owned())
    };
    variant(name, &overrides.split_whitespace().map(one).collect::<Vec<_>>()).expect("it exists")
}

fn ask<P: Protocol>(rules: P, scenario: Scenario, asked: &[Property]) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    check(&world, asked, &Options::default(), &mut |_| {}).expect("something is asked")
}

/// What is violated, of everything that is asked when nothing is named.
fn violated<P: Protocol>(rules: P, scenario: Scenario) -> Vec<&'static str> {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let usual = property::select(&world, &[]).expect("all exist");
    let report = ask(rules, scenario, &usual);
    assert!(report.decisions.iter().all(|d| d.verdict != Verdict::Unknown), "undecided");
    let bad = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    bad.map(|d| d.property.name).collect()
}

fn report<P: Protocol>(rules: P, scenario: Scenario, name: &str) -> Report {
    let mut known = property::all::<P>().into_iter().chain(property::timed());
    ask(rules, scenario, &[known.find(|p| p.name == name).expect("the property exists")])
}

fn holds<P: Protocol>(rules: P, scenario: Scenario, name: &str) -> bool {
    match report(rules, scenario, name).verdict() {
        Verdict::Holds => true,
        Verdict::Violated => false,
        Verdict::HoldsWithin | Verdict::Unknown => panic!("{name} is not decided"),
    }
}

/// The steps of the counterexample, in words.
fn story<P: Protocol>(rules: P, scenario: Scenario, name: &str) -> Vec<String> {
    let report = report(rules, scenario, name);
    let found = report.decisions[0].counterexample.as_ref().expect("it is violated");
    found.steps.iter().map(ToString::to_string).collect()
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

fn with(nodes: usize, change: impl FnOnce(&mut Faults)) -> Scenario {
    let mut scenario = Scenario::calm(nodes);
    change(&mut scenario.faults);
    scenario
}

fn crashes(nodes: usize, crashes: u8) -> Scenario {
    Scenario::calm(nodes).with_crashes(crashes, 0)
}

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);

fn cold(nodes: usize) -> Scenario {
    Scenario { start: Start::Cold, ..Scenario::calm(nodes) }
}

/// No process is down, and one process believes the leader to be.
fn one_starter(nodes: usize) -> Scenario {
    with(nodes, |f| f.suspicions = 1)
}

fn crash_and_suspicion() -> Scenario {
    with(3, |f| (f.crashes, f.suspicions) = (1, 1))
}

fn crash_and_loss() -> Scenario {
    with(3, |f| (f.crashes, f.losses) = (1, 1.into()))
}

fn and(mut scenario: Scenario, change: impl FnOnce(&mut Faults)) -> Scenario {
    change(&mut scenario.faults);
    scenario
}

const LASTING: [&str; 5] = ["agreement", "validity", "decided", "stabilises", "laps-end"];

/// What is violated, and does not have to be for a moment only.
fn lasting<P: Protocol>(rules: P, scenario: Scenario) -> Vec<&'static str> {
    let mut bad = violated(rules, scenario);
    bad.retain(|name| LASTING.contains(name));
    bad
}

fn repaired_rings_hold_everything_when_processes_stop_for_good<P: Protocol>() {
    for scenario in [crashes(2, 1), crashes(3, 2), crashes(4, 1), cold(3), one_starter(3)] {
        assert_eq!(
            violated(rules::<P>("recommended", ""), scenario),
            [""; 0],
            "{} {scenario}",
            P::NAME
        );
    }
}

#[test]
fn the_repaired_rings_hold_everything_when_processes_stop_for_good() {
    repaired_rings_hold_everything_when_processes_stop_for_good::<ChangRoberts>();
    repaired_rings_hold_everything_when_processes_stop_for_good::<ListRing>();
}

/// Two leaders for a moment, where a live process was skipped or has recovered: no more than that.
#[test]
fn what_lasts_holds_in_the_repaired_rings_whatever_is_lost_or_comes_back() {
    let moments = ["at-most-one-leader", "follower-bound"];
    let (ids, lists) = (ChangRoberts::RECOMMENDED, ListRing::RECOMMENDED);
    assert_eq!(violated(ids, CRASH_AND_RECOVERY), [""; 0]);
    assert_eq!(violated(lists, CRASH_AND_RECOVERY), moments);
    for scenario in [crash_and_loss(), crash_and_suspicion()] {
        assert_eq!(violated(ids, scenario), moments[..1], "{scenario}");
        assert_eq!(violated(lists, scenario), moments[..1], "{scenario}");
    }
}

/// The paper knows no failures, and a ring with a hole is none.
#[test]
fn as_published_the_first_crash_of_a_leader_leaves_nobody_to_lead() {
    let published = rules::<ChangRoberts>("published", "");
    assert_eq!(violated(published, cold(3)), [""; 0]);
    assert_eq!(violated(published, crashes(3, 1)), ["decided", "stabilises", "succession"]);
    let story = story(published, crashes(3, 1), "decided");
    assert_eq!(story.len(), 4, "{story:?}");
}

/// A process that has acknowledged a message crashes before it has got past the dead one.
#[test]
fn a_lap_dies_with_whoever_holds_it_and_only_t_lap_brings_another() {
    fn dies<P: Protocol>(name: &str) {
        assert_eq!(lasting(rules::<P>(name, ""), crashes(3, 1)), [""; 0]);
        assert_eq!(lasting(rules::<P>(name, ""), crashes(3, 2)), ["decided", "stabilises"]);
        assert_eq!(lasting(rules::<P>(name, "t_lap=true"), crashes(3, 2)), [""; 0]);
    }
    dies::<ChangRoberts>("lesson-robust");
    dies::<ListRing>("tanenbaum");
    dies::<ListRing>("clustering");
    dies::<ListRing>("lecture");
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

#[test]
fn lists_that_go_round_at_the_same_time_agree_unless_somebody_comes_back_in_between() {
    for name in ["tanenbaum", "clustering", "lecture"] {
        let ring = rules::<ListRing>(name, "");
        assert!(holds(ring, crashes(3, 1), "one-result"), "{name}");
        assert!(!holds(ring, CRASH_AND_RECOVERY, "one-result"), "{name}");
        assert!(!holds(ring, CRASH_AND_RECOVERY, "agreement"), "{name}: and it lasts");
    }
    assert!(holds(rules::<ListRing>("tanenbaum", ""), cold(3), "one-result"));
    assert!(holds(ListRing::RECOMMENDED, CRASH_AND_RECOVERY, "agreement"));
}

#[test]
fn the_own_properties_hold_somewhere_and_fail_somewhere() {
    let robust = rules::<ChangRoberts>("lesson-robust", "");
    assert!(!holds(robust, crash_and_suspicion(), "laps-end"));
    assert!(holds(ChangRoberts::RECOMMENDED, crash_and_suspicion(), "laps-end"));
    assert!(!holds(robust, crash_and_suspicion(), "announcements-end"));
    assert!(holds(ChangRoberts::RECOMMENDED, crash_and_suspicion(), "announcements-end"));
    assert!(holds(robust, crashes(3, 1), "only-the-highest-leads"));
    assert!(!holds(robust, CRASH_AND_RECOVERY, "only-the-highest-leads"));

    let lecture = rules::<ListRing>("lecture", "");
    assert!(!holds(lecture, crash_and_suspicion(), "laps-end"));
    assert!(holds(ListRing::RECOMMENDED, crash_and_suspicion(), "laps-end"));
    assert!(holds(lecture, crashes(3, 1), "announces-the-living"));
    assert!(!holds(lecture, crash_and_suspicion(), "announces-the-living"));
}

/// What is lost when one rule of the repaired ring is replaced, and in which world.
fn is_lost_without<P: Protocol>(rule: &str, scenario: Scenario, lost: &[&str]) {
    let with = violated(rules::<P>("recommended", ""), scenario);
    let mut without = violated(rules::<P>("recommended", rule), scenario);
    without.retain(|name| !with.contains(name));
    assert_eq!(without, lost, "{} {rule} {scenario}", P::NAME);
}

#[test]
fn each_rule_of_the_repaired_ring_of_ids_is_needed() {
    let lost = is_lost_without::<ChangRoberts>;
    lost("skip=false", crashes(3, 1), &["stabilises", "succession"]);
    lost("orphans=circulate", crashes(3, 1), &["stabilises", "laps-end"]);
    lost("t_lap=false", crashes(3, 2), &["decided", "stabilises"]);
    lost("accept=any", CRASH_AND_RECOVERY, &["validity", "stabilises"]);
    lost("watch=answer", CRASH_AND_RECOVERY, &["validity", "decided", "stabilises"]);
    lost("restart=election", CRASH_AND_RECOVERY, &["follower-bound"]);
    let duplicate = |f: &mut Faults| f.duplicates = 1;
    lost("home=any", and(CRASH_AND_RECOVERY, duplicate), &["at-most-one-leader"]);
}

#[test]
fn each_rule_of_the_repaired_ring_of_lists_is_needed() {
    let lost = is_lost_without::<ListRing>;
    lost("skip=false", crashes(3, 1), &["stabilises", "succession"]);
    lost("orphans=circulate", crashes(3, 1), &["stabilises", "laps-end"]);
    lost("t_lap=false", crashes(3, 2), &["decided", "stabilises"]);
    lost("accept=any", CRASH_AND_RECOVERY, &["validity", "stabilises"]);
    lost("watch=answer", CRASH_AND_RECOVERY, &["agreement", "validity", "decided", "stabilises"]);
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
        let row = question.row((1, 0), &mut |_, _, _| {}).expect("possible");
        assert_eq!(row.periods, Some(Verdict::Holds), "{}", P::NAME);
        for (name, ticks) in ["t-hop", "t-lap"].map(named) {
            assert_eq!(row.ticks(name), Some(ticks), "{} {name}", P::NAME);
        }
    }
    shortest::<ChangRoberts>();
    shortest::<ListRing>();
}
