//! The rules for Prometheus and the dashboard for Grafana ask for metrics that a node has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::common::{Cluster, Served, get, wait_until};

const ALERTS: &str = include_str!("../../../monitoring/alerts.yml");
const DASHBOARD: &str = include_str!("../../../monitoring/dashboard.json");

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !part(c)).filter(|word| word.starts_with("bellwether_"));
    words.map(str::to_owned).collect()
}

/// The names that stand in an answer of `/metrics` with a value.
fn answered(text: &str) -> BTreeSet<String> {
    names(&text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"))
}

/// The rules, each with its keys and what they are, of which those of all levels stand in one.
fn rules() -> Vec<BTreeMap<String, String>> {
    let mut rules = Vec::new();
    for rule in ALERTS.split("\n      - ").skip(1) {
        let lines = rule.lines().filter(|line| !line.trim_start().starts_with('#'));
        let entries = lines.filter_map(|line| line.trim().split_once(": "));
        let entry = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        rules.push(entries.map(entry).collect());
    }
    rules
}

/// All values of this key, however deep they stand.
fn values<'a>(of: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match of {
        Value::Object(entries) => {
            found.extend(entries.get(key).and_then(Value::as_str));
            entries.values().for_each(|value| values(value, key, found));
        }
        Value::Array(list) => list.iter().for_each(|value| values(value, key, found)),
        _ => {}
    }
}

/// Whether what is opened in an expression is closed.
fn is_balanced(expression: &str) -> bool {
    let mut open = Vec::new();
    expression.chars().all(|c| match c {
        '(' | '[' | '{' => {
            open.push(c);
            true
        }
        ')' => open.pop() == Some('('),
        ']' => open.pop() == Some('['),
        '}' => open.pop() == Some('{'),
        _ => true,
    }) && open.is_empty()
}

#[test]
fn every_alert_has_an_expression_a_level_and_words() {
    assert!(!ALERTS.contains('\t'), "YAML has no tabs");
    let rules = rules();
    assert_eq!(rules.len(), ALERTS.matches("alert: ").count(), "each rule is read");
    assert!(rules.len() >= 10, "only {}", rules.len());
    let mut seen = BTreeSet::new();
    for rule in &rules {
        assert!(seen.insert(&rule["alert"]), "twice: {rule:?}");
        for key in ["alert", "expr", "for", "severity", "summary", "description"] {
            assert!(rule.get(key).is_some_and(|value| !value.is_empty()), "no {key}: {rule:?}");
        }
        assert!(is_balanced(&rule["expr"]), "{rule:?}");
        assert!(["critical", "warning", "info"].contains(&&*rule["severity"]), "{rule:?}");
        // The one about a node that cannot be asked asks Prometheus.
        let of_nodes = !names(&rule["expr"]).is_empty();
        assert_eq!(of_nodes, !rule["expr"].starts_with("up{"), "{rule:?}");
    }
}

#[test]
fn the_dashboard_is_json_whose_panels_ask_for_something() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() >= 10, "only {}", panels.len());
    for panel in panels {
        let mut expressions = Vec::new();
        values(panel, "expr", &mut expressions);
        assert!(panel["title"].is_string() && !expressions.is_empty(), "{panel}");
        assert!(expressions.iter().all(|expression| is_balanced(expression)), "{panel}");
        assert!(expressions.iter().all(|expression| !names(expression).is_empty()), "{panel}");
    }
}

#[test]
fn every_metric_that_is_asked_for_is_one_that_a_leader_or_a_client_of_a_store_has() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut expressions = Vec::new();
    for key in ["expr", "query", "definition"] {
        values(&dashboard, key, &mut expressions);
    }
    let mut asked = names(&expressions.join("\n"));
    rules().iter().for_each(|rule| asked.extend(names(&rule["expr"])));
    assert!(asked.len() > 15, "{asked:?}");

    let served = Served::led(3);
    let section = "[lease]\nstore = \"sqlite:orders.db\"\n";
    let mut asks_a_store = Served::of(Cluster::running(1, "lease", section));
    asks_a_store.start(1);
    let leader = served.url(served.leader().0, "/metrics");
    let urls = [leader, asks_a_store.url(1, "/metrics")];
    let missing = || {
        let texts: String = urls.iter().filter_map(|url| Some(get(url)?.1)).collect();
        &asked - &answered(&texts)
    };
    // A moment after the start, no ping has been answered.
    let all = || missing().is_empty();
    wait_until("every metric is there", all, || format!("{:?}", missing()));
}
