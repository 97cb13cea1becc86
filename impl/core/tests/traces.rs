//! The lines that `docs/traces.md` shows are lines of a trace, and it says what their fields are.

use std::collections::BTreeSet;

use bellwether_core::protocol::quorum::{Durable, Message};
use bellwether_core::trace::Line;
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/traces.md");

/// What has fields of its own, which are those of the protocol, or is told as a whole.
const OTHERS: [&str; 6] = ["boot", "persist", "message", "request", "did", "durations"];

/// The lines that the page shows.
fn lines() -> impl Iterator<Item = &'static str> {
    let blocks = PAGE.split("```json\n").skip(1).filter_map(|text| text.split("```").next());
    blocks.flat_map(str::lines)
}

/// The names of all fields.
fn fields(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(all) => {
            for (name, value) in all {
                found.insert(name.clone());
                if !OTHERS.contains(&name.as_str()) {
                    fields(value, found);
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| fields(value, found)),
        _ => {}
    }
}

#[test]
fn every_line_of_the_page_is_read_and_written_as_it_stands() {
    let mut count = 0;
    for text in lines() {
        let line = serde_json::from_str::<Line<Durable, Message>>(text);
        let line = line.unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(serde_json::to_string(&line).expect("it can be written"), text);
        count += 1;
    }
    assert!(count > 10, "only {count} lines: the test looks in the wrong place");
}

#[test]
fn the_page_says_what_each_field_is() {
    let mut found = BTreeSet::new();
    for text in lines() {
        fields(&serde_json::from_str(text).expect("JSON"), &mut found);
    }
    for name in ["start", "boot", "receive", "expire", "request", "persist", "send", "role", "did"]
    {
        assert!(found.contains(name), "no line has {name}");
    }
    for name in found {
        assert!(PAGE.contains(&format!("`{name}`")), "the page does not say what `{name}` is");
    }
    for deed in ["saving", "saved", "sent", "told", "ended"] {
        assert!(lines().any(|line| line.contains(&format!("\"{deed}\""))), "no line has {deed}");
    }
}
