//! Messages, timers and other values as people read them, from their JSON form: a leaf that every
//! other module may use.

use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Returns a message as it is written in diagrams: its name in capitals, its fields behind it.
#[must_use]
pub fn label(message: &impl Serialize) -> String {
    match serde_json::to_value(message) {
        Ok(value) => label_of(&value),
        Err(error) => error.to_string(),
    }
}

/// Returns a message as [`label`] does, of one as it stands in a trace.
#[must_use]
pub fn label_of(message: &serde_json::Value) -> String {
    use serde_json::Value;
    match message {
        Value::String(name) => name.to_uppercase().replace('-', "_"),
        Value::Object(fields) => {
            let one = |(name, value): (&String, &Value)| match value {
                Value::Object(inner) => {
                    let inner = inner.iter().map(|(k, v)| format!("{k} {}", plain_value(v)));
                    format!("{}({})", capitals(name), inner.collect::<Vec<_>>().join(", "))
                }
                Value::Array(all) => {
                    let all: Vec<_> = all.iter().map(plain_value).collect();
                    format!("{}({})", capitals(name), all.join(", "))
                }
                other => format!("{}({})", capitals(name), plain_value(other)),
            };
            fields.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// Returns what a clock does that jumps by so many ticks, ahead or, if they are negative, back.
#[must_use]
pub fn jumps(by: i16) -> String {
    let (way, ticks) = (if by < 0 { "back" } else { "ahead" }, by.unsigned_abs());
    let s = if ticks == 1 { "" } else { "s" };
    format!("jumps {way} by {ticks} tick{s}")
}

fn capitals(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

/// Returns a timer, or another value, as it is written in sentences.
#[must_use]
pub fn plain(value: &impl Serialize) -> String {
    serde_json::to_value(value).map_or_else(|error| error.to_string(), |v| plain_value(&v))
}

/// Returns a value as [`plain`] does, of one as it stands in a trace.
#[must_use]
pub fn plain_value(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(name) => name.replace('-', " "),
        serde_json::Value::Null => "none".to_owned(),
        serde_json::Value::Object(fields) => {
            let one = |(name, of): (&String, &_)| {
                format!("{} {}", name.replace('-', " "), plain_value(of))
            };
            fields.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Returns what to say after a name that is not among `known`: what was probably meant, and all
/// there is.
#[must_use]
pub fn instead_of(name: &str, known: &[&str]) -> String {
    format!("{}there are: {}", perhaps(name, known), known.join(", "))
}

/// Returns the question whether another name was meant, with a space behind it, if one comes near.
#[must_use]
pub fn perhaps(name: &str, known: &[&str]) -> String {
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    let near = |known: &&str| distance(known) <= 1 + name.len().max(known.len()) / 5;
    let nearest = known.iter().copied().filter(near).min_by_key(|known| distance(known));
    let begins = || known.iter().copied().find(|known| name.len() > 2 && known.starts_with(name));
    let meant = nearest.or_else(begins);
    meant.map(|known| format!("did you mean '{known}'? ")).unwrap_or_default()
}

/// A text that is kept for as long as the program runs, as names of properties are: each once.
pub(crate) fn kept(text: String) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&known) = kept.get(&*text) {
        return known;
    }
    let text: &'static str = text.leak();
    kept.insert(text);
    text
}

#[cfg(test)]
mod tests {
    use super::instead_of;

    #[test]
    fn what_was_meant_is_near_or_begins_alike() {
        let known = ["bully", "raft-election", "queue"];
        let all = "there are: bully, raft-election, queue";
        for (name, meant) in [("buly", "bully"), ("raft", "raft-election"), ("qeueu", "queue")] {
            assert_eq!(instead_of(name, &known), format!("did you mean '{meant}'? {all}"));
        }
        for name in ["", "paxos", "b"] {
            assert_eq!(instead_of(name, &known), all);
        }
        // Half of the letters are others.
        assert_eq!(instead_of("tcsh", &["bash", "zsh"]), "there are: bash, zsh");
    }
}
