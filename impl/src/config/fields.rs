//! The keys of a section whose values are settings, and how they are read and written.

use std::ops::Range;
use std::time::Duration;

use humantime_serde::re::humantime::format_duration;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::protocol::quorum::Preemption;
use crate::protocol::{MemberError, NodeId};

/// The keys of a section, in the order in which they are written, each with its value.
pub type Fields<'a> = Vec<(&'static str, Field<'a>)>;

/// One value, of the type that the key has.
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
    fn read(self, value: Spanned<DeValue<'_>>) -> Result<(), Mistake> {
        let place = value.span();
        let value = ValueDeserializer::from(value);
        match self {
            Self::Time(time) => *time = humantime_serde::deserialize(value)?,
            Self::Number(number) => *number = f64::deserialize(value)?,
            Self::Count(count) => *count = usize::deserialize(value)?,
            Self::Node(node) => *node = Some(super::file::NodeNumber::deserialize(value)?.0),
            Self::Preemption(preempts) => {
                let wrong = |problem| Mistake::Here(place, problem);
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

fn no_number(text: &str) -> String {
    format!("`{text}` is not a number that fits here")
}

/// What is wrong with a file, and where.
#[derive(Debug)]
pub(super) enum Mistake {
    /// Found here: what stands at this place is wrong.
    Here(Range<usize>, String),
    /// What is read is no TOML.
    Syntax(toml::de::Error),
    /// A value is missing, or not what it should be.
    Value(toml::de::Error),
}

impl From<toml::de::Error> for Mistake {
    fn from(error: toml::de::Error) -> Self {
        Self::Value(error)
    }
}

impl Mistake {
    /// The message, with the line of the `text` that it is about.
    pub(super) fn tell(self, text: &str) -> String {
        let at = |place: usize| 1 + text[..place.min(text.len())].matches('\n').count();
        let shown = |error: &toml::de::Error, problem: String| {
            let Some(place) = error.span() else { return problem };
            let line = at(place.start);
            let stands = text.lines().nth(line - 1).unwrap_or_default().trim();
            format!("line {line}, `{stands}`: {problem}")
        };
        match self {
            Self::Here(place, problem) => format!("line {}: {problem}", at(place.start)),
            Self::Syntax(error) => shown(&error, syntax(error.message())),
            Self::Value(error) => match missing(error.message()) {
                Some(problem) => problem,
                None => shown(&error, value(error.message())),
            },
        }
    }
}

/// Why a line is no TOML, and how to write it.
fn syntax(message: &str) -> String {
    if message.contains("duplicate key") {
        return "duplicate key: every key may stand once, so leave one of them out".to_owned();
    }
    if message.contains("string") {
        return "a text in quotation marks does not end: close it in the same line".to_owned();
    }
    format!(
        "this is no TOML ({message}): write `key = value`, texts in quotation marks, below the \
         [section] that the key belongs to"
    )
}

/// What a key that is missing says, and how to write it.
fn missing(message: &str) -> Option<String> {
    let key = message.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(match key {
        "cluster" => "the key `cluster` is missing: write `cluster = \"NAME\"` at the top, the \
                      same on every node"
            .to_owned(),
        "members" => "the section [members] is missing: write it with a line `ID = \
                      \"HOST:PORT\"` for each node, this one included"
            .to_owned(),
        _ => format!("the key `{key}` is missing: add it"),
    })
}

/// Why a value cannot be, and what can.
fn value(message: &str) -> String {
    let wrong =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "));
    match wrong {
        Some((found, "a map")) => {
            format!("found {found}: write a section, with a line for each key")
        }
        Some((found, "a string")) => format!("found {found}: write a text in quotation marks"),
        Some((found, wanted)) => format!("found {found}: write {wanted}"),
        None => message.to_owned(),
    }
}

/// Refuses a table that has other keys than the `known` ones.
pub(super) fn check(table: &DeTable<'_>, section: &str, known: &[&str]) -> Result<(), Mistake> {
    let wrong = table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
    wrong.map_or(Ok(()), |key| {
        let problem = unknown("key", key.get_ref(), &place(section), known);
        Err(Mistake::Here(key.span(), problem))
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
            fields.swap_remove(at).1.read(value)?;
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
