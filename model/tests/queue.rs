//! What the checker decides about the queue and its variants, and what a crash costs.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Decision, Limits, Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::queue::{Entries, Message, Own, Queue, Silence};
use bellwether_model::trace::Trace;
use bellwether_model::world::{
    Delay, Durations, Faults, Heals, Network, Scenario, Start, Symmetry,
};
use bellwether_model::world::{Timed, Timing, World};

fn variant(name: &str) -> Queue {
    Queue::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn report(rules: Queue, scenario: Scenario) -> Report {
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

fn story(report: &Report, name: &str) -> Vec<String> {
    let found = decision(report, name).counterexample.as_ref();
    let steps = found.unwrap_or_else(|| panic!("{name} is not violated")).steps.iter();
    steps.map(ToString::to_string).collect()
}

fn with(nodes: usize, faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(nodes) }
}

fn cold(nodes: usize) -> Scenario {
    Scenario { start: Start::Cold, ..Scenario::calm(nodes) }
}

/// A cut link that heals in the end.
fn cut(nodes: usize) -> Scenario {
    let faults = Faults { cuts: 1, ..Faults::NONE };
    Scenario { heals: Heals::Must, capacity: Some(2), ..with(nodes, faults) }
}

#[test]
fn the_recommended_rules_keep_everything_but_the_moment_after_an_early_end_of_a_session() {
    let worlds = [
        with(3, Faults { crashes: 1, ..Faults::NONE }),
        with(3, Faults { crashes: 2, ..Faults::NONE }),
        with(3, Faults { crashes: 1, recoveries: 1, ..Faults::NONE }),
        with(3, Faults { crashes: 1, losses: 1.into(), ..Faults::NONE }),
        cut(3),
        cold(3),
        Scenario { start: Start::Cold, ..with(2, Faults { losses: 1.into(), ..Faults::NONE }) },
        Scenario { start: Start::Cold, ..with(2, Faults { crashes: 1, ..Faults::NONE }) },
    ];
    for scenario in worlds {
        let report = report(Queue::RECOMMENDED, scenario);
        assert_eq!(violated(&report), [""; 0], "{scenario}");
        assert_eq!(report.verdict(), Verdict::Holds, "{scenario}");
    }
    let early = with(3, Faults { suspicions: 1, ..Faults::NONE });
    let report = report(Queue::RECOMMENDED, early);
    assert_eq!(violated(&report), ["at-most-one-leader", "only-the-first-leads"]);
    assert_eq!(
        story(&report, "at-most-one-leader"),
        [
            "4's session(1) timer expires too early",
            "2 gets CHANGED from 4",
            "4 gets READ(2) from 2",
            "2 gets CHILDREN(2 of 2#2, 3 of 3#3) from 4",
        ]
    );
}

#[test]
fn who_watches_its_predecessor_does_not_learn_who_leads() {
    let report = report(variant("lock"), with(3, Faults { crashes: 1, ..Faults::NONE }));
    assert_eq!(violated(&report), ["agreement", "decided", "settles"]);
    assert_eq!(
        story(&report, "decided"),
        [
            "1 crashes",
            "4's session(1) timer expires",
            "2 gets CHANGED from 4",
            "4 gets READ(1) from 2",
            "2 gets CHILDREN(1 of 2#1, 2 of 3#2) from 4",
        ]
    );
    for name in ["first-leads", "at-most-one-leader", "only-the-first-leads"] {
        assert_eq!(decision(&report, name).verdict, Verdict::Holds, "{name}");
    }
}

#[test]
fn whoever_leads_when_told_leads_beside_the_leader_if_one_between_them_crashes() {
    let scenario = with(3, Faults { crashes: 1, ..Faults::NONE });
    let report = report(variant("without-re-check"), scenario);
    let steps = ["2 crashes", "4's session(2) timer expires", "3 gets CHANGED from 4"];
    assert_eq!(story(&report, "at-most-one-leader"), steps);
    assert_eq!(story(&report, "tokens-grow"), steps, "3 leads, and has the larger number");
}

/// The entry to be watched goes after the reading: who does not ask whether it is still there, or
/// takes no notice of the answer, is never told.
#[test]
fn a_watch_on_what_has_gone_is_never_told() {
    let scenario = with(3, Faults { crashes: 2, ..Faults::NONE });
    assert!(violated(&report(variant("recipe"), scenario)).contains(&"first-leads"));
    assert!(!violated(&report(variant("lock"), scenario)).contains(&"first-leads"));
}

#[test]
fn the_pseudocode_to_the_letter_elects_nobody_at_first() {
    assert_eq!(violated(&report(variant("recipe"), cold(2))), [""; 0]);
    let report = report(variant("pseudocode"), cold(2));
    assert_eq!(violated(&report), ["decided", "settles", "first-leads"]);
}

/// The reply that tells a client its entry is lost. By name it finds the entry again; otherwise it
/// creates another, and the first one stays for as long as the session: no client ever leads.
#[test]
fn without_a_name_a_lost_reply_leaves_an_entry_that_nobody_knows() {
    let scenario =
        Scenario { start: Start::Cold, ..with(2, Faults { losses: 1.into(), ..Faults::NONE }) };
    let unnamed = Queue { own: Own::Replied, ..Queue::LOCK };
    assert_eq!(violated(&report(Queue::LOCK, scenario)), [""; 0]);
    let found = violated(&report(unnamed, scenario));
    assert!(["one-entry", "first-leads"].iter().all(|name| found.contains(name)), "{found:?}");
}

#[test]
fn a_leader_that_is_cut_off_leads_beside_the_next_unless_it_stands_down() {
    let goes_on = Queue { silence: Silence::GoesOn, ..Queue::RECOMMENDED };
    let for_a_moment = report(goes_on, cut(3));
    assert_eq!(violated(&for_a_moment), ["at-most-one-leader", "only-the-first-leads"]);
    let for_ever = report(Queue { silence: Silence::Ignores, ..Queue::RECOMMENDED }, cut(3));
    assert!(violated(&for_ever).contains(&"settles"), "{:?}", violated(&for_ever));
}

/// Leaders out of turn have smaller numbers, so that what has seen a larger one can refuse them;
/// but not if numbers begin again.
#[test]
fn numbers_fence_unless_the_directory_counts_anew() {
    let faults = Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE };
    let kept = report(Queue::RECOMMENDED, with(2, faults));
    assert!(violated(&kept).contains(&"at-most-one-leader"), "else there is no client to refuse");
    assert_eq!(decision(&kept, "tokens-grow").verdict, Verdict::Holds);
    let anew = report(variant("container"), with(2, faults));
    assert!(violated(&anew).contains(&"tokens-grow"));
}

/// A property that cannot fail says nothing.
#[test]
fn every_property_of_the_queue_fails_on_some_variant() {
    let mut failing = Vec::new();
    for variant in Queue::VARIANTS.iter().filter(|v| v.name != "pings") {
        let faults = Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE };
        failing.extend(violated(&report(variant.rules, with(2, faults))));
        failing.extend(violated(&report(
            variant.rules,
            with(3, Faults { crashes: 1, ..Faults::NONE }),
        )));
        let faults = Faults { losses: 1.into(), ..Faults::NONE };
        failing.extend(violated(&report(
            variant.rules,
            Scenario { start: Start::Cold, ..with(2, faults) },
        )));
    }
    for property in Queue::PROPERTIES {
        assert!(failing.contains(&property.name), "{} fails nowhere", property.name);
    }
}

/// The most of what has this name.
fn most(rules: Queue, scenario: Scenario, name: &str) -> u64 {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let found = bounds(&world, Until::Rest, (Limits::NONE, 2), &mut |_| {}).expect("threads");
    assert!(found.incomplete.is_none(), "{scenario}");
    let line = found.lines.iter().find(|line| line.name() == name);
    match line.unwrap_or_else(|| panic!("{name} is not counted")).bound {
        Bound::Most(most, _) => most,
        Bound::Unbounded(_) => panic!("{name} has no bound"),
    }
}

/// The table in `docs/protocols/queue.md`.
#[test]
fn the_herd_costs_as_much_as_there_are_and_the_recipe_always_the_same() {
    for n in 2..=5_u64 {
        let scenario = Scenario::calm(usize::try_from(n).expect("small")).with_crashes(1, 0);
        let table = [
            ("lock", "messages/changed", 1),
            ("lock", "messages/read", 1),
            ("lock", "messages", if n == 2 { 3 } else { 5 }),
            ("herd", "messages/changed", n - 1),
            ("herd", "messages/read", n - 1),
            ("herd", "messages", 5 * n - 7),
            ("herd-directory", "messages/changed", n - 1),
            ("herd-directory", "messages", 3 * (n - 1)),
        ];
        for (name, metric, formula) in table {
            assert_eq!(
                most(variant(name), scenario, metric),
                formula,
                "{name}, {n} clients, {metric}"
            );
        }
    }
}

/// One after the other, in the worst order, until one is left.
#[test]
fn until_the_last_has_gone_the_herd_is_quadratic_and_the_recipe_linear() {
    for n in 2..=4_u8 {
        let scenario = Scenario::calm(n.into()).with_crashes(n - 1, 0);
        let n = u64::from(n);
        let table = [
            ("lock", "messages/changed", n - 1),
            ("lock", "messages", 5 * n - 7),
            ("herd", "messages/changed", n * (n - 1) / 2),
            ("herd", "messages", (n - 1) * (5 * n - 4) / 2),
            ("herd-directory", "messages", 3 * n * (n - 1) / 2),
        ];
        for (name, metric, formula) in table {
            assert_eq!(
                most(variant(name), scenario, metric),
                formula,
                "{name}, {n} clients, {metric}"
            );
        }
    }
}

#[test]
fn what_a_reply_lists_survives_being_written() {
    let text = r#"{"children":"1 of 2#5, 3 of 1#2"}"#;
    let message: Message = serde_json::from_str(text).expect("it can be read");
    assert_eq!(serde_json::to_string(&message).expect("it can be written"), text);
    let none: Entries = serde_json::from_str("\"\"").expect("no entries");
    assert_eq!(none.first(), None);
    for wrong in ["1", "1 of", "1 of 3", "x of 3#1", "1 of 9#1", "1 of 3#300"] {
        let text = format!("\"{wrong}\"");
        assert!(serde_json::from_str::<Entries>(&text).is_err(), "{wrong}");
    }
    let many = ["1 of 1#1"; 9].join(", ");
    assert!(serde_json::from_str::<Entries>(&format!("\"{many}\"")).is_err());
}

/// Numbers are renamed in the search and kept in traces: the plain world finds the same.
#[test]
fn renaming_changes_no_verdict_and_traces_tell_the_numbers_that_were_given() {
    let faults = Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE };
    for variant in Queue::VARIANTS.iter().filter(|v| v.name != "pings") {
        let renamed = report(variant.rules, with(2, faults));
        let kept =
            report(variant.rules, Scenario { symmetry: Symmetry::Concrete, ..with(2, faults) });
        assert_eq!(violated(&renamed), violated(&kept), "{}", variant.name);
        assert!(renamed.counts.distinct <= kept.counts.distinct, "{}", variant.name);
        for decision in renamed.decisions.iter().filter(|d| d.counterexample.is_some()) {
            let found = decision.counterexample.as_ref().expect("it is there");
            let trace = Trace::record(&renamed.world, &found.actions(), None);
            assert!(trace.actions(&renamed.world).is_ok(), "{}", decision.property.name);
        }
    }
}

/// Time-outs are measured where pings are messages: the store has to wait longer than a leader
/// that it no longer hears, by as much as its last answer may have taken.
#[test]
fn a_session_must_outlast_the_patience_of_a_leader() {
    let world = |t_session| {
        let durations = [("t-ping", 2), ("t-contact", 5), ("t-session", t_session)];
        let durations = Durations::of(durations).expect("three");
        let delay = Delay::AtMost(1);
        let timed = Timed::of(delay, durations);
        let faults = Faults { cuts: 1, ..Faults::NONE };
        Scenario { timing: Timing::Timed(timed), ..with(2, faults) }
    };
    let verdict = |t_session| {
        let world = World::new(variant("pings"), world(t_session)).expect("possible");
        let asked = property::select(&world, &["at-most-one-leader".to_owned()]).expect("exists");
        check(&world, &asked, &Options::default(), &mut |_| {}).expect("asked").verdict()
    };
    assert_eq!([verdict(6), verdict(7)], [Verdict::Violated, Verdict::Holds]);
}

/// The recipe assumes connections that keep the order.
#[test]
fn on_links_that_keep_no_order_a_late_request_makes_a_second_entry() {
    let faults = Faults { suspicions: 2, ..Faults::NONE };
    let scenario = Scenario { start: Start::Cold, network: Network::Set, ..with(2, faults) };
    let world = World::new(Queue::RECOMMENDED, scenario).expect("the scenario is possible");
    let asked = property::select(&world, &["one-entry".to_owned()]).expect("it exists");
    let set = check(&world, &asked, &Options::default(), &mut |_| {}).expect("asked");
    assert_eq!(set.verdict(), Verdict::Violated);
}
