//! Questions on states without Rust: what they mean, what is wrong with them, and that a search
//! answers them as an evaluation of all states does.

mod random;

use crate::cli::run_args;
use bellwether_model::check::{Limits, Options, Reason, Reduction, Report, Verdict, check};
use bellwether_model::expression::Expression;
use bellwether_model::property::{self, never};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::world::{Faults, Scenario, Symmetry, World};
use serde_json::{Value, json};
use tempfile::TempDir;

fn world(protocol: &str, scenario: Scenario) -> World {
    let rules = REGISTRY.find(protocol).expect("it exists").rules(None, &[]).expect("its rules");
    World::of(rules, scenario).expect("the world is possible")
}

fn ask(world: &World, names: &[String]) -> Report {
    let properties = property::select(world, names).expect("they can be asked");
    let limits = Limits { states: Some(20_000), ..Limits::NONE };
    let options = Options { limits, ..Options::default() };
    check(world, &properties, &options, &mut |_| {}).expect("it is decided")
}

/// What is said of every protocol in the library can be said on the command line.
#[test]
fn at_most_one_leader_is_an_expression() {
    let two = never("exists p, q: p != q && leads(p) && leads(q)");
    let many = never("count(p: leads(p)) >= 2");
    for protocol in REGISTRY.iter() {
        let world = world(protocol.name(), Scenario::calm(3).with_crashes(1, 1));
        let names = ["at-most-one-leader".to_owned(), two.clone(), many.clone()];
        let report = ask(&world, &names);
        let [known, by_two, by_count] = &report.decisions[..] else { panic!("three were asked") };
        for asked in [by_two, by_count] {
            assert_eq!(asked.verdict, known.verdict, "{}", protocol.name());
            assert_eq!(asked.counterexample, known.counterexample, "{}", protocol.name());
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
        let world = world(protocol, Scenario::calm(3).with_crashes(1, 1));
        let expression = Expression::read(text, &world).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(expression.json(&world, &world.initial()), worth, "{protocol}: {text}");
        assert_eq!(expression.text(), text);
    }
}

/// Each error has its place and, where a name is meant, what was probably meant.
#[test]
fn what_is_no_expression_is_told_where_and_why() {
    for (text, wrong, at, long) in [
        ("", "ends too early", 0, 1),
        ("leads(1) &&", "ends too early", 11, 1),
        ("leads(1) & leads(2)", "'&' is no sign; write '&&'", 9, 1),
        ("leads(1) leads(2)", "a sign is missing", 9, 5),
        ("leeds(1)", "there is no 'leeds'; did you mean 'leads'?", 0, 5),
        ("leads(q)", "there is no 'q'", 6, 1),
        ("leads(4)", "there is no process 4; give 1 to 3", 6, 1),
        ("up(p7)", "there is no process 7", 3, 2),
        ("leads(1, 2)", "leads(...) is asked of 1, and here of 2", 0, 11),
        ("leads(1) + 1", "this is true or false, and not a number", 0, 8),
        ("up(leads(1))", "not a process", 3, 8),
        ("p1.rol == leader", "have no field 'rol'; did you mean 'role'?", 3, 3),
        ("role(1) == leadr", "did you mean 'leader'?", 11, 5),
        ("leads(1) == 1", "true or false and a number or a process are never equal", 0, 13),
        ("leads(1) == none", "true or false and always none are never equal", 0, 16),
        ("p1 != none", "a number or a process and always none are never equal", 0, 10),
        ("leader(1) == 7", "there is no process 7; give 1 to 3", 13, 1),
        ("0 != leader(1)", "there is no process 0", 0, 1),
        ("exists p leads(p)", "a ':' is missing", 9, 5),
        ("exists up: leads(up)", "'up' means something already", 0, 20),
        ("1 < 2 < 3", "two things are compared at a time", 6, 1),
        ("size(1)", "not a list", 5, 1),
        ("armed(1, wach)", "there is no timer 'wach'; did you mean 'watch'?", 9, 4),
        ("role", "'role' is a field of processes; write p1.role", 0, 4),
        ("p1.role == \"leader", "is missing at the end", 11, 7),
        ("leads(1) § 2", "'§' has no meaning", 9, 1),
        ("99999999999999999999 > 1", "too large", 0, 20),
    ] {
        let world = world("bully", Scenario::calm(3).with_crashes(1, 0));
        let told = Expression::read(text, &world).expect_err(text).to_string();
        let [why, shown, under] = told.lines().collect::<Vec<_>>()[..] else { panic!("{told}") };
        assert!(why.contains(wrong), "{text}: {told}");
        assert_eq!(shown, format!("  {text}"));
        assert_eq!(under, format!("  {}{}", " ".repeat(at), "^".repeat(long)), "{told}");
    }
    let groups = world("invitation", Scenario::calm(3));
    for text in ["true in p3.members", "\"other\" in p3.members"] {
        let told = Expression::read(text, &groups).expect_err(text).to_string();
        assert!(told.contains("and a number or a process are never equal"), "{told}");
    }
    let deep = "(".repeat(400) + "1";
    let long = "leads(1) && ".repeat(200) + "up(1)";
    let world = world("bully", Scenario::calm(3));
    for (text, wrong) in [(&deep, "too deep"), (&long, "at most 1000 characters")] {
        let told = Expression::read(text, &world).expect_err("it is too much").to_string();
        assert!(told.contains(wrong), "{told}");
    }
    // Of many processes, few variables stand for too many of them to try all in each state.
    for (nodes, text, most) in [(7, "a, b, c, d, e", 5), (26, "a, b, c", 3), (128, "a, b", 2)] {
        let world = self::world("bully", Scenario::calm(nodes));
        let read = |text: String| Expression::read(&text, &world).map_err(|why| why.to_string());
        read(format!("exists {text}: leads(a)")).expect("so many");
        let told = read(format!("exists {text}, more: leads(a)")).expect_err("one more");
        assert!(told.contains(&format!("at most {most} variables")), "{told}");
    }
    let told = property::select(&world, &[never("nodes")]).expect_err("it is a number").to_string();
    assert!(told.contains("ask for something that is true or false"), "{told}");
}

/// Terms are renamed by the symmetry of Raft's election, so what asks for them is asked without.
#[test]
fn what_asks_for_names_is_asked_of_concrete_states() {
    let world = world("raft-election", Scenario::calm(3).with_crashes(1, 1));
    let falls = never("exists p, q: leads(p) && leads(q) && p.term < q.term && q.term < 0");
    let report = ask(&world, std::slice::from_ref(&falls));
    assert_eq!(report.decisions[0].verdict, Verdict::Holds);
    assert_eq!(report.ask_for_names(), [falls.as_str()]);
    assert_eq!(report.world.scenario().symmetry, Symmetry::Concrete);
    // A term of 2 is reached, however terms are renamed.
    let report = ask(&world, &[never("exists p: p.term >= 2")]);
    assert_eq!(report.decisions[0].verdict, Verdict::Violated);
    let found = report.decisions[0].counterexample.as_ref().expect("it is shown");
    let term = Expression::read("exists p: p.term >= 2", &world).expect("it is one");
    let values = term.values(&world, &found.actions());
    assert_eq!(values.iter().position(|value| *value == json!(true)), Some(found.steps.len()));
}

/// Without dead messages a suspicion may be none, for what the time-out waits for is not in flight.
#[test]
fn what_asks_how_often_faults_struck_is_asked_of_all_messages() {
    let faults = Faults { crashes: 1, suspicions: 1, ..Faults::NONE };
    let world = world("bully", Scenario { faults, ..Scenario::calm(3) });
    let names = [never("leads(1) && suspicions == 1"), never("leads(1) && leads(2)")];
    let properties = property::select(&world, &names).expect("they can be asked");
    let options = Options { reduction: Reduction::DeadMessages, ..Options::default() };
    let report = check(&world, &properties, &options, &mut |_| {}).expect("one is decided");
    let [counts, leads] = &report.decisions[..] else { panic!("two were asked") };
    assert_eq!((counts.verdict, counts.reason), (Verdict::Unknown, Some(Reason::AsksForMessages)));
    assert_eq!(leads.verdict, ask(&world, &names).decisions[1].verdict);
}

/// From the command line to a file, and back.
#[test]
fn a_counterexample_of_an_expression_is_read_again() {
    let dir = TempDir::new().expect("a folder");
    let run = |args: &[&str]| run_args(dir.path(), args);
    let two = "leads(2) && leads(3)";
    let check = ["check", "bully", "--recoveries", "1", "--never", two, "--show", "leader(1)"];
    let ran = run(&[&check[..], &["--out", "."]].concat());
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("never(leads(2) && leads(3)) is violated: □ ¬(leads(2) && leads(3))")
    );
    assert!(ran.stdout.contains("│ after step   leader(1) │"), "{}", ran.stdout);
    assert!(ran.stdout.contains("--property 'never(leads(2) && leads(3))'"), "{}", ran.stdout);
    let file = "bully-never-leads-2-leads-3.ndjson";
    let told = run(&["trace", file, "--show", two, "--show", "p2.role"]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert!(told.stdout.contains("This violates never(leads(2) && leads(3))"), "{}", told.stdout);
    let rows = told.stdout.lines().filter(|line| line.starts_with("│ ") && line.contains("false"));
    assert_eq!(rows.count(), 5, "it is true after the fifth step only: {}", told.stdout);
    let json = run(&[&check[..], &["--json"]].concat()).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let shown = &json["properties"][0]["counterexample"]["shown"][0];
    assert_eq!(shown["expression"], "leader(1)");
    assert_eq!(shown["values"].as_array().expect("values").len(), 6);
    for (args, why) in [
        (vec!["trace", file, "--show", two, "--format", "svg"], "has no place for it"),
        (vec!["trace", file, "--show", two, "--unchecked"], "leave it out"),
        (vec!["trace", file, "--show", "leads(4)"], "--show: there is no process 4"),
    ] {
        let ran = run(&args);
        assert_eq!(ran.status, 2, "{args:?}");
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
    let always = run(&["check", "bully", "--always", "forall p: up(p) || crashes > 0"]);
    assert_eq!(always.status, 0, "{}", always.stdout);
}
