//! The quorum bully: how it steps, when it has a leader, and that every rule that protects something
//! is missed when it is switched off.

use Verdict::Holds;
use bellwether_model::check::{Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::quorum::Quorum;
use bellwether_model::protocol::{Protocol, variant};
use bellwether_model::world::Effect;
use bellwether_model::world::{
    Delay, Drift, Durations, Faults, Scenario, Slow, Timed, Timing, World,
};
use std::collections::{HashSet, VecDeque};

#[path = "quorum/controls.rs"]
mod controls;
#[path = "quorum/networks.rs"]
mod networks;
#[path = "quorum/observers.rs"]
mod observers;
#[path = "quorum/witnesses.rs"]
mod witnesses;

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
