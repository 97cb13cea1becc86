//! Questions on states without Rust: their meaning, and that a search answers them as an evaluation
//! of all states does.

mod random;

use crate::asked::{ask, report_by, world};
use bellwether_model::check::{Limits, Options, Verdict};
use bellwether_model::expression::Expression;
use bellwether_model::property::never;
use bellwether_model::protocol::REGISTRY;
use bellwether_model::world::{Symmetry, World};
use serde_json::json;
use std::sync::Arc;

/// Three processes, of which one may crash and recover.
fn three(protocol: &str) -> Arc<World> {
    world(&format!("{protocol} --recoveries 1"))
}

/// What is said of every protocol in the library can be said on the command line.
#[test]
fn at_most_one_leader_is_an_expression() {
    let two = never("exists p, q: p != q && leads(p) && leads(q)");
    let many = never("count(p: leads(p)) >= 2");
    for protocol in REGISTRY.iter() {
        let asked = format!("-p at-most-one-leader -p '{two}' -p '{many}'");
        let limits = Limits { states: Some(20_000), ..Limits::NONE };
        let options = Options { limits, ..Options::default() };
        let line = format!("{} --recoveries 1 {asked}", protocol.name());
        let report = report_by(&line, &options);
        let [known, by_two, by_count] = &report.decisions[..] else { panic!("three were asked") };
        for asked in [by_two, by_count] {
            assert_eq!(asked.verdict, known.verdict, "{line}");
            assert_eq!(asked.counterexample, known.counterexample, "{line}");
        }
        assert!(report.ask_for_names().is_empty(), "leaders have the same names in all states");
    }
}

/// What each is worth at the beginning of an election of three.
#[test]
fn expressions_have_values() {
    for (protocol, text, worth) in [
        ("bully", "leads(3)", json!(true)),
        ("bully", "leader(1) == 3 && follows(1, 3) && !follows(3, 3)", json!(true)),
        ("bully", "forall p: up(p) => leader(p) == p3", json!(true)),
        ("bully", "role(1)", json!("follower")),
        ("bully", "role(p3) == leader", json!(true)),
        ("bully", "p1.role == follower || p1.role == candidate", json!(true)),
        ("bully", "p1.leader + 1 - 2", json!(2)),
        ("bully", "count(p: p.leader == 3)", json!(3)),
        ("bully", "armed(1, watch) && !armed(3, watch)", json!(true)),
        ("bully", "connected(1, 2)", json!(true)),
        ("bully", "crashes == 0 && losses < 1", json!(true)),
        ("bully", "quiescent", json!(true)),
        ("bully", "nodes", json!(3)),
        ("bully", "paused(1) || !up(2)", json!(false)),
        ("bully", "leader(leader(1))", json!(3)),
        ("bully", "true => false || true && false", json!(false)),
        ("bully", "forall p, q: p == q || p < q || p > q", json!(true)),
        ("invitation", "1 in p3.members && size(p3.members) == 2", json!(true)),
        ("invitation", "p1.coordinator == other && p1.coordinator.other == 3", json!(true)),
        ("invitation", "p1.stable.counter >= 0", json!(true)),
        ("raft-election", "p1.vote == none || p1.vote != none", json!(true)),
        ("raft-election", "forall p: p.term == p1.term", json!(true)),
    ] {
        let world = three(protocol);
        let expression = Expression::read(text, &world).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(expression.json(&world, &world.initial()), worth, "{protocol}: {text}");
        assert_eq!(expression.text(), text);
    }
}

/// Terms are renamed by the symmetry of Raft's election, so what asks for them is asked without.
#[test]
fn what_asks_for_names_is_asked_of_concrete_states() {
    let world = three("raft-election");
    let falls = never("exists p, q: leads(p) && leads(q) && p.term < q.term && q.term < 0");
    let report = ask(&world, &[&falls]);
    assert_eq!(report.decisions[0].verdict, Verdict::Holds);
    assert_eq!(report.ask_for_names(), [falls.as_str()]);
    assert_eq!(report.world.scenario().symmetry, Symmetry::Concrete);
    // A term of 2 is reached, however terms are renamed.
    let report = ask(&world, &[&never("exists p: p.term >= 2")]);
    assert_eq!(report.decisions[0].verdict, Verdict::Violated);
    let found = report.decisions[0].counterexample.as_ref().expect("it is shown");
    let term = Expression::read("exists p: p.term >= 2", &world).expect("it is one");
    let values = term.values(&world, &found.actions());
    assert_eq!(values.iter().position(|value| *value == json!(true)), Some(found.steps.len()));
}
