//! The keys of a section whose values are settings, and how they are read and written.

use std::ops::Range;
use std::time::Duration;

use humantime::format_duration;
use serde::{Deserialize, Deserializer};
use toml::de::{DeTable, ValueDeserializer};

use crate::protocol::quorum::Preemption;
use crate::protocol::{MemberError, NodeId};

/// The keys of a section, in the order in which they are written, each with its value.
pub type Fields<'a> = Vec<(&'static str, Field<'a>)>;

/// A value of the type that the key has.
#[derive(Debug)]
pub enum Field<'a> {
    /// A length of time, such as `"300ms"`.
    Time(&'a mut Duration),
    /// A number.
    Number(&'a mut f64),
    /// A number of things.
    Count(&'a mut usize),
    /// The id of a node; `None` if there is no default.
    Node(&'a mut Option<NodeId>),
    /// Whether a higher node takes over, such as `"dwell"`.
    Preemption(&'a mut Preemption),
}

impl Field<'_> {
    /// Takes the value from text, as flags and variables have it.
    pub(super) fn parse(self, text: &str) -> Result<(), String> {
        match self {
            Self::Time(value) => *value = super::duration(text)?,
            Self::Number(value) => *value = text.parse().map_err(|_| no_number(text))?,
            Self::Count(value) => *value = text.parse().map_err(|_| no_number(text))?,
            Self::Node(value) => {
                let id = text.parse().map_err(|error: MemberError| error.to_string());
                *value = Some(id?);
            }
            Self::Preemption(value) => *value = preemption(text)?,
        }
        Ok(())
    }

    /// Takes the value from a file.
    fn read(self, value: ValueDeserializer<'_>) -> Result<(), toml::de::Error> {
        match self {
            Self::Time(length) => *length = time(value)?,
            Self::Number(number) => *number = f64::deserialize(value)?,
            Self::Count(count) => *count = usize::deserialize(value)?,
            Self::Node(node) => *node = Some(super::file::NodeNumber::deserialize(value)?.0),
            Self::Preemption(preempts) => {
                let wrong = <toml::de::Error as serde::de::Error>::custom;
                *preempts = preemption(&String::deserialize(value)?).map_err(wrong)?;
            }
        }
        Ok(())
    }

    /// The value as a file has it; `None` if there is none.
    fn written(&self) -> Option<String> {
        match self {
            Self::Time(time) => Some(format!("\"{}\"", format_duration(**time))),
            Self::Number(number) => Some(format!("{number:?}")),
            Self::Count(count) => Some(count.to_string()),
            Self::Node(node) => node.map(|node| node.to_string()),
            Self::Preemption(value) => {
                let named = Preemption::NAMES.iter().find(|(_, known)| known == *value);
                named.map(|(name, _)| format!("\"{name}\""))
            }
        }
    }
}

fn preemption(text: &str) -> Result<Preemption, String> {
    let named = Preemption::NAMES.iter().find(|(name, _)| *name == text);
    let known = Preemption::NAMES.map(|(name, _)| name);
    named.map(|&(_, value)| value).ok_or_else(|| unknown("value", text, "", &known))
}

/// Reads a length of time from a file.
pub(super) fn time<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: From<Duration>,
{
    let time = super::duration(&String::deserialize(value)?);
    time.map(T::from).map_err(serde::de::Error::custom)
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

/// Refuses a table that has other keys than the `known` ones.
pub(super) fn check(table: &DeTable<'_>, section: &str, known: &[&str]) -> Result<(), Mistake> {
    let wrong = table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
    wrong.map_or(Ok(()), |key| {
        let problem = unknown("key", key.get_ref(), &place(section), known);
        Err(Mistake::here(key.span(), problem))
    })
}

/// Takes the values of the fields from a table that has no other keys.
pub(super) fn read(
    table: DeTable<'_>,
    section: &str,
    mut fields: Fields<'_>,
) -> Result<(), Mistake> {
    check(&table, section, &names(&fields))?;
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
    let problem = unknown("key", key, &place(section), &names(&fields));
    let found = fields.into_iter().find(|&(known, _)| known == key);
    found.map_or(Err(problem), |(_, field)| field.parse(value))
}

/// The keys of these fields with their section, and their values as a file has them.
pub(super) fn listed(section: &str, fields: &Fields<'_>) -> Vec<(String, String)> {
    let entry = |(key, field): &(&str, Field<'_>)| {
        (format!("{section}.{key}"), field.written().unwrap_or_default())
    };
    fields.iter().map(entry).collect()
}

/// The keys of these fields.
pub(super) fn names(fields: &Fields<'_>) -> Vec<&'static str> {
    fields.iter().map(|&(key, _)| key).collect()
}

fn place(section: &str) -> String {
    if section.is_empty() { String::new() } else { format!(" in [{section}]") }
}

/// The lines of a section with these fields.
pub(super) fn write(section: &str, fields: &Fields<'_>) -> String {
    let line = |(key, field): &(&str, Field<'_>)| Some(format!("{key} = {}\n", field.written()?));
    let lines: String = fields.iter().filter_map(line).collect();
    format!("\n[{section}]\n{lines}")
}

/// That a name is not known, and what comes nearest.
pub(super) fn unknown(what: &str, name: &str, place: &str, known: &[&str]) -> String {
    let distance = |known: &&&str| strsim::damerau_levenshtein(name, known);
    let nearest = known.iter().min_by_key(distance).copied().unwrap_or_default();
    let known = known.join("`, `");
    format!("unknown {what} `{name}`{place}: the nearest is `{nearest}`; there are `{known}`")
}
