//! The quorum bully where one process has another value of a rule: which safety that costs.

use super::{group, report};
use bellwether_docs_runner::is_shown;
use bellwether_model::check::Verdict::Violated;
use bellwether_model::protocol::{REGISTRY, Values};
use bellwether_model::world::{Faults, Scenario, Start};
use std::collections::BTreeSet;
use std::fmt::Write;

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
