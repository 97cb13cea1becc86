//! The files of claims, bugs, executions and products: how each is read and refused, and what their
//! entries have in common.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// The error that a file, or an entry of it, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The file is missing, or is not what it should look like.
    #[error("{file}: {wrong}")]
    File {
        /// The file.
        file: String,
        /// The words of the reader, with line and column.
        wrong: String,
    },
    /// An entry makes no sense.
    #[error("{file}, {name}: {wrong}")]
    Entry {
        /// The file.
        file: String,
        /// The name of the entry.
        name: String,
        /// The mistake, and what to do.
        wrong: String,
    },
    /// There is no such entry.
    #[error("there is no {0}")]
    Unknown(String),
}

impl EntryError {
    pub(crate) fn file(file: &str, wrong: &dyn fmt::Display) -> EntryError {
        EntryError::File { file: file.to_owned(), wrong: wrong.to_string().trim_end().to_owned() }
    }

    pub(crate) fn entry(
        file: &str,
        name: impl Into<String>,
        wrong: impl Into<String>,
    ) -> EntryError {
        EntryError::Entry { file: file.to_owned(), name: name.into(), wrong: wrong.into() }
    }
}

/// Text that may stand on several lines in the file: any white space is one space.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Prose(pub(crate) String);

impl From<String> for Prose {
    fn from(text: String) -> Prose {
        Prose(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Reads such a text as the words that it has.
pub(crate) fn prose<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Prose::deserialize(text).map(|Prose(text)| text)
}

/// Reads such a text where one may be left out.
pub(crate) fn some_prose<'de, D: Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    prose(text).map(Some)
}

/// Reads such texts, each with its name.
pub(crate) fn named_prose<'de, D: Deserializer<'de>>(
    texts: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let texts = BTreeMap::<String, Prose>::deserialize(texts)?;
    Ok(texts.into_iter().map(|(name, Prose(text))| (name, text)).collect())
}

/// Where something is told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// What it is, such as an issue with its number.
    pub what: String,
    /// Its address.
    pub url: String,
}

/// Returns the text of a file.
pub(crate) fn text(file: &Path) -> Result<String, EntryError> {
    std::fs::read_to_string(file)
        .map_err(|error| EntryError::file(&file.display().to_string(), &error))
}

/// Returns the name and the text of this file; of the one that is compiled in if none is given.
pub(crate) fn source(
    compiled: (&str, &str),
    file: Option<&Path>,
) -> Result<(String, String), EntryError> {
    let Some(file) = file else { return Ok((compiled.0.to_owned(), compiled.1.to_owned())) };
    Ok((file.display().to_string(), text(file)?))
}

/// Returns a value of a file as it is typed.
pub(crate) fn word(value: toml::Value) -> String {
    match value {
        toml::Value::String(word) => word,
        other => other.to_string(),
    }
}

/// Reads the text of the file with this name.
pub(crate) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, EntryError> {
    toml::from_str(text).map_err(|error| EntryError::file(file, &error))
}

/// Refuses a name that two entries of a file have.
pub(crate) fn unique<'a>(
    file: &str,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<(), EntryError> {
    let mut known = BTreeSet::new();
    match names.into_iter().find(|name| !known.insert(*name)) {
        Some(twice) => Err(EntryError::entry(
            file,
            twice.as_str(),
            "the name is taken; give each entry its own",
        )),
        None => Ok(()),
    }
}

/// Returns the entries with these names, or all if none is given; `kind` is the word for one.
pub(crate) fn select<'a, T>(
    all: &'a [T],
    kind: &str,
    name_of: impl Fn(&T) -> &String,
    names: &[String],
) -> Result<Vec<&'a T>, EntryError> {
    let known = |name: &&String| all.iter().any(|one| name_of(one) == *name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = all.iter().map(|one| name_of(one).as_str()).collect();
        let known = all.join(", ");
        return Err(EntryError::Unknown(format!("{kind} '{name}'; there are: {known}")));
    }
    Ok(all.iter().filter(|one| names.is_empty() || names.contains(name_of(one))).collect())
}
