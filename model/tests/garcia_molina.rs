//! What the checker decides about the bully algorithm of 1982: which of the paper's assertions hold
//! where, what each of its precautions is for, and what an election costs.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Decision, Limits, Options, Report, Verdict, check};
use bellwether_model::property::{self, AGREED_WITHIN};
use bellwether_model::protocol::garcia_molina::{
    Answered, Check, GarciaMolina, Halt, Recovery, Unfinished,
};
use bellwether_model::protocol::{Protocol, Wait};
use bellwether_model::world::{
    Delay, Drift, Durations, Faults, Heals, Network, Scenario, Slow, Start, Timed, Timing, World,
};

const REPAIRED: GarciaMolina = GarciaMolina::REPAIRED;
const PUBLISHED: GarciaMolina = GarciaMolina::PUBLISHED;

fn report(rules: GarciaMolina, scenario: Scenario) -> Report {
    asked(rules, scenario, &[])
}

fn asked(rules: GarciaMolina, scenario: Scenario, names: &[&str]) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let properties = property::select(&world, &names).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn violated(report: &Report) -> Vec<&'static str> {
    assert!(report.decisions.iter().all(|d| d.verdict != Verdict::Unknown));
    let violated = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    violated.map(|d| d.property.name).collect()
}

fn violates(rules: GarciaMolina, scenario: Scenario) -> Vec<&'static str> {
    violated(&report(rules, scenario))
}

fn decision<'r>(report: &'r Report, name: &str) -> &'r Decision {
    let found = report.decisions.iter().find(|d| d.property.name == name);
    found.unwrap_or_else(|| panic!("{name} was not checked"))
}

/// The steps of the counterexample, in words.
fn story(report: &Report, name: &str) -> Vec<String> {
    let found = decision(report, name).counterexample.as_ref();
    let steps = found.unwrap_or_else(|| panic!("{name} is not violated")).steps.iter();
    steps.map(ToString::to_string).collect()
}

fn struck(nodes: usize, faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(nodes) }
}

fn crashes(nodes: usize, crashes: u8, recoveries: u8) -> Scenario {
    Scenario::calm(nodes).with_crashes(crashes, recoveries)
}

/// Nothing that lasts is wrong in the end.
const LASTING: [&str; 6] =
    ["agreement", "validity", "decided", "stabilises", "assertion-2", "one-task"];

#[test]
fn with_perfect_time_outs_everything_holds_through_crashes_and_recoveries() {
    for rules in [REPAIRED, PUBLISHED] {
        for scenario in [crashes(2, 2, 2), crashes(3, 2, 0), crashes(3, 2, 1), crashes(4, 1, 1)] {
            assert_eq!(violates(rules, scenario), [""; 0], "{scenario}");
        }
    }
}

#[test]
fn messages_that_overtake_each_other_do_no_harm() {
    let unordered = Scenario { network: Network::Unordered, ..crashes(3, 1, 1) };
    for rules in [REPAIRED, PUBLISHED] {
        assert_eq!(violates(rules, unordered), [""; 0]);
    }
}

#[test]
fn from_a_cold_start_the_highest_leads() {
    for nodes in [2, 3, 4] {
        let cold = Scenario { start: Start::Cold, ..Scenario::calm(nodes) };
        assert_eq!(violates(PUBLISHED, cold), [""; 0]);
    }
}

#[test]
fn assertion_1_holds_if_halt_ends_an_election_and_fails_if_it_does_not() {
    let goes_on = GarciaMolina { halt: Halt::GoesOn, ..PUBLISHED };
    for nodes in [2, 3, 4] {
        let scenario = crashes(nodes, 1, 1);
        let verdict = |rules| asked(rules, scenario, &["assertion-1"]).verdict();
        assert_eq!(verdict(PUBLISHED), Verdict::Holds, "{scenario}");
        assert_eq!(verdict(REPAIRED), Verdict::Holds, "{scenario}");
        assert_eq!(verdict(goes_on), Verdict::Violated, "{scenario}");
    }
}

/// The numbers of tasks are canonicalized: those that are forgotten are given again, and no world
/// exceeds the bound of the search, however many tasks there are.
#[test]
fn the_assertions_hold_through_more_tasks_than_are_told_apart() {
    for scenario in [crashes(2, 4, 4), crashes(2, 6, 6)] {
        let report = asked(REPAIRED, scenario, &["assertion-1", "assertion-1-task", "one-task"]);
        assert_eq!(report.verdict(), Verdict::Holds, "{scenario}");
    }
}

/// The two assertions need that Halt ends the election of its target, and two processes show it.
#[test]
fn if_halt_does_not_end_an_election_two_lead() {
    let rules = GarciaMolina { halt: Halt::GoesOn, ..PUBLISHED };
    let report = report(rules, crashes(2, 1, 1));
    assert_eq!(
        violated(&report),
        [
            "at-most-one-leader",
            "agreement",
            "validity",
            "stabilises",
            "assertion-1",
            "assertion-1-task",
            "assertion-2",
            "one-task"
        ]
    );
    assert_eq!(
        story(&report, "assertion-1"),
        [
            "2 crashes",
            "1's silence timer expires",
            "2 gets ARE_YOU_THERE from 1",
            "1's answer timer expires",
            "2 gets ARE_YOU_THERE from 1",
            "2 recovers",
            "2's recovery timer expires",
            "1 gets HALT from 2",
            "2 gets HALTED from 1",
            "1's answer timer expires",
        ]
    );
}

/// A check that asks for the task repairs in the end even that; Assertion 1 it cannot save.
#[test]
fn a_better_check_repairs_what_an_election_that_goes_on_does() {
    let rules = GarciaMolina { halt: Halt::GoesOn, ..REPAIRED };
    let broken = ["at-most-one-leader", "assertion-1", "assertion-1-task"];
    assert_eq!(violates(rules, crashes(2, 1, 1)), broken);
}

#[test]
fn a_process_that_follows_whoever_answers_may_follow_a_follower() {
    let rules = GarciaMolina { answered: Answered::Follows, ..PUBLISHED };
    let report = report(rules, crashes(3, 1, 1));
    assert_eq!(
        story(&report, "assertion-1"),
        [
            "1 crashes",
            "1 recovers",
            "1's recovery timer expires",
            "2 gets ARE_YOU_THERE from 1",
            "1 gets HERE from 2",
        ]
    );
    assert!(LASTING[..2].iter().all(|name| violated(&report).contains(name)));
}

/// NewCoordinator of one that has been halted itself arrives after another's Halt.
#[test]
fn without_the_guards_a_deposed_candidate_is_obeyed() {
    let rules = GarciaMolina { guard: false, ..PUBLISHED };
    let report = report(rules, crashes(3, 1, 1));
    let story = story(&report, "assertion-1");
    assert_eq!(story.last().map(String::as_str), Some("1 gets NEW_COORDINATOR from 2"));
    assert!(violated(&report).contains(&"assertion-2"));
    assert_eq!(violates(rules, crashes(2, 1, 1)), [""; 0], "two processes need two crashes");
    assert!(violates(rules, crashes(2, 2, 2)).contains(&"assertion-1"));
}

/// Answers do not say which call they answer; a crash and a quick return is what could mix them up.
#[test]
fn an_answer_from_before_a_crash_passes_for_another_unless_recovery_waits() {
    let rules = GarciaMolina { recovery: Recovery::AtOnce, ..REPAIRED };
    assert_eq!(violates(rules, crashes(3, 1, 1)), [""; 0], "one crash is not enough");
    let report = report(rules, crashes(3, 2, 2));
    assert_eq!(violated(&report), ["assertion-1"]);
    let story = story(&report, "assertion-1");
    assert_eq!(story.len(), 16);
    assert_eq!(story.last().map(String::as_str), Some("3 gets HALTED from 1"));
    assert_eq!(violates(REPAIRED, crashes(3, 2, 2)), [""; 0]);
}

#[test]
fn one_late_answer_splits_the_published_group_for_good_and_not_the_repaired_one() {
    let late = Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE };
    let moment = ["at-most-one-leader", "assertion-1", "assertion-1-task"];
    assert_eq!(violates(REPAIRED, struck(2, late)), moment);
    assert_eq!(
        violates(GarciaMolina { check: Check::LedByMe, ..REPAIRED }, struck(2, late)),
        moment
    );
    let split = report(PUBLISHED, struck(2, late));
    let lasting = LASTING.iter().filter(|&&name| name != "decided");
    assert!(lasting.clone().all(|name| violated(&split).contains(name)), "{:?}", violated(&split));
    let early = "1's answer timer expires too early";
    assert_eq!(story(&split, "assertion-1").last().map(String::as_str), Some(early));
}

#[test]
fn a_cut_that_heals_and_a_lost_message_leave_nothing_wrong_but_in_the_published_group() {
    let cut = Scenario { heals: Heals::Must, ..struck(3, Faults { cuts: 1, ..Faults::NONE }) };
    let loss = struck(3, Faults { crashes: 1, losses: 1.into(), ..Faults::NONE });
    for scenario in [cut, loss] {
        let repaired = violates(REPAIRED, scenario);
        assert!(LASTING.iter().all(|name| !repaired.contains(name)), "{scenario}: {repaired:?}");
        assert!(repaired.contains(&"assertion-1"), "{scenario}");
        let published = violates(PUBLISHED, scenario);
        assert!(published.contains(&"assertion-2"), "{scenario}: {published:?}");
    }
}

/// A coordinator that asks only whether it leads does not notice who missed its last election.
#[test]
fn a_process_that_misses_an_election_of_its_own_coordinator_keeps_an_old_task() {
    let faults = Faults { crashes: 1, recoveries: 1, losses: 1.into(), ..Faults::NONE };
    let by_leader = GarciaMolina { check: Check::LedByMe, ..REPAIRED };
    assert!(violates(by_leader, struck(3, faults)).contains(&"one-task"));
    let repaired = violates(REPAIRED, struck(3, faults));
    assert!(LASTING.iter().all(|name| !repaired.contains(name)), "{repaired:?}");
}

#[test]
fn without_check_a_process_that_comes_back_waits_for_ever() {
    let rules = GarciaMolina { check: Check::Never, ..REPAIRED };
    assert_eq!(violates(rules, crashes(3, 1, 1)), ["stabilises", "assertion-2"]);
}

/// A reorganization fails, a higher process that recovers takes the next election, and crashes.
#[test]
fn a_coordinator_that_asks_itself_whether_it_is_there_reorganizes_for_ever() {
    let asks_itself = GarciaMolina { unfinished: Unfinished::AsksItself, ..REPAIRED };
    assert_eq!(violates(REPAIRED, crashes(3, 3, 1)), [""; 0]);
    let report = report(asks_itself, crashes(3, 3, 1));
    assert_eq!(violated(&report), ["stabilises", "assertion-2"]);
    let story = story(&report, "assertion-2");
    assert_eq!((story.len(), story[14].as_str()), (15, "3 crashes"));
}

/// Every combination of the rules, in worlds that tell them apart: none keeps all that the repaired
/// rules keep and one property more, and none keeps as much.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn no_combination_of_the_rules_is_better_than_the_repaired_one() {
    let holds = |rules, scenario| -> Vec<bool> {
        let decisions = report(rules, scenario).decisions;
        decisions.iter().map(|d| d.verdict == Verdict::Holds).collect()
    };
    let lossy = Faults { crashes: 1, losses: 1.into(), ..Faults::NONE };
    let worlds = [
        crashes(2, 1, 1),
        struck(2, Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE }),
        crashes(3, 1, 1),
        struck(3, lossy),
        struck(3, Faults { recoveries: 1, ..lossy }),
        crashes(3, 3, 1),
        crashes(3, 2, 2),
    ];
    let mut left = combinations();
    assert_eq!(left.len(), 128);
    for scenario in worlds {
        let ours = holds(REPAIRED, scenario);
        left.retain(|&rules| {
            let theirs = holds(rules, scenario);
            let keeps_all = ours.iter().zip(&theirs).all(|(ours, theirs)| !ours || *theirs);
            assert!(!keeps_all || ours == theirs, "{rules:?} is better in {scenario}");
            keeps_all
        });
    }
    assert_eq!(left, [REPAIRED]);
}

fn combinations() -> Vec<GarciaMolina> {
    let mut all = Vec::new();
    for halt in [Halt::Aborts, Halt::GoesOn] {
        for check in [Check::SameTask, Check::LedByMe, Check::Normal, Check::Never] {
            for answered in [Answered::Waits, Answered::Follows] {
                for recovery in [Recovery::Quiet, Recovery::AtOnce] {
                    for unfinished in [Unfinished::Elects, Unfinished::AsksItself] {
                        all.extend([true, false].map(|guard| GarciaMolina {
                            halt,
                            check,
                            answered,
                            recovery,
                            guard,
                            unfinished,
                        }));
                    }
                }
            }
        }
    }
    all
}

/// The most messages that the crash of one process costs. All survivors ask after the dead
/// coordinator (n − 1), all but the highest of them ask the next and are answered, the highest asks
/// the dead one once more, and makes three calls to each of the others: 9n − 16.
#[test]
fn a_crash_costs_at_most_nine_n_minus_sixteen_messages() {
    let rules = GarciaMolina { check: Check::Never, ..PUBLISHED };
    for nodes in 2..=5 {
        let world = World::new(rules, crashes(nodes, 1, 0)).expect("the scenario is possible");
        let costs = bounds(&world, Until::Rest, (Limits::NONE, 1), &mut |_| {}).expect("threads");
        let most = |name: &str| {
            let line = costs.lines.iter().find(|line| line.name() == name);
            match line.unwrap_or_else(|| panic!("{name} is not counted")).bound {
                Bound::Most(most, _) => usize::try_from(most).expect("few"),
                Bound::Unbounded(_) => panic!("{name} is unbounded"),
            }
        };
        assert_eq!(most("messages"), 9 * nodes - 16);
        assert_eq!(most("messages/are-you-there"), 2 * (nodes - 1));
        assert_eq!(most("elections"), nodes - 1);
        assert_eq!(most("leaderships"), 1);
    }
}

/// Calls are made one after the other: the silence, two time-outs for the dead coordinator, which
/// is asked twice, and three round trips to each of the others.
#[test]
fn time_is_sequential() {
    let rules = GarciaMolina { check: Check::Never, ..PUBLISHED };
    let agreed = |nodes: u8, delay: u8, within: u8| {
        let t_call = 2 * delay + 1;
        let ticks = |name: &str| match name {
            "t-call" => t_call,
            "t-silence" => 1,
            _ => 60,
        };
        let needed = GarciaMolina::TIMERS.iter().filter_map(|row| row.wait(&rules));
        let durations = Durations::of(needed.map(Wait::duration).map(|name| (name, ticks(name))));
        let timing = Timing::Timed(Timed {
            delay: Delay::AtMost(delay),
            slow: Slow::NONE,
            processing: 0,
            drift: Drift::NONE,
            durations: durations.expect("few enough"),
            within: Some(within),
        });
        let world = World::new(rules, Scenario { timing, ..crashes(nodes.into(), 1, 0) });
        let world = world.expect("the scenario is possible");
        let within = property::select(&world, &[AGREED_WITHIN.to_owned()]).expect("it exists");
        let report = check(&world, &within, &Options::default(), &mut |_| {});
        report.expect("something is asked").verdict()
    };
    for (nodes, delay) in [(2, 1), (3, 1), (4, 1), (2, 2), (3, 2)] {
        let bound = 1 + 2 * (2 * delay + 1) + 6 * delay * (nodes - 2);
        assert_eq!(agreed(nodes, delay, bound), Verdict::Holds, "{nodes} nodes, Tm {delay}");
        assert_eq!(agreed(nodes, delay, bound - 1), Verdict::Violated, "{nodes} nodes, Tm {delay}");
    }
}
