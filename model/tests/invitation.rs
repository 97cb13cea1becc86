//! The invitation algorithm: how two invite each other for ever, which time-outs are enough, and
//! that calling groups by their ranks changes no verdict.

use bellwether_model::check::{Options, Report, Verdict, check};
use bellwether_model::property::{self, Property};
use bellwether_model::protocol::invitation::{Counter, Group, Invitation, Message};
use bellwether_model::protocol::{Protocol, enough};
use bellwether_model::world::{
    Delay, Drift, Durations, Faults, Scenario, Slow, Start, Timed, Timing, World,
};

fn world(rules: Invitation, scenario: Scenario) -> World {
    World::new(rules, scenario).expect("the scenario is possible")
}

fn asked(world: &World, properties: &[Property]) -> Report {
    check(world, properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn violated(report: &Report) -> Vec<&'static str> {
    let violated = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    violated.map(|d| d.property.name).collect()
}

/// What is neither violated nor holds.
fn open(report: &Report) -> Vec<&'static str> {
    let decided = [Verdict::Holds, Verdict::Violated];
    let open = report.decisions.iter().filter(|d| !decided.contains(&d.verdict));
    open.map(|d| d.property.name).collect()
}

fn variant(name: &str) -> Invitation {
    Invitation::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn cold(nodes: usize) -> Scenario {
    Scenario { start: Start::Cold, ..Scenario::calm(nodes) }
}

fn with(faults: Faults, scenario: Scenario) -> Scenario {
    Scenario { faults, ..scenario }
}

#[test]
fn two_that_invite_each_other_do_so_for_ever_without_a_delay() {
    let no_delay = world(variant("no-delay"), cold(2));
    let assertion = property::select(&no_delay, &["assertion-4".to_owned()]).expect("it exists");
    let report = asked(&no_delay, &assertion);
    let lasso = report.decisions[0].counterexample.as_ref().expect("a lasso");
    let cycle = lasso.cycle.as_ref().expect("it goes on for ever");
    let told: Vec<String> = cycle.iter().map(ToString::to_string).collect();
    let happens = |what: &str| told.iter().filter(|step| step.contains(what)).count();
    assert_eq!(happens("accepts timer expires"), 2, "each merges, and is alone again: {told:?}");
    assert_eq!(happens("INVITATION"), 2, "{told:?}");
    assert_eq!(happens("ACCEPT("), 0, "{told:?}");
}

/// The durations with which the survey asks, and one tick less of each that others depend on.
#[test]
fn what_is_enough_is_no_longer_than_it_must_be() {
    let accurate = |nodes, replaced: Option<(&'static str, u8)>| {
        let all = enough::<Invitation>();
        let durations = all.into_iter().map(|(name, ticks)| match replaced {
            Some((other, ticks)) if other == name => (name, ticks),
            _ => (name, ticks),
        });
        let durations = Durations::of(durations).expect("possible");
        let (delay, drift) = (Delay::AtMost(1), Drift::NONE);
        let timed =
            Timed { delay, slow: Slow::NONE, processing: 0, drift, durations, within: None };
        let scenario =
            Scenario { timing: Timing::Timed(timed), ..Scenario::calm(nodes).with_crashes(1, 1) };
        let world = world(Invitation::PAPER, scenario);
        let property = property::select(&world, &["timeouts-accurate".to_owned()]);
        violated(&asked(&world, &property.expect("it exists"))).is_empty()
    };
    assert!(accurate(3, None));
    for (nodes, shorter) in [(2, ("t-answer", 2)), (3, ("t-accept", 3)), (3, ("t-delay", 10))] {
        assert!(!accurate(nodes, Some(shorter)), "{shorter:?}");
    }
}

/// Walks the world and its plain twin side by side: the same things can happen in both, one for
/// one, and every property says the same of both.
fn twins(rules: Invitation, scenario: Scenario) -> usize {
    let world = world(rules, scenario);
    let plain = world.concrete();
    let properties: Vec<_> =
        property::all::<Invitation>().into_iter().map(|p| p.temporal).collect();
    let judge = |world: &World, state: &_| -> Vec<bool> {
        let mut said = Vec::new();
        for temporal in &properties {
            let _ = temporal.clone().map(|condition| said.push(condition.holds(world, state)));
        }
        said
    };
    let mut renamed = std::collections::HashMap::new();
    let mut left = vec![(plain.initial(), world.initial())];
    while let Some((there, here)) = left.pop() {
        if !plain.within_bounds(&there) {
            continue;
        }
        match renamed.get(&there) {
            Some(known) => {
                assert_eq!(*known, here, "the name depends on the way");
                continue;
            }
            None => renamed.insert(there.clone(), here.clone()),
        };
        assert_eq!(judge(&plain, &there), judge(&world, &here), "{there:?}\n{here:?}");
        let (mut plainly, mut otherwise) = (Vec::new(), Vec::new());
        plain.enabled(&there, &mut plainly);
        world.enabled(&here, &mut otherwise);
        assert_eq!(plainly.len(), otherwise.len(), "{there:?}\n{here:?}");
        for (a, b) in plainly.iter().zip(&otherwise) {
            let kind = |text: String| text.split('(').next().map(str::to_owned);
            assert_eq!(kind(a.to_string()), kind(b.to_string()));
            left.push((plain.apply(&there, a).state, world.apply(&here, b).state));
        }
    }
    let distinct: std::collections::HashSet<_> = renamed.values().collect();
    assert!(distinct.len() <= renamed.len());
    renamed.len() - distinct.len()
}

#[test]
fn calling_groups_by_their_ranks_changes_no_verdict() {
    let merged = twins(variant("no-delay"), cold(2));
    assert!(merged > 0, "where groups are formed for ever, names matter");
    twins(Invitation::PAPER, Scenario::calm(2).with_crashes(1, 1));
    let faults = Faults { losses: 1.into(), duplicates: 1, suspicions: 1, ..Faults::NONE };
    twins(Invitation::PAPER, Scenario { capacity: Some(2), ..with(faults, cold(2)) });
    twins(Invitation::PAPER, cold(3));
}

/// In worlds in which few groups are formed, both ways of counting reach their end.
#[test]
fn the_verdicts_are_those_of_the_plain_world() {
    for scenario in [cold(2), cold(3), Scenario::calm(2).with_crashes(1, 1)] {
        let ranked = world(Invitation::PAPER, scenario);
        let properties = property::select(&ranked, &[]).expect("all exist");
        let (ranked, plain) = (asked(&ranked, &properties), asked(&ranked.concrete(), &properties));
        assert_eq!(violated(&ranked), violated(&plain), "{scenario}");
        assert_eq!((open(&ranked), open(&plain)), (vec![], vec![]), "{scenario}");
    }
}

#[test]
fn a_volatile_counter_is_not_renamed() {
    let rules = Invitation { counter: Counter::Volatile, ..Invitation::PAPER };
    assert_eq!(twins(rules, Scenario::calm(2).with_crashes(1, 1)), 0);
}

#[test]
fn groups_and_members_are_read_as_they_are_written() {
    let group: Group = "3.12".parse().expect("a group");
    assert_eq!(
        (group.coordinator.number(), group.number, group.to_string()),
        (3, 12, "3.12".into())
    );
    for wrong in ["", "3", "0.1", "129.1", "3.x", "3.256"] {
        assert!(wrong.parse::<Group>().is_err(), "{wrong:?}");
    }
    let ready = |task| format!(r#"{{"ready":{{"group":"3.12","task":"{task}"}}}}"#);
    for task in ["", "1", "1+3"] {
        let message: Message = serde_json::from_str(&ready(task)).expect("a READY");
        assert_eq!(serde_json::to_string(&message).expect("JSON"), ready(task));
    }
    assert!(serde_json::from_str::<Message>(&ready("1+129")).is_err());
}
