//! Executions that are worth a look, as data: each with two sentences, and the case that finds it.
//!
//! The entries are in `model/literature/gallery/executions.toml`, and are compiled in. A case says
//! how long a shortest execution is, which is compared with what the search finds.

use crate::case::Case;
use crate::entries::{self, EntryError};
use serde::Deserialize;
use std::path::Path;

/// The file that is compiled in.
const FILE: (&str, &str) = ("executions.toml", include_str!("../gallery/executions.toml"));

/// Every execution, in the order in which they are shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gallery {
    /// The executions.
    #[serde(rename = "execution")]
    pub executions: Vec<Execution>,
}

/// An execution that is worth a look.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// The short name, by which it is chosen.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// What it shows, in two sentences.
    #[serde(deserialize_with = "entries::prose")]
    pub about: String,
    /// The case whose counterexample it is.
    pub case: Case,
}

impl Gallery {
    /// Returns the executions in this file, so that an entry can be tried before it is compiled in;
    /// without a file those that are.
    ///
    /// # Errors
    /// If the file cannot be read, or an entry makes no sense.
    pub fn load(file: Option<&Path>) -> Result<Gallery, EntryError> {
        let (file, text) = entries::source(FILE, file)?;
        Gallery::read(&file, &text)
    }

    fn read(file: &str, text: &str) -> Result<Gallery, EntryError> {
        let gallery: Gallery = entries::parse(file, text)?;
        entries::unique(file, gallery.executions.iter().map(|one| &one.name))?;
        for Execution { name, case, .. } in &gallery.executions {
            if case.steps().is_none() {
                let wrong = "it expects no number of steps; write expect = { PROPERTY = \
                             \"violated in N steps\" }";
                return Err(EntryError::entry(file, name, wrong));
            }
            case.possible(file, name)?;
        }
        Ok(gallery)
    }

    /// Returns the executions with these names; all if none is given.
    ///
    /// # Errors
    /// If there is no such execution.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Execution>, EntryError> {
        entries::select(&self.executions, "execution", |one| &one.name, names)
    }
}

#[cfg(test)]
mod tests {
    use super::Gallery;

    const ENTRY: &str = "[[execution]]\nname = 'n'\ntitle = 't'\nabout = '''One\ntwo.'''\n\
                         [execution.case]\nprotocol = 'bully'\nnodes = 3\n\
                         expect = { decided = 'violated in 7 steps' }\n";

    #[test]
    fn an_entry_is_read_with_its_case() {
        let gallery = Gallery::read("f", ENTRY).expect("it can be read");
        let one = &gallery.executions[0];
        assert_eq!((one.about.as_str(), one.case.steps()), ("One two.", Some(7)));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let twice = Gallery::read("f", &ENTRY.repeat(2)).expect_err("the name stands twice");
        assert!(twice.to_string().starts_with("f, n: the name is taken"), "{twice}");
        for (text, by, says) in [
            ("protocol = 'bully'\n", "", "'protocol' is missing"),
            (" in 7 steps", "", "f, n: it expects no number of steps"),
            ("expect = { decided = 'violated in 7 steps' }", "property = 'decided'", "no number"),
            ("nodes = 3", "first = true", "f, n: unexpected argument '--first' found"),
        ] {
            assert!(ENTRY.contains(text), "{text}");
            let told = Gallery::read("f", &ENTRY.replace(text, by)).expect_err(by).to_string();
            assert!(told.contains(says), "{told}");
        }
    }
}
