//! The values of a section: how they are read, and what is said of one that is wrong.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use bellwether_stores::address::StoreAddress;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::NodeNumber;
use crate::config::fields::{self, Field, Fields, KINDS, detector_fields, kind_fields};
use crate::detector::{Detection, Settings, adaptive, fixed, phi};
use crate::protocol::lease::Lease;
use crate::protocol::quorum::{Preemption, Quorum};
use crate::protocol::{Core as _, NAMES};

impl Field<'_> {
    /// Takes the value from text, as flags and variables have it.
    fn parse(self, text: &str) -> Result<(), String> {
        match self {
            Self::Number(value) => *value = text.parse().map_err(|_| no_number(text))?,
            Self::Count(value) => *value = text.parse().map_err(|_| no_number(text))?,
            other => {
                let value = Spanned::new(0..0, DeValue::String(text.into()));
                let read = other.read(ValueDeserializer::from(value));
                read.map_err(|error| error.message().to_owned())?;
            }
        }
        Ok(())
    }

    /// Takes the value from a file.
    fn read(self, value: ValueDeserializer<'_>) -> Result<(), toml::de::Error> {
        let wrong = <toml::de::Error as serde::de::Error>::custom::<String>;
        match self {
            Self::Time(length) => *length = fields::time::deserialize(value)?,
            Self::Number(number) => *number = f64::deserialize(value)?,
            Self::Count(count) => *count = usize::deserialize(value)?,
            Self::Store(address) => {
                *address = Some(store(&toml::Value::deserialize(value)?).map_err(wrong)?);
            }
            Self::File(path) => {
                *path = Some(file(&String::deserialize(value)?).map_err(wrong)?);
            }
            Self::Preemption(preempts) => {
                *preempts = preemption(&String::deserialize(value)?).map_err(wrong)?;
            }
        }
        Ok(())
    }
}

fn preemption(text: &str) -> Result<Preemption, String> {
    let named = Preemption::NAMES.iter().find(|(name, _)| *name == text);
    let known = Preemption::NAMES.map(|(name, _)| name);
    named.map(|&(_, value)| value).ok_or_else(|| unknown("value", text, "", &known))
}

/// The store of the lease: a number is the id of a member.
fn store(value: &toml::Value) -> Result<StoreAddress, String> {
    match value {
        toml::Value::Integer(number) => {
            let node = NodeNumber::try_from(*number).map_err(|error| error.to_string())?;
            Ok(StoreAddress::Node(node.0))
        }
        toml::Value::String(text) => text.parse(),
        other => Err(format!(
            "{} is no store: write the id of a member, or an address, as in \"sqlite:FILE\"",
            other.type_str()
        )),
    }
}

fn file(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("the path is empty: name a file, or leave the key out".to_owned());
    }
    Ok(text.into())
}

fn no_number(text: &str) -> String {
    format!("`{text}` is not a number that fits here")
}

/// What is wrong with a file, and where.
#[derive(Debug)]
pub(super) struct Mistake {
    place: Range<usize>,
    problem: String,
}

impl Mistake {
    /// Returns the mistake that what stands at this place is wrong.
    pub(super) fn here(place: Range<usize>, problem: String) -> Self {
        Self { place, problem }
    }

    /// Returns the mistake that the text is no TOML. The error has no kind, so the remedy depends
    /// on the section alone.
    pub(super) fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let place = error.span().unwrap_or_default();
        let before = text.get(..place.start).unwrap_or(text);
        let header = before.lines().rev().map(str::trim).find(|line| line.starts_with('['));
        let remedy = match header {
            Some(header) if header.starts_with("[members]") => {
                "write `ID = \"HOST:PORT\"` for each node, and give each its own id"
            }
            _ => {
                "write `key = value`, each key once and texts in quotation marks, below the \
                 [section] that the key belongs to"
            }
        };
        let line = text.lines().nth(before.matches('\n').count()).unwrap_or_default().trim();
        Self::here(place, format!("`{line}`: {}; {remedy}", error.message()))
    }

    /// Returns the mistake that the key with this path has a wrong value.
    pub(super) fn value(place: Range<usize>, path: &str, error: &toml::de::Error) -> Self {
        Self::here(place, format!("`{path}`: {}", error.message()))
    }

    /// Returns the mistake that a value stands where the section with this name should.
    pub(super) fn no_table(place: Range<usize>, name: &str) -> Self {
        let remedy = "write a section, with a line for each key";
        Self::here(place, format!("[{name}] must be a table: {remedy}"))
    }

    /// The message, with the line of the `text` that it is about.
    pub(super) fn tell(self, text: &str) -> String {
        let before = text.bytes().take(self.place.start);
        let line = 1 + before.filter(|&byte| byte == b'\n').count();
        format!("line {line}: {}", self.problem)
    }
}

/// Takes the values of the fields from a table.
pub(super) fn read(
    table: DeTable<'_>,
    section: &str,
    mut fields: Fields<'_>,
) -> Result<(), Mistake> {
    for (key, value) in table {
        if let Some(at) = fields.iter().position(|&(known, _)| known == key.get_ref()) {
            let (name, field) = fields.swap_remove(at);
            let (place, path) = (value.span(), format!("{section}.{name}"));
            let wrong = |error: toml::de::Error| Mistake::value(place, &path, &error);
            field.read(ValueDeserializer::from(value)).map_err(wrong)?;
        }
    }
    Ok(())
}

/// Takes the value of one field from text.
pub(super) fn set(fields: Fields<'_>, section: &str, key: &str, value: &str) -> Result<(), String> {
    let known: Vec<_> = fields.iter().map(|&(key, _)| key).collect();
    let problem = unknown("key", key, &place(section), &known);
    let found = fields.into_iter().find(|&(known, _)| known == key);
    found.map_or(Err(problem), |(_, field)| field.parse(value))
}

/// Returns where a key of this section stands, as the message about it says.
pub(super) fn place(section: &str) -> String {
    if section.is_empty() { String::new() } else { format!(" in [{section}]") }
}

/// That a name is not known, and which of those that there are comes near.
pub(super) fn unknown(what: &str, name: &str, place: &str, known: &[&str]) -> String {
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    let near = |known: &&str| {
        known.contains(name) || distance(known) <= 1 + name.len().max(known.len()) / 5
    };
    let nearest = known.iter().copied().filter(near).min_by_key(|known| distance(known));
    beside(what, name, place, nearest, known)
}

fn beside(what: &str, name: &str, place: &str, nearest: Option<&str>, known: &[&str]) -> String {
    let nearest = nearest.map(|name| format!("the nearest is `{name}`; ")).unwrap_or_default();
    let known = known.join("`, `");
    format!("unknown {what} `{name}`{place}: {nearest}there are `{known}`")
}

/// What the names of well-known protocols contain, each with the protocol here that does the same.
const ALIKE: [(&str, &str); 14] = [
    ("raft", Quorum::NAME),
    ("paxos", Quorum::NAME),
    ("zab", Quorum::NAME),
    ("viewstamped", Quorum::NAME),
    ("majority", Quorum::NAME),
    ("etcd", Quorum::NAME),
    ("consul", Quorum::NAME),
    ("zookeeper", Quorum::NAME),
    ("redlock", Lease::NAME),
    ("redis", Lease::NAME),
    ("chubby", Lease::NAME),
    ("kubernetes", Lease::NAME),
    ("postgres", Lease::NAME),
    ("sqlite", Lease::NAME),
];

/// That there is no protocol with this name, and which does the same or has a name that comes near.
pub(super) fn unknown_protocol(name: &str) -> String {
    let lower = name.to_lowercase();
    match ALIKE.iter().find(|(part, _)| lower.contains(part)) {
        Some(&(_, protocol)) => beside("protocol", name, "", Some(protocol), NAMES),
        None => unknown("protocol", name, "", NAMES),
    }
}

/// The usual settings of a kind of detector for heartbeats of this interval; `None` if there is no
/// such kind.
pub(super) fn usual(kind: &str, heartbeat: Duration) -> Option<Settings> {
    Some(match kind {
        "fixed" => Settings::Fixed(fixed::Settings::for_interval(heartbeat)),
        "adaptive" => Settings::Adaptive(adaptive::Settings::for_interval(heartbeat)),
        "phi" => Settings::Phi(phi::Settings::for_interval(heartbeat)),
        _ => return None,
    })
}

/// Reads the section `[detector]`. The interval of the heartbeats decides the keys that are
/// missing.
pub(super) fn read_detector(mut table: DeTable<'_>) -> Result<Detection, Mistake> {
    let mut detection = Detection::default();
    let kind = table.remove("kind");
    let kinds: Vec<_> =
        KINDS.iter().filter_map(|&kind| Some((kind, table.remove(kind)?))).collect();
    detection.start = Duration::ZERO;
    read(table, "detector", detector_fields(&mut detection))?;
    if detection.start.is_zero() {
        detection.start = detection.heartbeat.saturating_mul(10);
    }
    let chosen = match &kind {
        Some(kind) => kind.get_ref().as_str().unwrap_or_default(),
        None => KINDS[0],
    };
    detection.detector = usual(chosen, detection.heartbeat).ok_or_else(|| {
        let place = kind.as_ref().map(Spanned::span).unwrap_or_default();
        Mistake::here(place, unknown("detector", chosen, "", &KINDS))
    })?;
    for (name, section) in kinds {
        // The section of a kind that is not chosen may stand there; its keys must be right.
        let mut other = usual(name, detection.heartbeat);
        let settings = if name == chosen { Some(&mut detection.detector) } else { other.as_mut() };
        if let (Some(settings), DeValue::Table(table)) = (settings, section.into_inner()) {
            read(table, &format!("detector.{name}"), kind_fields(settings))?;
        }
    }
    Ok(detection)
}
