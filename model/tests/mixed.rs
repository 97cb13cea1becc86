//! Groups in which processes have rules and durations of their own: what a mixed group does that no
//! uniform one does, how it is told, and which safety of the quorum bully it costs that one process
//! has another rule.

use crate::asked::{ask, read_again, report, shown, values, violated, walk, world};
use crate::cli::run;
use bellwether_docs_runner::is_shown;
use bellwether_model::cli::WorldArgs;
use bellwether_model::protocol::{Id, REGISTRY};
use bellwether_model::trace::Trace;
use bellwether_model::world::{Delay, Durations, Scenario, Timed, Timing};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What a process does in a mixed group is what it would do where all have its rules.
#[test]
fn each_step_is_by_the_rules_of_its_process() {
    for (variant, rules) in [
        ("quorum", ["canvass=none", "storage=forgets-grant", "preemption=at-once"]),
        ("quorum --variant preemptive", ["outrank=false", "backoff=false", "quiet=false"]),
        (
            "raft-election --variant etcd",
            ["prevote=none", "answer_lower=false", "storage=forgets-all"],
        ),
        ("bully", ["accept=any", "restart=im-back", "announce=all"]),
    ] {
        let line = format!("{variant} --recoveries 1");
        let uniform = rules.map(|rule| world(&format!("{line} --rule {rule}")).concrete());
        let [one, two, three] = rules;
        let own = format!("{line} --rule 1:{one} --rule 2:{two} --rule 3:{three}");
        let mut compared = 0;
        walk(&world(&own).concrete(), 3_000, |state, action, outcome| {
            if let Some(id) = outcome.actor {
                let same = uniform[id.index()].apply(state, action);
                assert!(outcome.effects == same.effects, "{variant}: {action} in {state:?}");
                assert!(outcome.state == same.state, "{variant}: {action} in {state:?}");
                compared += 1;
            }
        });
        assert!(compared > 300, "{variant}: {compared}");
    }
}

/// A trace says what each process has of its own, and what is changed there is another world. A
/// node of etcd with the old settings asks no process before it raises its term, leads without a
/// majority, votes although it hears a leader, and does not tell a leader of a lower term that it
/// is behind.
#[test]
fn a_trace_of_a_mixed_group_is_read_and_replayed() {
    let old = ["prevote=none", "check_quorum=false", "stickiness=false", "answer_lower=false"];
    let old: String = old.iter().map(|rule| format!(" --rule 1:{rule}")).collect();
    let cut = "--crashes 0 --cuts 1 --heals must --capacity 2 -p settles";
    let found = report(&format!("raft-election --variant etcd{old} {cut}"));
    let decision = &found.decisions[0];
    let trace = shown(&found, "settles").trace(&found.world, &decision.property);
    assert_eq!(trace.header.rules["1:prevote"], "none");
    assert_eq!(trace.header.rules["prevote"], "log-and-silence");
    assert!(trace.header.variant.contains("1:prevote=none"), "{}", trace.header.variant);
    let protocol = REGISTRY.find("raft-election").expect("it exists");
    let world = trace.world_of(protocol).expect("the world was possible");
    assert!(world.machine().equals(&**found.world.machine()));
    assert_eq!(world.machine().own().len(), 1);
    assert_eq!(read_again(&world, &trace).len(), trace.steps.len());
    for (rule, value) in [("1:prevote", "perhaps"), ("1:logs", "001"), ("7:prevote", "none")] {
        let mut other: Trace = trace.clone();
        other.header.rules[rule] = value.into();
        assert!(other.world_of(protocol).is_err(), "{rule}={value}");
    }
}

#[test]
fn what_cannot_be_a_matter_of_one_process_is_refused() {
    let refused = [
        ("check raft-election --rule 2:logs=010", "of the whole group: each process may have"),
        ("check vrrp --rule 2:preempt=false", "all its processes have the same rules"),
        ("check bully --rule 4:guard=false", "only the processes 1 to 3"),
        ("check bully --rule 0:guard=false", "'0' is not an id"),
        ("check bully --rule 1:guard=maybe", "it is true or false"),
        ("check bully --rule 1:gard=false", "did you mean 'guard'?"),
        ("check bully --rule 1:guard=false --rule 1,2:guard=true", "is given twice"),
        ("check quorum --rule 2:witness=3", "--start cold"),
        ("tune quorum --delay 1 --find t-promise --t-lease 9=3", "only the processes 1 to 7"),
    ];
    for (line, says) in refused {
        let ran = run(line);
        let stderr = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.status, 2, "{line}: {stderr}");
        assert!(stderr.contains(says), "{line}: {stderr}");
    }
    // What is said of all and of one is no contradiction.
    let ran = run("check bully --rule guard=false --rule 1:guard=true --property decided --json");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["rules"]["guard"], false);
    assert_eq!(report["rules"]["1:guard"], true);
}

/// The command that a report prints for the Explorer, and `tune`, say what each process has.
#[test]
fn what_is_typed_again_says_what_each_process_has() {
    let durations = Durations::of([("t-elec", 3), ("t-coord", 8), ("t-detect", 1)]);
    let durations = durations.and_then(|all| all.with_own("t-elec", Id::at(1), 5));
    let timed = Timed::of(Delay::AtMost(1), durations.expect("short names"));
    let scenario = Scenario { timing: Timing::Timed(timed), ..Scenario::calm(3) };
    let typed = WorldArgs::typed(&scenario);
    assert!(typed.contains("--t-elec 3 --t-elec 2=5"), "{typed}");
    let again = world(&format!("bully --variant baseline {typed}"));
    assert_eq!(again.scenario(), scenario);
    let json = serde_json::to_string(&scenario).expect("JSON");
    assert!(json.contains("\"2:t-elec\":5"), "{json}");
    assert_eq!(serde_json::from_str::<Scenario>(&json).expect("the same"), scenario);
    let told = again.scenario().to_string();
    assert!(told.contains("t-elec 2=5"), "{told}");
}

const SAFETY: [&str; 4] =
    ["one-leader-per-epoch", "grants-stand", "epochs-grow", "at-most-one-leader"];

/// Every other value of each rule that a process may have of its own, as in `quiet=false`.
fn other_values() -> Vec<String> {
    let protocol = REGISTRY.find("quorum").expect("it exists");
    let default = protocol.variants().first().expect("a variant").rules.clone();
    let rows = protocol.rule_rows();
    let own = rows.iter().filter(|row| protocol.own_rules().contains(&row.name.as_str()));
    let others = own.flat_map(|row| {
        let usual = match &default[&row.name] {
            serde_json::Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        let others = values(row, &["1", "2", "3"]).into_iter().filter(move |one| *one != usual);
        others.map(|value| format!("{}={value}", row.name)).collect::<Vec<_>>()
    });
    others.collect()
}

/// The rules that say who is a member, in which part, and from when on: processes do not agree at
/// first where they differ.
fn of_members(rule: &str) -> bool {
    ["lists=", "observer=", "witness=", "founding="].iter().any(|name| rule.starts_with(name))
}

/// What one process, with this value, costs in a world with these faults.
fn costs(rule: &str, faults: &str) -> BTreeSet<&'static str> {
    let start = if of_members(rule) { "cold" } else { "converged" };
    let found = (1..=3).flat_map(|process| {
        let line = format!("quorum --rule {process}:{rule} --start {start} {faults}");
        violated(&ask(&world(&line), &SAFETY))
    });
    found.collect()
}

/// Why another list costs safety.
const UNPROMISED: &str =
    "a leader asks nothing of a process that its list leaves out; one early time-out is enough";

/// Why a process that alone has this value costs safety.
const REASONS: [(&str, &str); 9] = [
    ("grants=again", "its grants of one epoch make two majorities"),
    ("grants=counts-support", "it leads by supports, which bind no process"),
    ("storage=syncs-late", "its grants are sent before they outlast its crash"),
    ("storage=forgets-grant", "after a crash it grants the same epoch again"),
    ("storage=forgets-all", "the same, and it grants older epochs"),
    ("lists=joins", UNPROMISED),
    ("lists=lowest-joins", UNPROMISED),
    ("lists=lowest-leaves", "of the two that are left, one may have claimed the epoch for itself"),
    ("lists=replaces", UNPROMISED),
];

fn reason(rule: &str) -> Option<&'static str> {
    REASONS.iter().find(|(known, _)| *known == rule).map(|(_, reason)| *reason)
}

/// With one crash and one recovery, and one false suspicion.
/// `UPDATE_DOCS=1 cargo test one_process_with_another_rule` writes the page's table anew.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: some minutes; cargo test --workspace --features slow"
)]
fn the_page_says_what_one_process_with_another_rule_costs() {
    let mut table = String::from("| one process with | violated | why |\n|---|---|---|\n");
    let mut unknown = Vec::new();
    for rule in other_values() {
        let costs = costs(&rule, "--recoveries 1 --suspicions 1");
        if costs.is_empty() {
            continue;
        }
        let violated: Vec<_> = costs.iter().map(|property| format!("`{property}`")).collect();
        let violated = violated.join(", ");
        match reason(&rule) {
            Some(why) => writeln!(table, "| `{rule}` | {violated} | {why} |").expect("a string"),
            None => unknown.push((rule, costs)),
        }
    }
    assert!(unknown.is_empty(), "give a reason, or find the mistake: {unknown:?}");
    let marks = ("<!-- one process -->\n", "<!-- end of one process -->");
    is_shown("docs/model.md", Some(marks), |_| table);
}

/// The same without suspicions and lists, in less time: what is violated has a reason.
#[test]
fn every_rule_that_one_process_may_not_have_has_a_reason() {
    let mut found = BTreeSet::new();
    for rule in other_values().into_iter().filter(|rule| !of_members(rule)) {
        let costs = costs(&rule, "--recoveries 1");
        assert!(costs.is_empty() || reason(&rule).is_some(), "{rule}: {costs:?}");
        found.extend(costs);
    }
    assert_eq!(found, BTreeSet::from(["epochs-grow", "grants-stand"]));
}
