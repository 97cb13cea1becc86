//! What the checker decides about the invitation algorithm. Every property that holds fails
//! somewhere: in another variant, or in another world.

use bellwether_model::check::{Decision, Options, Report, Verdict, check};
use bellwether_model::property::{self, Property};
use bellwether_model::protocol::invitation::{Counter, Group, Invitation, Message, Priority};
use bellwether_model::protocol::{Protocol, enough};
use bellwether_model::world::{
    Delay, Drift, Durations, Faults, Heals, Missing, Scenario, Slow, Start, Timed, Timing, World,
};

fn world(rules: Invitation, scenario: Scenario) -> World {
    World::new(rules, scenario).expect("the scenario is possible")
}

fn asked(world: &World, properties: &[Property]) -> Report {
    check(world, properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

/// What is asked when nothing is named, and what the lecture notes say besides.
fn report(rules: Invitation, scenario: Scenario) -> Report {
    let world = world(rules, scenario);
    let mut properties = property::select(&world, &[]).expect("all exist");
    let more = ["one-group", "halted"].map(str::to_owned);
    properties.extend(property::select(&world, &more).expect("both exist"));
    asked(&world, &properties)
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

fn decision<'r>(report: &'r Report, name: &str) -> &'r Decision {
    let found = report.decisions.iter().find(|d| d.property.name == name);
    found.unwrap_or_else(|| panic!("{name} was not checked"))
}

fn variant(name: &str) -> Invitation {
    Invitation::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn cold(nodes: usize) -> Scenario {
    Scenario { start: Start::Cold, ..Scenario::calm(nodes) }
}

fn without(links: &[&str]) -> Missing {
    let links = links.iter().map(|link| link.parse::<Missing>().expect("a link"));
    links.fold(Missing::NONE, Missing::and)
}

fn with(faults: Faults, scenario: Scenario) -> Scenario {
    Scenario { faults, ..scenario }
}

/// What the lecture notes say besides fails as soon as there are three: one may be in two groups
/// as far as their coordinators know, and work for one that has left it.
#[test]
fn who_starts_alone_ends_in_one_group() {
    let two: &[_] = &["at-most-one-leader"];
    for (nodes, fails) in [(2, two), (3, &["at-most-one-leader", "one-group", "halted"])] {
        let report = report(Invitation::PAPER, cold(nodes));
        assert_eq!(violated(&report), fails, "{nodes} nodes");
        assert_eq!(open(&report), [""; 0], "{nodes} nodes");
    }
}

#[test]
fn two_that_invite_each_other_do_so_for_ever_without_a_delay() {
    let no_delay = report(variant("no-delay"), cold(2));
    assert_eq!(violated(&no_delay), ["at-most-one-leader", "settles", "assertion-4"]);
    let lasso = decision(&no_delay, "assertion-4").counterexample.as_ref().expect("a lasso");
    let cycle = lasso.cycle.as_ref().expect("it goes on for ever");
    let told: Vec<String> = cycle.iter().map(ToString::to_string).collect();
    let happens = |what: &str| told.iter().filter(|step| step.contains(what)).count();
    assert_eq!(happens("accepts timer expires"), 2, "each merges, and is alone again: {told:?}");
    assert_eq!(happens("INVITATION"), 2, "{told:?}");
    assert_eq!(happens("ACCEPT("), 0, "{told:?}");
    for cured in [Priority::Delay, Priority::IgnoreLower] {
        let cured = report(Invitation { priority: cured, ..Invitation::PAPER }, cold(2));
        assert_eq!(violated(&cured), ["at-most-one-leader"]);
    }
}

#[test]
fn a_crash_leaves_one_group_also_if_a_message_is_lost() {
    let crash = Scenario::calm(3).with_crashes(1, 0);
    let loss = Faults { losses: 1.into(), ..crash.faults };
    let after_a_crash = report(Invitation::PAPER, crash);
    assert_eq!(violated(&after_a_crash), ["at-most-one-leader"]);
    assert_eq!(open(&after_a_crash), [""; 0]);
    let lost = report(Invitation::PAPER, with(loss, crash));
    let (promised, besides) = (&violated(&lost)[..1], &violated(&lost)[1..]);
    assert_eq!((promised, open(&lost)), (&["at-most-one-leader"][..], vec![]));
    assert!(besides.iter().all(|name| ["one-group", "halted"].contains(name)), "{besides:?}");
}

#[test]
fn a_restart_leaves_one_group() {
    let scenario = Scenario::calm(3).with_crashes(1, 1);
    let world = world(Invitation::PAPER, scenario);
    let properties = property::select(&world, &[]).expect("all exist");
    let report = asked(&world, &properties);
    assert_eq!((violated(&report), open(&report)), (vec!["at-most-one-leader"], vec![]));
}

/// No time-out can be trusted: what is promised of every moment is kept, what is promised of the
/// end is not.
#[test]
fn without_timing_assertion_3_stays_and_assertion_4_goes() {
    let scenario =
        Scenario { timing: Timing::Asynchronous, capacity: Some(1), ..Scenario::calm(2) };
    let report = report(Invitation::PAPER, scenario.with_crashes(1, 1));
    for kept in ["assertion-3", "numbers-unique"] {
        assert_eq!(decision(&report, kept).verdict, Verdict::HoldsWithin, "{kept}");
    }
    assert_eq!(report.bounds_met, ["1 message on a link"]);
    assert_eq!(decision(&report, "assertion-4").verdict, Verdict::Violated);
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

#[test]
fn a_lost_message_costs_a_new_group_unless_the_task_is_not_acknowledged() {
    let loss = with(Faults { losses: 1.into(), ..Faults::NONE }, cold(2));
    let paper = report(Invitation::PAPER, loss);
    assert_eq!(violated(&paper), ["at-most-one-leader", "halted"]);
    let unacknowledged = report(variant("unacknowledged"), loss);
    let stuck = ["at-most-one-leader", "decided", "settles", "assertion-4"];
    assert_eq!(violated(&unacknowledged), stuck);
}

#[test]
fn a_cut_that_heals_leaves_one_group() {
    let cut = Faults { cuts: 1, ..Faults::NONE };
    let cut = Scenario { heals: Heals::Must, capacity: Some(2), ..with(cut, Scenario::calm(3)) };
    let report = report(Invitation::PAPER, cut);
    assert!(!violated(&report).contains(&"assertion-4"), "{:?}", violated(&report));
    assert_eq!(decision(&report, "assertion-3").verdict, Verdict::Holds);
}

#[test]
fn a_volatile_counter_gives_a_number_twice_and_a_stable_one_does_not() {
    let crash = Scenario::calm(2).with_crashes(1, 1);
    let volatile = report(variant("volatile"), crash);
    assert!(violated(&volatile).contains(&"numbers-unique"));
    let paper = report(Invitation::PAPER, crash);
    assert_eq!(decision(&paper, "numbers-unique").verdict, Verdict::Holds);
    assert_eq!(decision(&paper, "assertion-3").verdict, Verdict::Holds);
}

/// The paper's claim is that no two processes are told apart wrongly by the same number. Three are
/// needed: one that is still in the old group, one that joins the new one of the same number.
#[test]
fn a_number_that_is_used_again_names_two_groups_at_once() {
    let crash = Scenario::calm(3).with_crashes(1, 1);
    let world = world(variant("volatile"), crash);
    let assertion = property::select(&world, &["assertion-3".to_owned()]).expect("it exists");
    let found = asked(&world, &assertion);
    assert_eq!(violated(&found), ["assertion-3"]);
}

/// A path of three with the middle in the middle: the two links form two maximal sets, and the
/// process between can be in one group only.
#[test]
fn where_hearing_is_not_transitive_assertion_4_fails_unless_the_highest_is_between() {
    for (missing, fails) in [("1-3", true), ("2-3", true), ("1-2", false)] {
        let path = Scenario { missing: without(&[missing]), ..cold(3) };
        let report = report(Invitation::PAPER, path);
        assert_eq!(violated(&report).contains(&"assertion-4"), fails, "without {missing}");
        assert_eq!(decision(&report, "assertion-3").verdict, Verdict::Holds);
        assert_eq!(decision(&report, "decided").verdict, Verdict::Holds);
    }
}

/// On a path of four no algorithm can keep it: neighbouring sets share a process, which has one
/// coordinator, so all four have the same, and no process is in all three sets.
#[test]
fn on_a_path_of_four_assertion_4_fails_whoever_is_where() {
    let paths = [["1-3", "1-4", "2-4"], ["1-2", "2-4", "1-3"]];
    for missing in paths {
        let path = Scenario { missing: without(&missing), ..cold(4) };
        let world = world(Invitation::PAPER, path);
        let assertion = property::select(&world, &["assertion-4".to_owned()]).expect("it exists");
        assert_eq!(violated(&asked(&world, &assertion)), ["assertion-4"], "without {missing:?}");
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
