//! What the checker decides about Raft's election: what votes and terms keep whatever happens, and
//! which of the later rules keep a leader stable where not every link works.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Decision, Limits, Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::raft_election::{RaftElection, Storage};
use bellwether_model::world::{Faults, Heals, Missing, Scenario, Start, Timing, World};

#[path = "raft_election/chances.rs"]
mod chances;
#[path = "raft_election/links.rs"]
mod links;
#[path = "raft_election/names.rs"]
mod names;
#[path = "raft_election/recoveries.rs"]
mod recoveries;
#[path = "raft_election/time_outs.rs"]
mod time_outs;

use links::Fate;

const SAFETY: [&str; 3] = ["election-safety", "votes-stand", "majority-behind"];

fn world(rules: RaftElection, scenario: Scenario) -> World {
    World::new(rules, scenario).expect("the scenario is possible")
}

fn report(rules: RaftElection, scenario: Scenario, names: &[&str]) -> Report {
    let world = world(rules, scenario);
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let properties = property::select(&world, &names).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn decision<'r>(report: &'r Report, name: &str) -> &'r Decision {
    let found = report.decisions.iter().find(|d| d.property.name == name);
    found.unwrap_or_else(|| panic!("{name} was not checked"))
}

fn violated(report: &Report) -> Vec<&'static str> {
    let violated = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    violated.map(|d| d.property.name).collect()
}

fn variant(name: &str) -> RaftElection {
    RaftElection::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn without(link: &str) -> Scenario {
    Scenario { missing: link.parse().expect("a link"), ..Scenario::calm(3) }
}

/// Worlds in which every dial is turned.
fn worlds() -> Vec<Scenario> {
    let fault = |faults| Scenario { faults, ..Scenario::calm(3) };
    vec![
        Scenario::calm(2).with_crashes(1, 1),
        Scenario::calm(3).with_crashes(1, 1),
        fault(Faults { suspicions: 2, ..Faults::NONE }),
        fault(Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE }),
        fault(Faults { losses: 1.into(), duplicates: 1, suspicions: 1, ..Faults::NONE }),
        Scenario {
            heals: Heals::Must,
            capacity: Some(2),
            ..fault(Faults { cuts: 1, ..Faults::NONE })
        },
        Scenario { start: Start::Cold, ..Scenario::calm(4) },
        Scenario { timing: Timing::Asynchronous, capacity: Some(1), ..Scenario::calm(2) },
    ]
}

#[test]
fn terms_and_votes_that_outlast_crashes_keep_the_paper_s_safety_by_any_rules() {
    for variant in RaftElection::VARIANTS {
        for scenario in worlds() {
            let report = report(variant.rules, scenario, &SAFETY);
            assert_eq!(violated(&report), [""; 0], "{}: {scenario}", variant.name);
            for name in ["election-safety", "majority-behind"] {
                let verdict = decision(&report, name).verdict;
                let all = report.bounds_met.is_empty();
                let kept = if all { Verdict::Holds } else { Verdict::HoldsWithin };
                assert_eq!(verdict, kept, "{}: {name}: {scenario}", variant.name);
            }
        }
    }
}

#[test]
fn a_vote_that_a_crash_wipes_out_is_given_twice() {
    let faults = Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE };
    let scenario = Scenario { start: Start::Cold, faults, ..Scenario::calm(3) };
    let outcome = |storage| {
        let rules = RaftElection { storage, ..RaftElection::PAPER };
        violated(&report(rules, scenario, &SAFETY))
    };
    assert_eq!(outcome(Storage::Durable), [""; 0]);
    assert_eq!(outcome(Storage::ForgetsVote), SAFETY);
    assert_eq!(outcome(Storage::ForgetsAll), SAFETY);
}

#[test]
fn new_names_for_terms_change_nothing() {
    let forgetful = RaftElection { storage: Storage::ForgetsAll, ..RaftElection::PAPER };
    let faults = Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE };
    let hub = ["2-3", "1-4", "2-4", "3-4"].map(|link| link.parse::<Missing>().expect("a link"));
    let missing = hub.into_iter().fold(Missing::NONE, Missing::and);
    let worlds = [
        (RaftElection::PAPER, without("1-3")),
        (forgetful, Scenario { faults, ..without("1-3") }),
        (variant("etcd-prevote"), without("1-3")),
        (RaftElection::PAPER, Scenario { missing, ..Scenario::calm(4) }),
        (variant("check-quorum"), Scenario { missing, start: Start::Cold, ..Scenario::calm(4) }),
    ];
    let different = worlds.map(|(rules, scenario)| names::walk(rules, scenario, 5_000));
    assert!(different.iter().all(|&pairs| pairs > 100), "{different:?}");
}

/// Where it hears the leader again, its own higher term keeps it from following, and who hears the
/// leader ignores its requests.
#[test]
fn who_raised_its_term_alone_comes_back_only_if_it_is_answered() {
    let faults = Faults { cuts: 2, ..Faults::NONE };
    let scenario = Scenario { faults, heals: Heals::Must, capacity: Some(2), ..Scenario::calm(3) };
    let verdict = |answer_lower| {
        let rules = RaftElection { answer_lower, ..variant("sticky") };
        decision(&report(rules, scenario, &["settles"]), "settles").verdict
    };
    assert_eq!(verdict(false), Verdict::Violated);
    assert_eq!(verdict(true), Verdict::HoldsWithin, "its term may grow beyond the boundary");
    let everything = report(RaftElection::RECOMMENDED, scenario, &["settles"]);
    assert_ne!(everything.verdict(), Verdict::Violated);
}

/// One canvass, one election, one announcement: each message goes to all others, and all who are up
/// answer.
#[test]
fn a_crash_of_the_leader_costs_what_the_formulas_say() {
    for nodes in [3, 4] {
        let n = nodes as u64;
        for (name, formula) in [("paper", 3 * n - 4), ("recommended", 5 * n - 7)] {
            let world = world(variant(name), Scenario::calm(nodes).with_crashes(1, 0));
            let limits = (Limits::NONE, 1);
            let found = bounds(&world, Until::Rest, limits, &mut |_| {}).expect("counted");
            let line = found.lines.iter().find(|line| line.name() == "messages");
            let most = line.map(|line| &line.bound);
            assert!(matches!(most, Some(Bound::Most(most, _)) if *most == formula), "{name}");
        }
    }
}
