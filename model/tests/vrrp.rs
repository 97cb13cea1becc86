//! What the checker decides about the election of VRRP, as the standards have it, as it can be set,
//! and without what it rests on. Each property has rules or a world in which it fails.

use bellwether_model::check::{Decision, Engine, Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::vrrp::{Priorities, Vrrp};
use bellwether_model::world::{
    Delay, Durations, Faults, Heals, Network, Scenario, Slow, Start, Timed, Timing, World,
};

fn report(rules: Vrrp, scenario: Scenario, names: &[&str]) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
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

fn variant(name: &str) -> Vrrp {
    Vrrp::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn cold(nodes: usize) -> Scenario {
    Scenario { start: Start::Cold, ..Scenario::calm(nodes) }
}

fn without(nodes: usize, link: &str) -> Scenario {
    Scenario { missing: link.parse().expect("a link"), ..Scenario::calm(nodes) }
}

/// The steps of the counterexample, in words.
fn story(report: &Report, name: &str) -> Vec<String> {
    let found = decision(report, name).counterexample.as_ref();
    let steps = found.unwrap_or_else(|| panic!("{name} is not violated")).steps.iter();
    steps.map(ToString::to_string).collect()
}

const BACK: Scenario = Scenario::calm(3).with_crashes(1, 1);

#[test]
fn with_perfect_timing_there_is_one_active_router_when_routers_stop_for_good() {
    for (nodes, crashes) in [(2, 1), (3, 1), (3, 2)] {
        let found = report(Vrrp::RFC9568, Scenario::calm(nodes).with_crashes(crashes, 0), &[]);
        assert_eq!(violated(&found), [""; 0], "{nodes} nodes, {crashes} crashes");
        assert_eq!(found.verdict(), Verdict::Holds);
    }
    assert_eq!(violated(&report(Vrrp::RFC9568, cold(3), &[])), [""; 0]);
}

#[test]
fn preemption_costs_two_active_routers_for_a_moment_and_is_a_switch() {
    let found = report(Vrrp::RFC9568, BACK, &[]);
    assert_eq!(violated(&found), ["at-most-one-leader", "follower-bound"]);
    let stays = report(variant("no-preempt"), BACK, &["validity", "settles"]);
    assert_eq!(violated(&stays), ["validity"]);
}

/// A router that recovers arms its time-out when it comes up, the other did when it last heard the
/// Active one. So no skew sets them apart, and perfect timing shows what a clock does.
#[test]
fn time_outs_that_were_armed_apart_may_expire_together_without_preemption() {
    let back = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };
    let lost = Faults { crashes: 1, losses: 1.into(), ..Faults::NONE };
    for (rules, faults) in [(variant("no-preempt"), back), (Vrrp::RFC9568, lost)] {
        let clock = timed(rules, (1, 4, 3, 12), faults);
        let perfect = Scenario { timing: Timing::Perfect, ..clock };
        for scenario in [perfect, clock] {
            let found = report(rules, scenario, &["at-most-one-leader", "settles"]);
            assert_eq!(violated(&found), ["at-most-one-leader"], "{scenario}");
        }
    }
    let clock = timed(variant("no-preempt"), (1, 4, 3, 12), back);
    let accurate = report(variant("no-preempt"), clock, &["timeouts-accurate"]);
    assert_eq!(accurate.verdict(), Verdict::Holds);
}

#[test]
fn without_skew_a_single_crash_makes_two_active_routers() {
    let crash = Scenario::calm(3).with_crashes(1, 0);
    let found = report(variant("without-skew"), crash, &["at-most-one-leader", "stabilises"]);
    assert_eq!(violated(&found), ["at-most-one-leader"]);
    assert_eq!(story(&found, "at-most-one-leader").len(), 3);
}

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
fn a_link_that_is_missing_in_one_direction_makes_two_active_routers_for_good() {
    // The Backup does not hear the Active router, so what that says against it is in vain.
    assert_eq!(violated(&report(Vrrp::RFC9568, without(2, "2>1"), &LASTING)), LASTING);
    // The other way round nothing is missed: a Backup has nothing to say.
    assert_eq!(violated(&report(Vrrp::RFC9568, without(2, "1>2"), &LASTING)), [""; 0]);
}

#[test]
fn to_contradict_at_once_changes_no_verdict() {
    let crash = Scenario::calm(3).with_crashes(1, 0);
    for scenario in [crash, BACK, CUT, without(2, "2>1"), without(2, "1>2")] {
        let with = |name| violated(&report(variant(name), scenario, &LASTING));
        assert_eq!(with("rfc9568"), with("rfc5798"), "{scenario}");
    }
}

#[test]
fn among_equals_the_first_stays_and_the_address_decides_between_two() {
    let equal = variant("equal-priorities");
    assert_eq!(equal.priorities, Priorities::Equal);
    let names = ["validity", "settles"];
    assert_eq!(violated(&report(equal, BACK, &names)), ["validity"]);
    assert_eq!(violated(&report(equal, CUT, &["stabilises"])), [""; 0]);
}

/// Two time-outs of the same length expire at the same tick.
#[test]
fn equal_skews_make_two_active_routers_with_perfect_timing_and_with_a_clock() {
    let crash = Faults { crashes: 1, ..Faults::NONE };
    let perfect = Scenario::calm(3).with_crashes(1, 0);
    let same = report(variant("equal-priorities"), perfect, &["at-most-one-leader"]);
    assert_eq!(violated(&same), ["at-most-one-leader"]);
    let scenario = |skew, down| timed(Vrrp::RFC9568, (1, 2, skew, down), crash);
    let at_once = report(variant("equal-priorities"), scenario(3, 6), &["at-most-one-leader"]);
    assert_eq!(violated(&at_once), ["at-most-one-leader"]);
    let apart = report(Vrrp::RFC9568, scenario(3, 6), &["at-most-one-leader", "stabilises"]);
    assert_eq!(violated(&apart), [""; 0]);
    let close = report(Vrrp::RFC9568, scenario(1, 6), &["at-most-one-leader"]);
    assert_eq!(violated(&close), ["at-most-one-leader"], "the skew is shorter than messages take");
}

#[test]
fn the_owner_of_the_address_preempts_whatever_the_switch_says() {
    let owner = Vrrp { preempt: false, ..variant("owner") };
    let crash = Scenario::calm(2).with_crashes(1, 1);
    let names = ["at-most-one-leader", "stabilises"];
    assert_eq!(violated(&report(owner, crash, &names)), ["at-most-one-leader"]);
    assert_eq!(violated(&report(variant("no-preempt"), crash, &["stabilises"])), ["stabilises"]);
}

#[test]
fn after_a_cut_heals_the_higher_of_two_stays_even_without_preemption() {
    for name in ["rfc9568", "no-preempt"] {
        let found = report(variant(name), CUT, &["at-most-one-leader", "stabilises"]);
        assert_eq!(violated(&found), ["at-most-one-leader"], "{name}");
    }
}

#[test]
fn an_orderly_restart_is_noticed_within_the_skew() {
    let found = report(variant("restart"), Scenario::calm(3), &[]);
    assert_eq!(violated(&found), ["at-most-one-leader", "follower-bound"]);
    let stays = Vrrp { preempt: false, ..variant("restart") };
    let names = ["at-most-one-leader", "settles", "validity"];
    assert_eq!(violated(&report(stays, Scenario::calm(3), &names)), ["validity"]);
    assert!(story(&found, "at-most-one-leader").contains(&"2's skew timer expires".to_owned()));
}

fn timed(
    rules: Vrrp,
    (delay, advertise, skew, down): (u8, u8, u8, u8),
    faults: Faults,
) -> Scenario {
    let durations = [("t-advertise", advertise), ("t-skew", skew), ("t-down", down)];
    let needed = durations.into_iter().filter(|(name, _)| rules.skew || *name != "t-skew");
    let durations = Durations::of(needed).expect("few enough");
    let timed = Timed::of(Delay::AtMost(delay), durations);
    Scenario { timing: Timing::Timed(timed), faults, ..Scenario::calm(3) }
}

/// With two routers, `Active_Down_Interval` is two steps of skew longer than `t-down`.
#[test]
fn the_time_out_bears_a_lost_advertisement_for_each_interval_that_it_is_longer() {
    for (delay, losses) in [(1, 0), (3, 0), (1, 1), (1, 2)] {
        let (advertise, skew) = (4, 1);
        let enough = (losses + 1) * advertise + delay + 1 - 2 * skew;
        let faults = Faults { crashes: 1, losses: losses.into(), ..Faults::NONE };
        let with = |down| {
            let durations = (delay, advertise, skew, down);
            let scenario = Scenario { nodes: 2, ..timed(Vrrp::RFC9568, durations, faults) };
            report(Vrrp::RFC9568, scenario, &["timeouts-accurate"]).verdict()
        };
        let found = (with(enough - 1), with(enough));
        assert_eq!(found, (Verdict::Violated, Verdict::Holds), "Tm {delay}, {losses} lost");
    }
}

#[test]
fn a_lost_advertisement_undoes_the_order_that_the_skew_makes() {
    let durations = (1, 4, 3, 12);
    let losing = |losses: u8| {
        let faults = Faults { crashes: 1, losses: losses.into(), ..Faults::NONE };
        let scenario = timed(Vrrp::RFC9568, durations, faults);
        report(Vrrp::RFC9568, scenario, &["at-most-one-leader"]).verdict()
    };
    assert_eq!((losing(0), losing(1)), (Verdict::Holds, Verdict::Violated));
}

#[test]
fn both_engines_see_the_same_states() {
    let crash = Faults { crashes: 1, ..Faults::NONE };
    for scenario in [BACK, timed(Vrrp::RFC9568, (1, 2, 3, 4), crash)] {
        let world = World::new(Vrrp::RFC9568, scenario).expect("possible");
        let asked = property::select(&world, &["follower-bound".to_owned()]).expect("it exists");
        let states = |engine| {
            let options = Options { engine, ..Options::default() };
            check(&world, &asked, &options, &mut |_| {}).expect("asked").counts.distinct
        };
        assert_eq!(states(Engine::Exact), states(Engine::Bfs));
    }
}
