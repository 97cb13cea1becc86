//! Executions that are worth a look, as data: each with two sentences, and the command that finds
//! it.
//!
//! The entries are in `model/gallery/executions.toml`, and are compiled in. They say how long a
//! shortest execution is, which is compared with what the command finds.

use crate::claims::Prose;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The file that is compiled in.
const FILE: (&str, &str) = ("executions.toml", include_str!("../gallery/executions.toml"));

/// Every execution, in the order in which they are shown.
#[derive(Clone, Debug)]
pub struct Gallery {
    /// The executions.
    pub executions: Vec<Execution>,
}

/// An execution that is worth a look.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The short name, by which it is chosen.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// What it shows, in two sentences.
    pub about: String,
    /// The command that finds it, as it is typed, without the name of the program.
    pub command: String,
    /// How many steps it has: of liveness, before those that repeat.
    pub steps: usize,
}

/// What is wrong with the entries, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GalleryError {
    /// The file is missing, or is not what it should look like.
    #[error("{file}: {wrong}")]
    File {
        /// The file.
        file: String,
        /// What the reader says, with line and column.
        wrong: String,
    },
    /// Two entries have the same name.
    #[error("{file}: two executions are named '{name}'; give each its own name")]
    Twice {
        /// The file.
        file: String,
        /// The name.
        name: String,
    },
    /// No such execution.
    #[error("there is no execution '{name}'; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGallery {
    execution: Vec<WrittenExecution>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExecution {
    name: String,
    title: String,
    about: Prose,
    command: String,
    steps: usize,
}

impl Gallery {
    /// Returns the executions that are compiled in.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn load() -> Result<Gallery, GalleryError> {
        Gallery::read(FILE.0, FILE.1)
    }

    /// Returns the executions in this file, so that an entry can be tried before it is compiled in.
    ///
    /// # Errors
    /// If it is missing, or cannot be read.
    pub fn load_from(file: &Path) -> Result<Gallery, GalleryError> {
        let name = file.display().to_string();
        match std::fs::read_to_string(file) {
            Ok(text) => Gallery::read(&name, &text),
            Err(error) => Err(GalleryError::File { file: name, wrong: error.to_string() }),
        }
    }

    /// Returns the executions of a file with this name and this text.
    ///
    /// # Errors
    /// If it cannot be read, or a name stands twice.
    pub fn read(file: &str, text: &str) -> Result<Gallery, GalleryError> {
        let file = file.to_owned();
        let written: WrittenGallery = match toml::from_str(text) {
            Ok(written) => written,
            Err(error) => {
                let wrong = error.to_string().trim_end().to_owned();
                return Err(GalleryError::File { file, wrong });
            }
        };
        let twice = {
            let mut known = BTreeSet::new();
            written.execution.iter().find(|one| !known.insert(&one.name))
        };
        if let Some(twice) = twice {
            return Err(GalleryError::Twice { file, name: twice.name.clone() });
        }
        let executions = written.execution.into_iter().map(|one| Execution {
            name: one.name,
            title: one.title,
            about: one.about.0,
            command: one.command,
            steps: one.steps,
        });
        Ok(Gallery { executions: executions.collect() })
    }

    /// Returns the executions with these names; all if none is given.
    ///
    /// # Errors
    /// If there is no such execution.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Execution>, GalleryError> {
        let known = |name: &&String| self.executions.iter().any(|one| one.name == **name);
        if let Some(name) = names.iter().find(|name| !known(name)) {
            let all: Vec<&str> = self.executions.iter().map(|one| one.name.as_str()).collect();
            return Err(GalleryError::Unknown { name: name.clone(), known: all.join(", ") });
        }
        let chosen = |one: &&Execution| names.is_empty() || names.contains(&one.name);
        Ok(self.executions.iter().filter(chosen).collect())
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
    use super::{Gallery, GalleryError};

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
        assert_eq!(twice, GalleryError::Twice { file: "f".to_owned(), name: "n".to_owned() });
        let less = Gallery::read("f", &ENTRY.replace("steps = 7\n", "")).expect_err("no steps");
        assert!(less.to_string().contains("missing field `steps`"), "{less}");
    }
}
