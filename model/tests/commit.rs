//! What the checker decides about atomic commit with an elected coordinator: what is well known of
//! two- and three-phase commit, in both directions. Each property has rules or a world in which it
//! fails.

use bellwether_model::check::{Decision, Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::commit::{Heeds, Recovered, Silence, Steps};
use bellwether_model::protocol::three_phase_commit::ThreePhaseCommit;
use bellwether_model::protocol::two_phase_commit::TwoPhaseCommit;
use bellwether_model::protocol::{Id, Protocol};
use bellwether_model::world::{Budget, Faults, Scenario, Start, World};

const OWN: &[&str] = &["atomicity", "unanimity", "non-blocking"];

fn report<P: Protocol>(rules: P, scenario: Scenario, names: &[&str]) -> Report {
    report_by(rules, scenario, names, &Options::default())
}

fn report_by<P: Protocol>(
    rules: P,
    scenario: Scenario,
    names: &[&str],
    options: &Options,
) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let properties = property::select(&world, &names).expect("all exist");
    check(&world, &properties, options, &mut |_| {}).expect("something is asked")
}

fn violated(report: &Report) -> Vec<&'static str> {
    let violated = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    violated.map(|d| d.property.name).collect()
}

/// The properties of a commit that are violated; all others are proved.
fn fails<P: Protocol>(rules: P, scenario: Scenario) -> Vec<&'static str> {
    let found = report(rules, scenario, OWN);
    let known = |d: &Decision| matches!(d.verdict, Verdict::Holds | Verdict::Violated);
    assert!(found.decisions.iter().all(known), "{scenario}: not everything is decided");
    violated(&found)
}

fn variant<P: Protocol>(name: &str) -> P {
    P::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

const fn crashes(nodes: usize, crashes: u8, recoveries: u8) -> Scenario {
    Scenario::calm(nodes).with_crashes(crashes, recoveries)
}

fn cuts(nodes: usize, cuts: u8) -> Scenario {
    Scenario { faults: Faults { cuts, ..Faults::NONE }, ..Scenario::calm(nodes) }
}

fn suspicions(nodes: usize, suspicions: u8) -> Scenario {
    Scenario { faults: Faults { suspicions, ..Faults::NONE }, ..Scenario::calm(nodes) }
}

const TWO: TwoPhaseCommit = TwoPhaseCommit::COOPERATIVE;
const QUORUM: ThreePhaseCommit = ThreePhaseCommit::QUORUM;
const SKEEN: ThreePhaseCommit = ThreePhaseCommit::SKEEN;
const NOTHING: [&str; 0] = [];

#[test]
fn without_faults_all_commit_and_one_no_aborts() {
    let asked = ["commits", "atomicity", "unanimity", "non-blocking"];
    for nodes in [2, 3] {
        let calm = Scenario::calm(nodes);
        assert_eq!(violated(&report(TWO, calm, &asked)), NOTHING);
        assert_eq!(violated(&report(QUORUM, calm, &asked)), NOTHING);
        assert_eq!(violated(&report(SKEEN, calm, &asked)), NOTHING);
        for refuses in Id::all(nodes).map(Some) {
            let two = TwoPhaseCommit { refuses, ..TWO };
            assert_eq!(violated(&report(two, calm, &asked)), ["commits"]);
            let three = ThreePhaseCommit { refuses, ..QUORUM };
            assert_eq!(violated(&report(three, calm, &asked)), ["commits"]);
        }
    }
}

#[test]
fn two_phases_block_when_the_coordinator_fails_between_vote_and_decision() {
    for nodes in [2, 3] {
        assert_eq!(fails(TWO, crashes(nodes, 1, 0)), ["non-blocking"], "{nodes} nodes");
    }
    assert_eq!(fails(TWO, crashes(2, 1, 1)), ["non-blocking"], "it may stay down");
}

/// Who does not wait breaks what blocking is for.
#[test]
fn two_phases_that_do_not_block_are_not_atomic() {
    assert_eq!(fails(variant::<TwoPhaseCommit>("unilateral"), crashes(3, 1, 0)), ["atomicity"]);
}

/// A vote that is not in the log is forgotten in a crash.
#[test]
fn a_vote_has_to_be_written_before_it_is_sent() {
    let all_fail = crashes(2, 2, 1);
    assert_eq!(fails(TWO, all_fail), ["non-blocking"]);
    assert_eq!(fails(variant::<TwoPhaseCommit>("volatile"), all_fail), OWN);
    let three = ThreePhaseCommit { logs: false, ..SKEEN };
    assert!(fails(three, crashes(2, 1, 1)).contains(&"unanimity"));
}

/// Without a time-out for votes, a participant that fails before it votes blocks the coordinator;
/// with one, the coordinator has to abort.
#[test]
fn a_vote_that_does_not_come_means_to_abort() {
    let lecture = variant::<TwoPhaseCommit>("lecture");
    assert_eq!(fails(lecture, crashes(2, 1, 0)), ["non-blocking"]);
    let waits = ThreePhaseCommit { silence: Silence::Waits, ..SKEEN };
    assert_eq!(fails(waits, crashes(3, 1, 0)), ["non-blocking"]);
    let commits = TwoPhaseCommit { silence: Silence::Commits, ..TWO };
    assert_eq!(fails(commits, crashes(2, 1, 0)), ["unanimity", "non-blocking"]);
}

#[test]
fn three_phases_do_not_block_when_processes_fail_and_the_network_does_not() {
    for (nodes, number) in [(2, 1), (3, 1), (3, 2)] {
        assert_eq!(fails(SKEEN, crashes(nodes, number, 0)), NOTHING, "{nodes}, {number}");
    }
}

#[test]
fn three_phases_break_when_time_outs_are_wrong_or_the_network_is_cut() {
    let first = Options { first: true, ..Options::default() };
    let breaks = |rules, scenario| violated(&report_by(rules, scenario, &["atomicity"], &first));
    assert_eq!(breaks(SKEEN, suspicions(2, 2)), NOTHING);
    assert_eq!(breaks(SKEEN, suspicions(2, 3)), ["atomicity"]);
    assert_eq!(breaks(SKEEN, cuts(2, 1)), ["atomicity"]);
    let at_once = ThreePhaseCommit { steps: Steps::AtOnce, ..SKEEN };
    assert_eq!(breaks(at_once, cuts(3, 2)), ["atomicity"]);
    // The standard plan of the lecture commits without a majority.
    let lecture = variant::<ThreePhaseCommit>("lecture");
    let lecture = ThreePhaseCommit { steps: Steps::AtOnce, ..lecture };
    assert_eq!(breaks(lecture, cuts(3, 2)), ["atomicity"]);
}

/// Two phases are safe there, and so are three with a quorum; both can block.
#[test]
fn a_quorum_is_safe_and_can_block() {
    for scenario in [suspicions(2, 3), cuts(2, 1)] {
        let asked = ["atomicity", "unanimity"];
        assert_eq!(violated(&report(TWO, scenario, &asked)), NOTHING, "{scenario}");
        assert_eq!(violated(&report(QUORUM, scenario, &asked)), NOTHING, "{scenario}");
    }
    assert_eq!(fails(QUORUM, cuts(2, 1)), ["non-blocking"]);
    assert_eq!(fails(QUORUM, crashes(2, 1, 0)), ["non-blocking"], "one of two is no majority");
    assert_eq!(fails(QUORUM, crashes(3, 1, 0)), NOTHING, "two of three are");
}

/// What a coordinator sent before it failed may arrive when the next one has already asked.
#[test]
fn only_the_coordinator_that_asked_last_is_heeded() {
    let any = ThreePhaseCommit { heeds: Heeds::Any, ..QUORUM };
    assert_eq!(fails(any, crashes(3, 1, 0)), ["non-blocking"]);
    let skeen = ThreePhaseCommit { heeds: Heeds::Any, ..SKEEN };
    assert_eq!(violated(&report(skeen, crashes(3, 2, 0), &["atomicity"])), ["atomicity"]);
}

/// Its poll, or the answer of the one that knows, may be lost: a coordinator that polled once would
/// be blocked for ever.
#[test]
fn a_blocked_coordinator_polls_again() {
    let three = ThreePhaseCommit { steps: Steps::AtOnce, ..QUORUM };
    let mut lossy = crashes(3, 1, 0);
    lossy.faults.losses = Budget::AtMost(1);
    assert_eq!(fails(three, lossy), NOTHING);
}

/// All have failed, and the first that recovers was not the last that failed.
#[test]
fn a_coordinator_that_recovered_must_not_decide_alone() {
    let decides = ThreePhaseCommit { recovered: Recovered::Decides, ..SKEEN };
    let all_fail = crashes(2, 2, 1);
    assert_eq!(fails(decides, all_fail), ["atomicity"]);
    assert_eq!(fails(SKEEN, all_fail), ["non-blocking"]);
}

/// The election is the bully's: all that holds of it holds here, and a group that starts commits.
#[test]
fn the_bully_elects_the_coordinator() {
    let usual = ["at-most-one-leader", "agreement", "validity", "decided", "stabilises"];
    assert_eq!(violated(&report(TWO, crashes(3, 1, 0), &usual)), NOTHING);
    let found = report(QUORUM, crashes(3, 1, 0), &["successor-decides", "word-spreads"]);
    assert_eq!(violated(&found), NOTHING);
    let first = report(QUORUM, Scenario::calm(3), &["successor-decides"]);
    assert_eq!(violated(&first), ["successor-decides"], "the first coordinator does not fail");
    let lost = report(TWO, crashes(2, 1, 0), &["word-spreads"]);
    assert_eq!(violated(&lost), ["word-spreads"], "what fails with the coordinator is not known");
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(3) };
    assert_eq!(violated(&report(QUORUM, cold, OWN)), NOTHING);
}

#[test]
fn who_refuses_is_one_of_them() {
    let two = TwoPhaseCommit { refuses: Some(Id::at(2)), ..TWO };
    let wrong = World::new(two, Scenario::calm(2)).expect_err("there are two");
    assert!(wrong.to_string().contains("it is an id from 1 to 2, or null"), "{wrong}");
}
