//! The election of VRRP, besides the verdicts that `model/verdicts/vrrp.toml` lists: two standards
//! compared, a time-out that no clock can count, and that both engines see the same states.

use bellwether_model::check::{Engine, Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::vrrp::Vrrp;
use bellwether_model::world::{
    Delay, Durations, Faults, Heals, Network, Scenario, Slow, Timed, Timing, World,
};

fn report(rules: Vrrp, scenario: Scenario, names: &[&str]) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let properties = property::select(&world, &names).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn violated(report: &Report) -> Vec<&'static str> {
    let violated = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    violated.map(|d| d.property.name).collect()
}

fn variant(name: &str) -> Vrrp {
    Vrrp::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn without(nodes: usize, link: &str) -> Scenario {
    Scenario { missing: link.parse().expect("a link"), ..Scenario::calm(nodes) }
}

const BACK: Scenario = Scenario::calm(3).with_crashes(1, 1);

/// The lowest of three routers waits for `t-down` and three times `t-skew`. What no clock can count
/// is refused, rather than counted as less: two routers would seem to wait for equally long.
#[test]
fn a_skew_that_no_clock_can_count_is_refused() {
    let asked = |skew, drift: &str| {
        let durations = [("t-advertise", 4), ("t-skew", skew), ("t-down", 100)];
        let durations = Durations::of(durations).expect("short names");
        let (delay, drift) = (Delay::AtMost(1), drift.parse().expect("a ratio"));
        let timed =
            Timed { delay, slow: Slow::NONE, processing: 0, drift, durations, within: None };
        let scenario = Scenario { timing: Timing::Timed(timed), ..Scenario::calm(3) };
        World::new(Vrrp::RFC9568, scenario).map(drop).map_err(|error| error.to_string())
    };
    let refused = asked(77, "0").expect_err("331 ticks");
    for part in ["process 1", "331 ticks (t-down 100 + 3 times t-skew 77)", "255", "larger ticks"] {
        assert!(refused.contains(part), "'{part}' is missing in: {refused}");
    }
    assert!(asked(52, "0").is_err(), "256 ticks");
    assert_eq!(asked(51, "0"), Ok(()), "253 ticks");
    let late = asked(20, "1/2").expect_err("a slow clock takes 320");
    assert!(late.contains("320 ticks (t-down 100 + 3 times t-skew 20, drift 1/2)"), "{late}");
}

const CUT: Scenario = Scenario {
    faults: Faults { cuts: 1, ..Faults::NONE },
    heals: Heals::Must,
    network: Network::Set,
    ..Scenario::calm(2)
};

const LASTING: [&str; 3] = ["at-most-one-leader", "stabilises", "one-active-again"];

#[test]
fn to_contradict_at_once_changes_no_verdict() {
    let crash = Scenario::calm(3).with_crashes(1, 0);
    for scenario in [crash, BACK, CUT, without(2, "2>1"), without(2, "1>2")] {
        let with = |name| violated(&report(variant(name), scenario, &LASTING));
        assert_eq!(with("rfc9568"), with("rfc5798"), "{scenario}");
    }
}

#[test]
fn both_engines_see_the_same_states() {
    let durations = Durations::of([("t-advertise", 2), ("t-skew", 3), ("t-down", 4)]);
    let clock = Timed::of(Delay::AtMost(1), durations.expect("few enough"));
    let crash = Scenario::calm(3).with_crashes(1, 0);
    for scenario in [BACK, Scenario { timing: Timing::Timed(clock), ..crash }] {
        let world = World::new(Vrrp::RFC9568, scenario).expect("possible");
        let asked = property::select(&world, &["follower-bound".to_owned()]).expect("it exists");
        let states = |engine| {
            let options = Options { engine, ..Options::default() };
            check(&world, &asked, &options, &mut |_| {}).expect("asked").counts.distinct
        };
        assert_eq!(states(Engine::Exact), states(Engine::Bfs));
    }
}
