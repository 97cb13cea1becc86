//! What a crash costs the queue, that renaming its numbers changes no verdict, and that each of its
//! properties fails somewhere.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Limits, Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::queue::{Entries, Message, Queue};
use bellwether_model::trace::Trace;
use bellwether_model::world::{Faults, Scenario, Start, Symmetry, World};

fn variant(name: &str) -> Queue {
    Queue::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn report(rules: Queue, scenario: Scenario) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let properties = property::select(&world, &[]).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn violated(report: &Report) -> Vec<&'static str> {
    let violated = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    violated.map(|d| d.property.name).collect()
}

fn with(nodes: usize, faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(nodes) }
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
