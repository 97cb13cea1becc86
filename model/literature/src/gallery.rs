//! Executions that are worth a look, as data: each with two sentences, and the command that finds
//! it.
//!
//! The entries are in `model/literature/gallery/executions.toml`, and are compiled in. They say how
//! long a shortest execution is, which is compared with what the command finds.

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
    /// The command that finds it, as it is typed, without the name of the program.
    pub command: String,
    /// How many steps it has: of liveness, before those that repeat.
    pub steps: usize,
}

impl Gallery {
    /// Returns the executions that are compiled in.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn load() -> Result<Gallery, EntryError> {
        Gallery::read(FILE.0, FILE.1)
    }

    /// Returns the executions in this file, so that an entry can be tried before it is compiled in.
    ///
    /// # Errors
    /// If it is missing, or cannot be read.
    pub fn load_from(file: &Path) -> Result<Gallery, EntryError> {
        Gallery::read(&file.display().to_string(), &entries::text(file)?)
    }

    /// Returns the executions of a file with this name and this text.
    ///
    /// # Errors
    /// If it cannot be read, or a name stands twice.
    pub fn read(file: &str, text: &str) -> Result<Gallery, EntryError> {
        let gallery: Gallery = entries::parse(file, text)?;
        entries::unique(file, gallery.executions.iter().map(|one| &one.name))?;
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

impl Execution {
    /// Returns the words of the command, as a shell reads them: what stands between two quotes is
    /// one word.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in self.command.chars() {
            match letter {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                _ => words.last_mut().expect("there is a first").push(letter),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }
}

#[cfg(test)]
mod tests {
    use super::Gallery;

    const ENTRY: &str = "[[execution]]\nname = 'n'\ntitle = 't'\nabout = '''One\ntwo.'''\n\
                         command = \"check bully --never 'leads(1) && leads(2)' --nodes  3\"\n\
                         steps = 7\n";

    #[test]
    fn an_entry_is_read_and_its_command_is_words() {
        let gallery = Gallery::read("f", ENTRY).expect("it can be read");
        let one = &gallery.executions[0];
        assert_eq!((one.about.as_str(), one.steps), ("One two.", 7));
        let words = ["check", "bully", "--never", "leads(1) && leads(2)", "--nodes", "3"];
        assert_eq!(one.words(), words);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let twice = Gallery::read("f", &ENTRY.repeat(2)).expect_err("the name stands twice");
        assert!(twice.to_string().starts_with("f, n: the name is taken"), "{twice}");
        let less = Gallery::read("f", &ENTRY.replace("steps = 7\n", "")).expect_err("no steps");
        assert!(less.to_string().contains("missing field `steps`"), "{less}");
    }
}
