//! What the checker decides about the bully and its variants, as far as `model/verdicts/bully.toml`
//! does not say it. Every property has a variant on which it fails, and every violation is found by
//! a shortest execution.

use bellwether_model::check::{self, Decision, Engine, Options, Reason, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::bully::{Bully, Challenged};
use bellwether_model::protocol::{Id, Protocol};
use bellwether_model::world::{Action, Network, Scenario, Start, Timing, World};
use std::collections::{BTreeSet, HashSet};

fn report(rules: Bully, scenario: Scenario) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let properties = property::select(&world, &[]).expect("all exist");
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

/// The steps of the counterexample, in words.
fn story(report: &Report, name: &str) -> Vec<String> {
    let found = decision(report, name).counterexample.as_ref();
    let steps = found.unwrap_or_else(|| panic!("{name} is not violated")).steps.iter();
    steps.map(ToString::to_string).collect()
}

#[test]
fn a_link_that_is_missing_in_one_direction_leaves_two_leaders_for_good() {
    let deaf = Scenario { missing: "3>2".parse().expect("a link"), ..Scenario::calm(3) };
    let report = report(Bully::RECOMMENDED, deaf);
    // 2 does not hear 3 and leads as well; 1 hears both, and follows the higher.
    assert_eq!(violated(&report), ["at-most-one-leader", "stabilises"]);
    assert_eq!(report.world.scenario().missing.words(), ["3>2"]);
    let path = Scenario { missing: "1-3".parse().expect("a link"), ..Scenario::calm(3) };
    assert!(path.to_string().contains("(without 1-3)"), "{path}");
}

/// 1 does not hear 3, and asks 2 again and again.
#[test]
fn a_broken_link_disturbs_no_process_that_hears_the_leader() {
    let scenario = Scenario { missing: "1-3".parse().expect("a link"), ..Scenario::calm(3) };
    let roles = |challenged| {
        let rules = Bully { challenged, ..Bully::RECOMMENDED };
        let world = World::new(rules, scenario).expect("the scenario is possible");
        let (mut found, mut seen) = (BTreeSet::new(), HashSet::from([world.initial()]));
        let mut open = vec![world.initial()];
        while let Some(state) = open.pop().filter(|_| seen.len() < 1_000) {
            found.insert(state.process(Id::at(1)).role());
            let mut actions = Vec::new();
            world.enabled(&state, &mut actions);
            let next = actions.iter().map(|action| world.apply(&state, action).state);
            open.extend(next.filter(|next| seen.insert(next.clone())));
        }
        (found.into_iter().collect::<Vec<_>>(), seen.len() < 1_000)
    };
    assert_eq!(roles(Challenged::Answers), (vec!["follower"], true));
    assert_eq!(roles(Challenged::Elects).0, ["candidate", "follower", "waiting"]);
}

#[test]
fn a_group_without_the_second_time_out_ends_and_does_not_go_round() {
    let rules = Bully { t_coord: false, ..Bully::RECOMMENDED };
    let two = report(rules, Scenario::calm(3).with_crashes(2, 0));
    let lasso = decision(&two, "stabilises").counterexample.as_ref().expect("it is violated");
    assert_eq!(lasso.cycle.as_deref(), Some(&[][..]), "nothing happens any more");
}

#[test]
fn a_premature_time_out_makes_two_leaders_in_an_asynchronous_world() {
    let scenario =
        Scenario { timing: Timing::Asynchronous, network: Network::Set, ..Scenario::calm(2) };
    let report = report(Bully::RECOMMENDED, scenario);
    assert_eq!(
        story(&report, "at-most-one-leader"),
        ["1's watch timer expires", "1's election timer expires"]
    );
    let lasso = decision(&report, "stabilises").counterexample.as_ref().expect("it is violated");
    assert!(lasso.cycle.as_ref().is_some_and(|cycle| !cycle.is_empty()), "it goes round for ever");
    // An armed timer may always expire, so no state is ever quiescent, and nothing is claimed.
    assert_eq!(decision(&report, "agreement").reason, Some(Reason::Vacuous));
}

#[test]
fn heartbeats_to_a_process_that_is_down_do_not_disturb_the_rest() {
    let world =
        World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(1, 0)).expect("it can be");
    let follower = world.ids().next().expect("there is one");
    let crashed = world.apply(&world.initial(), &Action::Crash(follower)).state;
    assert!(world.is_quiescent(&crashed), "{crashed:?}");
}

/// A property that cannot fail says nothing.
#[test]
fn every_property_fails_on_some_variant() {
    let mut failing: Vec<&str> = Vec::new();
    for variant in Bully::VARIANTS {
        for (start, crashes, recoveries) in
            [(Start::Converged, 2, 0), (Start::Converged, 1, 1), (Start::Cold, 0, 0)]
        {
            // Elections of the chapter's variant go on for long when a restart says IM_BACK.
            let scenario = Scenario { capacity: Some(3), start, ..Scenario::calm(3) };
            let scenario = scenario.with_crashes(crashes, recoveries);
            let world = World::new(variant.rules, scenario).expect("the scenario is possible");
            let properties = property::all::<Bully>();
            let report = check(&world, &properties, &Options::default(), &mut |_| {});
            failing.extend(violated(&report.expect("something is asked")));
        }
    }
    for property in property::all::<Bully>() {
        assert!(failing.contains(&property.name), "{} fails nowhere", property.name);
    }
}

/// Stateright's breadth-first search, one property at a time, finds executions as short as ours.
#[test]
fn stateright_finds_the_same_violations_and_none_shorter() {
    let compared = Bully::VARIANTS.iter().map(|variant| {
        // Elections of the chapter's variant go on for long when a restart says IM_BACK.
        let capacity = (variant.name == "chapter").then_some(3);
        let scenario = Scenario { capacity, ..Scenario::calm(3).with_crashes(1, 1) };
        let exact = report(variant.rules, scenario);
        let properties: Vec<_> = exact.decisions.iter().map(|d| d.property.clone()).collect();
        let options = Options { engine: Engine::Bfs, ..Options::default() };
        let theirs = check::check(&exact.world, &properties, &options, &mut |_| {});
        let theirs = theirs.expect("same counts");
        for (ours, theirs) in exact.decisions.iter().zip(&theirs.decisions) {
            let what = format!("{}: {}", variant.name, ours.property.name);
            assert_eq!(ours.verdict, theirs.verdict, "{what}");
            let length = |d: &Decision| d.counterexample.as_ref().map(|c| c.steps.len());
            assert_eq!(length(ours), length(theirs), "{what}");
        }
        exact.decisions.len()
    });
    assert!(compared.sum::<usize>() >= 80);
}

/// So much is asked as there is room for, and most of it in a premise that many have.
#[test]
fn stateright_is_asked_as_much_as_the_exact_engine() {
    let world = World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(1, 0));
    let world = world.expect("the scenario is possible");
    let mut names: Vec<_> =
        (0..27).map(|least| property::never(&format!("crashes > {least}"))).collect();
    names.extend(["agreement", "validity", "decided"].map(str::to_owned));
    let properties = property::select(&world, &names).expect("all exist");
    let verdicts = |engine| {
        let options = Options { engine, ..Options::default() };
        let report = check(&world, &properties, &options, &mut |_| {}).expect("there is room");
        report.decisions.iter().map(|decision| decision.verdict).collect::<Vec<_>>()
    };
    let exact = verdicts(Engine::Exact);
    assert_eq!((exact[0], exact[1]), (Verdict::Violated, Verdict::Holds));
    assert_eq!(verdicts(Engine::Bfs), exact);
}
