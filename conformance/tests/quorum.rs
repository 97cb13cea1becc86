//! The quorum bully's core against its model, in each way to take over from a leader; and what no
//! walk asks for.

use bellwether_conformance::mapping;
use bellwether_conformance::mapping::quorum::Variant;
use bellwether_core::protocol::{LeaseTerms, Members, NodeId};
use bellwether_model::check::{Options, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::quorum::{self as spec, Quorum};
use bellwether_model::protocol::{Id, Protocol, variant};
use bellwether_model::world::{Delay, Durations, Faults, Scenario, Timed, Timing, World};
use std::time::Duration;

use crate::compared::{self, scenario};

/// The program conforms in this world; every transition of the model was taken, and no timer
/// or message was left unmet, but for the second round that a leader waits for: while a majority
/// answers, there is none. These messages, or the request, come on the way.
#[track_caller]
fn conforms(variant: &'static Variant, flags: &str, walked: &[&str]) {
    let coverage = compared::conforms(&mapping::quorum::mapping(variant), scenario(flags)).coverage;
    let missing = coverage.missing.iter().filter(|&name| name != "timer later");
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "{flags}");
    for &name in walked {
        let met = coverage.messages.get(name).or_else(|| coverage.timers.get(name));
        assert!(met.is_some_and(|met| met.walked > 0), "{flags}: {name}: {coverage:?}");
    }
}

#[test]
fn a_leader_waits_for_two_rounds() {
    let world = scenario("--crashes 2");
    let coverage =
        compared::conforms(&mapping::quorum::mapping(&mapping::quorum::RECOMMENDED), world)
            .coverage;
    assert_eq!(coverage.missing, [""; 0]);
    let met = &coverage.timers["later"];
    assert!(met.walked + met.probed > 0, "{coverage:?}");
}

/// A higher process recovers, and takes over from the lower leader after a dwell time or at once:
/// the hand-over is on the way.
#[test]
fn a_higher_process_takes_over() {
    let handover = ["challenge", "yield", "entrust"];
    conforms(&mapping::quorum::PREEMPTIVE, "--recoveries 1", &handover);
    conforms(&mapping::quorum::AT_ONCE, "--recoveries 1", &handover);
    // Where there are two, the leader's grant is enough.
    let lossy = "--nodes 2 --recoveries 1 --losses 1";
    conforms(&mapping::quorum::PREEMPTIVE, lossy, &handover[..2]);
    conforms(&mapping::quorum::AT_ONCE, lossy, &handover[..2]);
}

/// A leader does what it is asked whenever that comes; if the node that is next is gone, the others
/// start an election.
#[test]
fn a_leader_hands_over_when_it_is_asked_to() {
    let asked = ["request"];
    conforms(&mapping::quorum::TRANSFERS, "--recoveries 1", &asked);
    conforms(&mapping::quorum::RESIGNS, "--recoveries 1", &asked);
    conforms(&mapping::quorum::STEPS_DOWN, "--recoveries 1", &asked);
    conforms(&mapping::quorum::STEPS_ASIDE, "--nodes 2 --recoveries 1", &asked);
}

/// A node joins, or one that has observed becomes a voter, and the others restart with the list
/// that says so; some do so before it has a leader.
#[test]
fn a_node_joins_or_becomes_a_voter() {
    conforms(&mapping::quorum::JOINS, "--crashes 2 --recoveries 2", &[]);
    conforms(&mapping::quorum::PROMOTES, "--crashes 2 --recoveries 2", &[]);
}

/// A node of three only observes, or votes and never leads: the highest, which would take over at
/// once otherwise, or the lowest, which is to lead instead. With two crashes, a process canvasses
/// without a majority.
#[test]
fn a_node_observes_or_is_a_witness() {
    conforms(&mapping::quorum::OBSERVED, "--recoveries 1", &[]);
    compared::conforms(
        &mapping::quorum::mapping(&mapping::quorum::OBSERVED),
        scenario("--crashes 0 --suspicions 1"),
    );
    conforms(&mapping::quorum::OVERLOOKS, "--recoveries 1", &[]);
    conforms(&mapping::quorum::WITNESSED, "--crashes 2 --recoveries 1", &[]);
    conforms(&mapping::quorum::DECLINES, "--crashes 2 --recoveries 1", &[]);
}

/// The variant says by which rules logs are judged, and what nodes have kept of a long run.
#[test]
fn what_no_walk_asks_for_is_taken_by_the_variant_too() {
    let any = mapping::quorum::mapping(&mapping::quorum::RECOMMENDED);
    let [lowest, highest] = [1, 2].map(|id| NodeId::new(id).expect("not zero"));
    let preemptive = mapping::quorum::mapping(&mapping::quorum::PREEMPTIVE);
    let own = spec::Quorum { transfer: Some(Id::at(0)), ..preemptive.rules };
    let founded = spec::Quorum { founding: spec::Founding::AllMet, ..own };
    assert_eq!(preemptive.log_rules(), founded);
    assert_ne!(preemptive.log_rules(), any.log_rules());

    let members = Members::new([lowest, highest]).expect("valid");
    let counters = &any.more.counters;
    let began = (counters.began)(highest, &members).expect("something");
    assert_eq!(Some(began.epoch.number()), counters.from.first().copied());
    let mut lowers = |_: usize, number: u64| number - counters.from[0];
    let mut names = mapping::Renaming::of_numbers(&mut lowers);
    let lowered = (counters.in_durable)(&began, &mut names);
    assert_eq!((any.stable)(&lowered), spec::Stable::default());
    let restarts = &any.more.restarts;
    let again = (restarts.program)(restarts.count - 1, highest, &members, &began);
    let written = again.expect("valid").written;
    assert!(written.is_some_and(|written| written.promise > began.promise));
}

/// The durations of every other node.
const LEASE: u8 = 5;
const LONG_PROMISE: u8 = 9;

fn terms(lease: u8, promise: u8) -> LeaseTerms {
    let [lease, promise] = [lease, promise].map(|ticks| Duration::from_secs(ticks.into()));
    LeaseTerms { lease, promise, drift_ppm: 0 }
}

/// Returns whether no two processes have a lease, where that of 2, which leads at first, rests on
/// 3, which only votes, and 1 asks 3 as well.
fn is_safe(lease_of_2: u8, promise_of_3: u8) -> bool {
    let usual = [
        ("t-round", 3),
        ("t-lease", LEASE),
        ("t-promise", LONG_PROMISE),
        ("t-elec", 3),
        ("t-backoff", 3),
        ("t-skew", 1),
    ];
    let durations = Durations::of(usual)
        .and_then(|all| all.with_own("t-lease", Id::at(1), lease_of_2))
        .and_then(|all| all.with_own("t-promise", Id::at(2), promise_of_3));
    let timed = Timed::of(Delay::AtMost(1), durations.expect("short names"));
    let scenario = Scenario {
        timing: Timing::Timed(timed),
        faults: Faults { cuts: 1, ..Faults::NONE },
        missing: "1-2".parse().expect("a link"),
        ..Scenario::calm(3)
    };
    let rules = [("outrank", "false"), ("witness", "3")];
    let rules = rules.map(|(rule, value)| (rule.to_owned(), value.to_owned()));
    let rules: Quorum = variant(Quorum::VARIANTS[0].name, &rules).expect("there are such rules");
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let asked = property::select(&world, &["one-lease-at-a-time".to_owned()]).expect("it exists");
    let report = check(&world, &asked, &Options::default(), &mut |_| {}).expect("it is asked");
    assert_ne!(report.verdict(), Verdict::Unknown);
    report.verdict() != Verdict::Violated
}

#[test]
fn nodes_talk_exactly_if_no_lease_of_one_outlasts_a_promise_of_the_other() {
    for (lease, promise) in [(5, 5), (6, 5), (6, 6), (7, 6), (5, 6)] {
        let (leads, votes) = (terms(lease, LONG_PROMISE), terms(LEASE, promise));
        assert_eq!(leads.fit(&votes), votes.fit(&leads));
        assert_eq!(leads.fit(&votes), is_safe(lease, promise), "{lease} {promise}");
    }
}
