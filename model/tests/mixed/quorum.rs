//! The quorum bully where one process has another value of a rule: which safety that costs, and
//! which settings of the program may differ.

use super::{group, report};
use bellwether_docs_runner::is_shown;
use bellwether_model::check::Reason;
use bellwether_model::check::Verdict::{Holds, Violated};
use bellwether_model::protocol::{REGISTRY, Values};
use bellwether_model::world::{Faults, Scenario, Start};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

const SAFETY: [&str; 4] =
    ["one-leader-per-epoch", "grants-stand", "epochs-grow", "at-most-one-leader"];

/// Every other value of each rule that a process may have of its own, as in `quiet=false`.
fn other_values() -> Vec<String> {
    let protocol = REGISTRY.find("quorum").expect("it exists");
    let default = protocol.variants().first().expect("a variant").rules.clone();
    let rows = protocol.rule_rows();
    let own = rows.iter().filter(|row| protocol.own_rules().contains(&row.name.as_str()));
    let values = own.flat_map(|row| {
        let values: Vec<String> = match &row.values {
            Values::Truth => ["true", "false"].map(str::to_owned).to_vec(),
            Values::Names(names) => names.iter().map(|(name, _)| name.clone()).collect(),
            Values::Other(_) => ["1", "2", "3"].map(str::to_owned).to_vec(),
        };
        let usual = match &default[&row.name] {
            serde_json::Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        let others = values.into_iter().filter(move |value| *value != usual);
        others.map(|value| format!("{}={value}", row.name)).collect::<Vec<_>>()
    });
    values.collect()
}

/// The rules that say who is a member, in which part, and from when on: processes do not agree at
/// first where they differ.
fn of_members(rule: &str) -> bool {
    ["lists=", "observer=", "witness=", "founding="].iter().any(|name| rule.starts_with(name))
}

/// What one process, with this value, costs in one of these worlds.
fn costs(rule: &str, faults: Faults) -> BTreeSet<&'static str> {
    let start = if of_members(rule) { Start::Cold } else { Start::Converged };
    let scenario = Scenario { start, faults, ..Scenario::calm(3) };
    let found = (1..=3).flat_map(|process| {
        let machine = group("quorum", "recommended", &[&format!("{process}:{rule}")]);
        let report = report(machine, scenario, &SAFETY);
        let violated = report.decisions.into_iter().filter(|d| d.verdict == Violated);
        violated.map(|decision| decision.property.name).collect::<Vec<_>>()
    });
    found.collect()
}

const CRASH: Faults = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };

/// Why another list costs safety.
const UNPROMISED: &str =
    "a leader asks nothing of a process that its list leaves out; one early time-out is enough";

/// Why a process that alone has this value costs safety.
const REASONS: [(&str, &str); 8] = [
    ("grants=again", "its grants of one epoch make two majorities"),
    ("grants=counts-support", "it leads by supports, which bind no process"),
    ("storage=syncs-late", "its grants are sent before they outlast its crash"),
    ("storage=forgets-grant", "after a crash it grants the same epoch again"),
    ("storage=forgets-all", "the same, and it grants older epochs"),
    ("lists=joins", UNPROMISED),
    ("lists=lowest-joins", UNPROMISED),
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
        let costs = costs(&rule, Faults { suspicions: 1, ..CRASH });
        if costs.is_empty() {
            continue;
        }
        let violated: Vec<_> = costs.iter().map(|property| format!("`{property}`")).collect();
        match reason(&rule) {
            Some(why) => {
                writeln!(table, "| `{rule}` | {} | {why} |", violated.join(", "))
                    .expect("a string");
            }
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
    let mut violated = BTreeSet::new();
    for rule in other_values().into_iter().filter(|rule| !of_members(rule)) {
        let costs = costs(&rule, CRASH);
        assert!(costs.is_empty() || reason(&rule).is_some(), "{rule}: {costs:?}");
        violated.extend(costs);
    }
    assert_eq!(violated, BTreeSet::from(["epochs-grow", "grants-stand"]));
}

/// The program has one rule that is a setting: whether a higher process takes over. Nodes may
/// differ in it, and there is one leader for good.
#[test]
fn preemption_may_differ_between_nodes() {
    for value in ["at-once", "dwell"] {
        for processes in ["1", "2", "3", "1,2", "2,3", "1,3"] {
            let machine =
                group("quorum", "recommended", &[&format!("{processes}:preemption={value}")]);
            for faults in [CRASH, Faults { losses: 1.into(), ..Faults::NONE }] {
                let names = [&SAFETY[..], &["settles", "stable-leader"]].concat();
                let scenario = Scenario { faults, ..Scenario::calm(3) };
                for decision in report(Arc::clone(&machine), scenario, &names).decisions {
                    let vacuous = decision.reason == Some(Reason::Vacuous);
                    let (name, verdict) = (decision.property.name, decision.verdict);
                    let holds = verdict == Holds || vacuous;
                    assert!(holds, "{processes}: {value}: {faults}: {name}: {verdict:?}");
                }
            }
        }
    }
}

/// Which processes a majority is one of, each says by its own rules: that 1 observes is so whether
/// it is a rule of the group or of each process.
#[test]
fn an_observer_is_no_voter_whoever_has_the_rule() {
    let scenario = Scenario { missing: "2>1".parse().expect("a link"), ..Scenario::calm(2) };
    for rule in ["observer=1", "1,2:observer=1"] {
        let found =
            report(group("quorum", "recommended", &[rule]), scenario, &["majority-settles"]);
        assert_eq!(found.verdict(), Holds, "{rule}");
    }
}

/// Two halves whose lists of members differ by two elect a leader each, in one epoch: that is why
/// nodes refuse each other that have other members.
#[test]
fn lists_of_members_that_differ_by_two_give_an_epoch_two_leaders() {
    let rules = ["1,2:lists=joins", "3,4:lists=lowest-joins"];
    let apart = "2-3".parse().expect("a link");
    let cold = Scenario { start: Start::Cold, missing: apart, ..Scenario::calm(4) };
    let verdict = |rules: &[&str]| {
        report(group("quorum", "recommended", rules), cold, &SAFETY[..1]).verdict()
    };
    assert_eq!(verdict(&rules), Violated);
    for uniform in ["lists=joins", "lists=lowest-joins"] {
        assert_eq!(verdict(&[uniform]), Holds, "{uniform}");
    }
}
