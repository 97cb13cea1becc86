//! Rules that a program does not follow itself, as only services do; and those that it follows
//! otherwise.

use super::Mapping;
use serde::Serialize;
use serde_json::{Map, Value};

/// What the program does otherwise than by these rules, in words, as in "count=from-receipt, and
/// the program count=before-sending"; `None` if it does all.
pub(crate) fn unlike<M: Mapping + ?Sized>(mapping: &M, rules: &M::Spec) -> Option<String> {
    let (theirs, ours) = (fields(rules), fields(&mapping.nearest_rules(rules)));
    let differs = |(name, value): &(&String, &Value)| ours.get(*name) != Some(*value);
    let (mut asked, mut own) = (Vec::new(), Vec::new());
    for (name, value) in theirs.iter().filter(differs) {
        asked.push(rule(name, value));
        own.push(rule(name, ours.get(name).unwrap_or(&Value::Null)));
    }
    let words = || format!("{}, and the program {}", asked.join(", "), own.join(", "));
    (!asked.is_empty()).then(words)
}

fn fields(rules: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(rules) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// A rule and its value, as the command line of the checker takes them.
fn rule(name: &str, value: &Value) -> String {
    match value {
        Value::String(value) => format!("{name}={value}"),
        other => format!("{name}={other}"),
    }
}
