//! What is wrong with a line of a trace, in words: at which key, what stands there, and what
//! should.

use super::{Event, Fate, Lifeline, Sent, Shows};
use crate::protocol::Id;
use crate::words::instead_of;
use crate::world::{Budget, Faults, Scenario};
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::{Error, Value};
use std::collections::BTreeMap;

/// Why a value is none of a type; nothing if it is one.
type Fails = fn(&Value) -> Option<Error>;

/// What stands at a key, wherever in a trace it is.
const KEYS: &[(&str, Fails)] = &[
    // Of the header.
    ("format", fails::<String>),
    ("fingerprint", fails::<String>),
    ("protocol", fails::<String>),
    ("variant", fails::<String>),
    ("world", fails::<Scenario>),
    ("shows", fails::<Option<Shows>>),
    ("initial", fails::<BTreeMap<u8, Lifeline>>),
    ("in_flight", fails::<Vec<Sent>>),
    ("property", fails::<String>),
    ("formula", fails::<String>),
    ("cycle_after", fails::<Option<usize>>),
    ("until", fails::<Option<String>>),
    ("nodes", fails::<usize>),
    ("faults", fails::<Faults>),
    ("crashes", fails::<u8>),
    ("recoveries", fails::<u8>),
    ("losses", fails::<Budget>),
    ("duplicates", fails::<u8>),
    ("cuts", fails::<u8>),
    ("one_way_cuts", fails::<u8>),
    ("suspicions", fails::<u8>),
    ("pauses", fails::<u8>),
    ("jumps", fails::<u8>),
    ("jump", fails::<u8>),
    // Of a step.
    ("seq", fails::<usize>),
    ("node", fails::<Option<Id>>),
    ("incarnation", fails::<Option<u32>>),
    ("event", fails::<Event>),
    ("sent", fails::<Vec<Sent>>),
    ("armed", fails::<Vec<String>>),
    ("cancelled", fails::<Vec<String>>),
    ("choices", fails::<Vec<String>>),
    ("changed", fails::<BTreeMap<u8, Lifeline>>),
    // Of an event, or of a message.
    ("id", fails::<u32>),
    ("from", fails::<Id>),
    ("to", fails::<Id>),
    ("link", fails::<[Id; 2]>),
    ("one_way", fails::<bool>),
    ("early", fails::<bool>),
    ("by", fails::<i16>),
    ("fate", fails::<Fate>),
    // Of a process.
    ("up", fails::<bool>),
    ("paused", fails::<bool>),
    ("role", fails::<String>),
    ("leader", fails::<Option<Id>>),
    ("timers", fails::<Vec<String>>),
];

/// What only the protocol knows the form of.
const OPAQUE: [&str; 4] = ["message", "outcome", "rules", "timer"];

fn fails<T: for<'de> Deserialize<'de>>(value: &Value) -> Option<Error> {
    T::deserialize(value).err()
}

/// Of text that is no JSON, or no line of a trace.
pub(super) fn line(text: &str, error: &Error) -> String {
    match error.classify() {
        Category::Eof => {
            format!("it ends in the middle of a value, at column {}: it was cut off", text.len())
        }
        Category::Syntax | Category::Io => {
            format!("it is no JSON from column {} on", error.column())
        }
        Category::Data => match serde_json::from_str(text) {
            Ok(value) => object(&value, error),
            Err(error) => line(text, &error),
        },
    }
}

/// Of an object that is no header, or no step.
pub(super) fn object(value: &Value, error: &Error) -> String {
    match inside(value) {
        // The parser takes a list for the fields in their order.
        _ if !value.is_object() => "an object in braces should stand here".to_owned(),
        Some((place, error)) => format!("\"{place}\": {}", words(&error)),
        None => words(error),
    }
}

/// The innermost key whose value is wrong, and what is wrong with it.
fn inside(value: &Value) -> Option<(String, Error)> {
    let join = |key: String, (place, error): (String, Error)| (format!("{key}.{place}"), error);
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            let known = KEYS.iter().find(|(known, _)| known == key);
            let error = known.map(|(_, fails)| fails(value));
            match error {
                _ if OPAQUE.contains(&key.as_str()) => None,
                Some(None) => None,
                Some(Some(error)) => Some(match inside(value) {
                    Some(deeper) => join(key.clone(), deeper),
                    None => (key.clone(), error),
                }),
                None => inside(value).map(|deeper| join(key.clone(), deeper)),
            }
        }),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .find_map(|(at, value)| inside(value).map(|deeper| join((at + 1).to_string(), deeper))),
        _ => None,
    }
}

/// What the parser says, in words of people who write traces rather than programs.
pub(super) fn words(error: &Error) -> String {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    let names: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    let split = |kind: &str| {
        let (found, expected) = said.strip_prefix(kind)?.split_once(", expected ")?;
        Some(format!("{} stands where {} should", found_as(found), expected_as(expected)))
    };
    match names[..] {
        [name] if said.starts_with("missing field") => format!("\"{name}\" is missing"),
        [name] if said.starts_with("duplicate field") => format!("\"{name}\" is there twice"),
        [name, ref known @ ..] if said.starts_with("unknown field") => {
            format!("there is no \"{name}\" here; {}", instead_of(name, known))
        }
        [name, ref known @ ..] if said.starts_with("unknown variant") => {
            format!("it cannot be '{name}'; {}", instead_of(name, known))
        }
        _ => ["invalid type: ", "invalid value: ", "invalid length"]
            .into_iter()
            .find_map(split)
            .unwrap_or_else(|| said.to_owned()),
    }
}

/// What stands there, as it is written.
fn found_as(found: &str) -> String {
    match found {
        // Only lists have a length.
        _ if found.starts_with(' ') => format!("a list of{found}"),
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" => "null".to_owned(),
        _ => {
            let kinds = ["string ", "integer ", "boolean ", "floating point "];
            let bare = kinds.iter().find_map(|kind| found.strip_prefix(kind));
            bare.unwrap_or(found).replace('`', "")
        }
    }
}

/// What should stand there.
fn expected_as(expected: &str) -> &str {
    match expected {
        "usize" | "u8" | "u16" | "u32" | "u64" | "i16" => "a whole number",
        "a nonzero u8" => "an id, which is 1 or more,",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "an array of length 2" => "a list of two",
        _ if expected.starts_with("struct ") || expected.contains("tagged enum") => "an object",
        _ if expected.starts_with("enum ") || expected.contains("variant") => "a name",
        _ => expected,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::line;

    #[track_caller]
    fn says(text: &str, expected: &str) {
        let error = serde_json::from_str::<Step>(text).expect_err("it is no step");
        assert_eq!(line(text, &error), expected, "{text}");
    }

    #[test]
    fn a_wrong_line_is_told_its_key_what_stands_there_and_what_should() {
        says(
            r#"{"seq":1,"event":{"kind":"cra"#,
            "it ends in the middle of a value, at column 29: it was cut off",
        );
        says(r#"{"seq":1,,}"#, "it is no JSON from column 10 on");
        says(
            r#"{"seq":"two","node":1,"event":{"kind":"crash"}}"#,
            "\"seq\": \"two\" stands where a whole number should",
        );
        says(r#"{"node":1,"event":{"kind":"crash"}}"#, "\"seq\" is missing");
        says(
            r#"{"seq":1,"node":0,"event":{"kind":"crash"}}"#,
            "\"node\": 0 stands where an id, which is 1 or more, should",
        );
        says(
            r#"{"seq":1,"event":{"kind":"crush"}}"#,
            "\"event\": it cannot be 'crush'; did you mean 'crash'? there are: deliver, expire, \
             choose, lose, duplicate, crash, recover, pause, resume, cut, heal, jump, tick",
        );
        says(
            r#"{"seq":1,"event":{"kind":"cut","link":[1,true]}}"#,
            "\"event.link\": true stands where an id, which is 1 or more, should",
        );
        says(
            r#"{"seq":1,"event":{"kind":"tick"},"changed":{"2":{"up":1,"role":"leader"}}}"#,
            "\"changed.2.up\": 1 stands where true or false should",
        );
        says(
            r#"{"seq":1,"evnt":{"kind":"tick"}}"#,
            "there is no \"evnt\" here; did you mean 'event'? there are: seq, node, incarnation, \
             event, sent, armed, cancelled, choices, changed",
        );
        says(
            r#"{"seq":1,"event":{"kind":"cut","link":[1]}}"#,
            "\"event.link\": a list of 1 stands where a list of two should",
        );
        says("[1]", "an object in braces should stand here");
    }
}
