//! What the checker decides about the quorum bully: what it keeps in the worlds that matter, and
//! that every rule that protects something is missed when it is switched off.

use Verdict::Holds;
use bellwether_model::check::{Options, Reason, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::quorum::Quorum;
use bellwether_model::protocol::{Protocol, variant};
use bellwether_model::world::Effect;
use bellwether_model::world::{
    Delay, Drift, Durations, Faults, Heals, Network, Scenario, Slow, Start, Timed, Timing, World,
};
use std::collections::{HashSet, VecDeque};

#[path = "quorum/births.rs"]
mod births;
#[path = "quorum/controls.rs"]
mod controls;
#[path = "quorum/lists.rs"]
mod lists;
#[path = "quorum/networks.rs"]
mod networks;
#[path = "quorum/observers.rs"]
mod observers;
#[path = "quorum/witnesses.rs"]
mod witnesses;

const SAFETY: [&str; 3] = ["one-leader-per-epoch", "grants-stand", "epochs-grow"];

fn world(rules: Quorum, scenario: Scenario) -> World {
    World::new(rules, scenario).expect("the scenario is possible")
}

fn report(rules: Quorum, scenario: Scenario, names: &[&str]) -> Report {
    let world = world(rules, scenario);
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let properties = property::select(&world, &names).expect("they can be asked");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

/// A variant with other rules, each as in `storage=syncs-late`.
fn rules(name: &str, other: &[&str]) -> Quorum {
    let other = other.iter().map(|rule| {
        let (rule, value) = rule.split_once('=').expect("a rule and its value");
        (rule.to_owned(), value.to_owned())
    });
    variant(name, &other.collect::<Vec<_>>()).expect("there are such rules")
}

fn with(faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(3) }
}

const CRASH: Faults = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };

/// Faults of every kind.
fn worlds() -> Vec<Scenario> {
    vec![
        with(CRASH),
        with(Faults { losses: 1.into(), crashes: 1, ..Faults::NONE }),
        with(Faults { suspicions: 1, ..Faults::NONE }),
        with(Faults { duplicates: 1, crashes: 1, ..Faults::NONE }),
        Scenario { heals: Heals::Must, ..with(Faults { cuts: 1, ..Faults::NONE }) },
        Scenario { start: Start::Cold, ..Scenario::calm(3) },
        Scenario { network: Network::Unordered, ..with(CRASH) },
        Scenario::calm(4).with_crashes(1, 0),
    ]
}

#[test]
fn the_recommended_rules_keep_what_they_promise() {
    for scenario in worlds() {
        let report = report(Quorum::RECOMMENDED, scenario, &[]);
        for decision in &report.decisions {
            let (name, verdict) = (decision.property.name, decision.verdict);
            let says_nothing = decision.reason == Some(Reason::Vacuous);
            assert!(verdict == Holds || says_nothing, "{name}: {verdict:?}: {scenario}");
        }
    }
}

/// The grants alone keep one leader per epoch, whatever else is left out.
#[test]
fn an_epoch_that_is_granted_once_has_one_leader_by_any_other_rules() {
    let worlds = [
        Scenario { start: Start::Cold, ..with(Faults { suspicions: 1, ..CRASH }) },
        with(Faults { suspicions: 2, ..CRASH }),
        with(Faults { losses: 1.into(), duplicates: 1, suspicions: 1, ..Faults::NONE }),
        Scenario { network: Network::Unordered, ..with(Faults { suspicions: 2, ..Faults::NONE }) },
    ];
    for scenario in worlds {
        let report = report(rules("bare", &[]), scenario, &SAFETY);
        assert_eq!(report.verdict(), Holds, "{scenario}");
    }
}

#[test]
fn two_crashes_two_recoveries_a_loss_and_a_copy_leave_one_leader_per_epoch() {
    let twice = Faults { crashes: 2, recoveries: 2, ..Faults::NONE };
    for faults in [twice, Faults { losses: 1.into(), duplicates: 1, ..CRASH }] {
        let report = report(Quorum::RECOMMENDED, with(faults), &SAFETY);
        assert_eq!(report.verdict(), Holds, "{faults}");
    }
}

/// What a process sends follows from what is durable: then a crash in the middle of a step, between
/// writing and sending, is a crash after it that loses what was sent.
#[test]
fn a_step_writes_once_and_before_it_sends() {
    let scenario = with(Faults { suspicions: 1, ..CRASH });
    let world = world(Quorum::RECOMMENDED, scenario);
    let mut known = HashSet::from([world.initial()]);
    let mut todo: VecDeque<_> = known.iter().cloned().collect();
    let mut writes = 0;
    while let Some(state) = todo.pop_front() {
        let mut actions = Vec::new();
        world.enabled(&state, &mut actions);
        for action in actions {
            let outcome = world.apply(&state, &action);
            let is_write = |effect: &Effect| matches!(effect, Effect::Persist(_));
            let is_send = |effect: &Effect| matches!(effect, Effect::Send { .. });
            let written = outcome.effects.iter().filter(|effect| is_write(effect)).count();
            let first = outcome.effects.iter().position(is_send);
            let late = outcome.effects.iter().skip(first.unwrap_or(usize::MAX)).any(is_write);
            assert!(written <= 1 && !late, "{action}: {:?}", outcome.effects);
            writes += written;
            if known.len() < 20_000 && known.insert(outcome.state.clone()) {
                todo.push_back(outcome.state);
            }
        }
    }
    assert!(writes > 100, "{writes}");
}

#[test]
fn a_handover_has_no_instant_of_two_leaders_and_ends_at_the_highest() {
    for when in ["preemption=dwell", "preemption=at-once"] {
        let rules = rules("recommended", &[when]);
        let report = report(rules, with(CRASH), &["stabilises", "at-most-one-leader"]);
        assert_eq!(report.verdict(), Holds, "{when}");
    }
}

/// Whether or not it succeeds, there is one leader at a time on the way, and one for good after it.
#[test]
fn a_transfer_and_a_step_down_end_in_a_leader() {
    let loss = Faults { losses: 1.into(), ..Faults::NONE };
    let far = Scenario { missing: "1-3".parse().expect("a link"), ..Scenario::calm(3) };
    for asked in [&["transfer=1"][..], &["step_down=true"], &["transfer=2", "step_down=true"]] {
        for scenario in [with(CRASH), with(loss), far] {
            let names = ["stable-leader", "at-most-one-leader", "one-leader-per-epoch"];
            let report = report(rules("recommended", asked), scenario, &names);
            assert_eq!(report.verdict(), Holds, "{asked:?}: {scenario}");
        }
        let rules = rules("preemptive", asked);
        let report = report(rules, with(CRASH), &["stabilises", "at-most-one-leader"]);
        assert_eq!(report.verdict(), Holds, "{asked:?}, preemptive");
    }
}

#[test]
fn a_transfer_without_faults_succeeds() {
    for to in 1..=2 {
        let rules = rules("recommended", &[&format!("transfer={to}")]);
        let report = report(rules, Scenario::calm(3), &["hands-over", "at-most-one-leader"]);
        assert_eq!(report.verdict(), Holds, "to {to}");
    }
}

/// The survey asks for that.
#[test]
fn a_leader_comes_within_the_time_that_the_durations_give_and_no_sooner() {
    for (promise, skew, delay) in [(9, 6, 1), (12, 7, 1), (16, 10, 2)] {
        let both_ways = 2 * delay + 1;
        let durations = Durations::of([
            ("t-round", both_ways),
            ("t-lease", promise - 1),
            ("t-promise", promise),
            ("t-elec", both_ways),
            ("t-coord", 8),
            ("t-backoff", 20),
            ("t-skew", skew),
        ]);
        let durations = durations.expect("short names");
        let says = Quorum::OPTIONS.agrees_within.expect("it says");
        let bound = says(&durations, delay).expect("all durations are there");
        for (within, verdict) in [(bound, Holds), (bound - 1, Verdict::Violated)] {
            let timed = Timed {
                delay: Delay::AtMost(delay),
                slow: Slow::NONE,
                processing: 0,
                drift: Drift::NONE,
                durations,
                within: Some(within),
            };
            let crash = with(Faults { crashes: 1, ..Faults::NONE });
            let scenario = Scenario { timing: Timing::Timed(timed), ..crash };
            let report = report(Quorum::RECOMMENDED, scenario, &["agreed-within"]);
            assert_eq!(report.verdict(), verdict, "{scenario}");
        }
    }
}

#[test]
fn a_leader_that_is_not_electable_yields() {
    let rules = rules("recommended", &["unhealthy=3"]);
    let report = report(rules, Scenario::calm(3), &["settles", "succession", "at-most-one-leader"]);
    assert_eq!(report.verdict(), Holds);
}
