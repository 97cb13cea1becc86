//! What the checker decides about the election of OSPF's designated router, and about it without
//! one of its rules at a time. Each property has rules or a world in which it fails.

use bellwether_model::check::{Decision, Engine, Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::ospf_dr::{Eligible, Interface, OspfDr};
use bellwether_model::world::{
    Delay, Durations, Faults, Heals, Scenario, Start, State, Timed, Timing, World,
};

fn report(rules: OspfDr, scenario: Scenario, names: &[&str]) -> Report {
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

fn verdict(rules: OspfDr, scenario: Scenario, name: &str) -> Verdict {
    report(rules, scenario, &[name]).verdict()
}

fn variant(name: &str) -> OspfDr {
    OspfDr::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

/// The last state of the counterexample.
fn end(report: &Report, name: &str) -> State {
    let found = decision(report, name).counterexample.as_ref();
    let found = found.unwrap_or_else(|| panic!("{name} is not violated"));
    let world = &report.world;

    found.steps.iter().fold(world.initial(), |state, step| world.apply(&state, step).state)
}

fn cold(nodes: usize) -> Scenario {
    Scenario { start: Start::Cold, ..Scenario::calm(nodes) }
}

fn without(nodes: usize, link: &str) -> Scenario {
    Scenario { missing: link.parse().expect("a link"), ..Scenario::calm(nodes) }
}

const CUT: Scenario = Scenario {
    faults: Faults { cuts: 1, ..Faults::NONE },
    heals: Heals::Must,
    ..Scenario::calm(2)
};

#[test]
fn who_starts_together_elects_the_highest_and_the_next_as_its_backup() {
    for nodes in [2, 3] {
        let found = report(OspfDr::RFC2328, cold(nodes), &[]);
        assert_eq!(violated(&found), [""; 0], "{nodes} nodes");
        assert_eq!(verdict(OspfDr::RFC2328, cold(nodes), "stabilises"), Verdict::Holds);
    }
}

#[test]
fn the_backup_succeeds_the_designated_router_and_there_are_never_two() {
    let found = report(OspfDr::RFC2328, Scenario::calm(3).with_crashes(1, 0), &[]);
    assert_eq!(violated(&found), [""; 0]);
    assert_eq!(found.verdict(), Verdict::Holds);
}

#[test]
fn who_is_in_office_stays_when_a_better_one_comes() {
    let crash = Scenario::calm(3).with_crashes(1, 1);
    let found = report(OspfDr::RFC2328, crash, &["validity", "settles", "backup-settles"]);
    assert_eq!(violated(&found), ["validity"]);
    let end = end(&found, "validity");
    let interfaces: Vec<_> = end.ids().map(|id| end.process_of::<OspfDr>(id).interface).collect();
    assert_eq!(interfaces, [Interface::Backup, Interface::Dr, Interface::DrOther]);
    for expected in ["validity", "stabilises"] {
        assert_eq!(verdict(variant("preempting"), crash, expected), Verdict::Holds, "{expected}");
    }
}

#[test]
fn two_routers_that_each_wait_for_nothing_lead_at_the_same_time() {
    let crash = Scenario::calm(2).with_crashes(1, 1);
    assert_eq!(verdict(OspfDr::RFC2328, crash, "validity"), Verdict::Violated);
    let found = report(variant("without-waiting"), crash, &[]);
    assert_eq!(violated(&found), ["at-most-one-leader"]);
    // A router that recovers declares itself DR at once, and the higher of two DRs wins.
    assert_eq!(verdict(variant("without-waiting"), crash, "validity"), Verdict::Holds);
}

#[test]
fn a_network_in_two_halves_has_two_designated_routers_until_it_heals() {
    let cut = report(OspfDr::RFC2328, CUT, &["at-most-one-leader", "settles", "stabilises"]);
    assert_eq!(violated(&cut), ["at-most-one-leader"]);
    let split = report(OspfDr::RFC2328, without(2, "1-2"), &[]);
    assert!(violated(&split).contains(&"settles"), "{:?}", violated(&split));
}

#[test]
fn a_link_in_one_direction_is_no_link() {
    let deaf = Scenario { start: Start::Cold, ..without(2, "2>1") };
    // 2 hears 1 and is not heard. By the standard it is alone; else it relies on who is deaf to it.
    let names = ["at-most-one-leader", "dr-hears", "settles"];
    assert_eq!(violated(&report(OspfDr::RFC2328, deaf, &names)), [names[0], names[2]]);
    let found = report(variant("one-way"), deaf, &names);
    assert!(violated(&found).contains(&"dr-hears"), "{:?}", violated(&found));
}

#[test]
fn without_the_fourth_step_a_router_takes_itself_for_both() {
    let crash = Scenario::calm(3).with_crashes(1, 0);
    let found = report(variant("without-repeat"), crash, &["never-both", "backup-settles"]);
    assert!(violated(&found).contains(&"never-both"), "{:?}", violated(&found));
    let back = Scenario::calm(3).with_crashes(1, 1);
    assert_eq!(verdict(variant("without-repeat"), back, "backup-settles"), Verdict::Violated);
}

#[test]
fn who_has_the_priority_zero_is_never_elected() {
    let rules = OspfDr { eligible: Eligible::AllButHighest, ..OspfDr::RFC2328 };
    let found = report(rules, cold(3), &["validity", "settles", "backup-settles"]);
    assert_eq!(violated(&found), ["validity"]);
    let rules = OspfDr { eligible: Eligible::OnlyHighest, ..OspfDr::RFC2328 };
    let found = report(rules, Scenario::calm(3).with_crashes(1, 0), &["decided", "backup-settles"]);
    assert_eq!(violated(&found), ["decided"], "no router can succeed");
}

#[test]
fn a_neighbour_may_be_silent_for_an_interval_more_for_each_lost_hello() {
    for (delay, losses) in [(1, 0), (3, 0), (1, 1), (1, 2), (1, 3)] {
        let hello = 4;
        let enough = (losses + 1) * hello + delay + 1;
        let with = |dead| {
            let durations = [("t-hello", hello), ("t-dead", dead), ("t-wait", 32)];
            let durations = Durations::of(durations).expect("few enough");
            let delay = Delay::AtMost(delay);
            let timing = Timing::Timed(Timed::of(delay, durations));
            let faults = Faults { crashes: 1, losses: losses.into(), ..Faults::NONE };
            let scenario = Scenario { timing, faults, ..Scenario::calm(2) };
            verdict(OspfDr::RFC2328, scenario, "timeouts-accurate")
        };
        let found = (with(enough - 1), with(enough));
        assert_eq!(found, (Verdict::Violated, Verdict::Holds), "Tm {delay}, {losses} lost");
    }
}

#[test]
fn both_engines_see_the_same_states() {
    let world =
        World::new(OspfDr::RFC2328, Scenario::calm(2).with_crashes(1, 1)).expect("possible");
    let asked = property::select(&world, &["never-both".to_owned()]).expect("it exists");
    let states = |engine| {
        let options = Options { engine, ..Options::default() };
        check(&world, &asked, &options, &mut |_| {}).expect("asked").counts.distinct
    };
    assert_eq!(states(Engine::Exact), states(Engine::Bfs));
}
