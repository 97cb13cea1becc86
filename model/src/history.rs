//! Bugs that elections of real systems had, as data, and what runs them.
//!
//! An entry says in our words what happened, and where it is told. It has two worlds: one by rules
//! that have the bug, where a property is violated, and one by the rules of the repair, where the
//! property holds. Both are run; what the entry states (how long a shortest execution is) is
//! compared with what is found.
//!
//! The entries are in `model/history/bugs.toml`, and are compiled in. What the model cannot say is
//! listed there too, with the reason.

use crate::claims::{Ask, Finding, Prose, Ran, Runner, Subject, possible, typed};
use crate::side_by_side::side_by_side;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The file that is compiled in.
const FILE: (&str, &str) = ("bugs.toml", include_str!("../history/bugs.toml"));

/// Every bug, and what cannot be said.
#[derive(Clone, Debug)]
pub struct History {
    /// The bugs, in the order in which they are told.
    pub bugs: Vec<Bug>,
    /// Kinds of bugs that no rule has.
    pub unsaid: Vec<Unsaid>,
}

/// A bug that happened.
#[derive(Clone, Debug)]
pub struct Bug {
    /// The short name, by which it is chosen.
    pub name: String,
    /// What went wrong, in a line.
    pub title: String,
    /// The systems that had it.
    pub systems: String,
    /// What happened, in our words.
    pub story: String,
    /// How the model says it.
    pub model: String,
    /// Where it is told.
    pub sources: Vec<Place>,
    /// The property that is violated, and holds without the bug.
    pub property: String,
    /// The world by the rules that have the bug.
    pub broken: Subject,
    /// How many steps a shortest execution has that shows it.
    pub steps: usize,
    /// The world by the rules of the repair.
    pub repaired: Subject,
    /// Whether the property holds there only within the bounds of the search.
    pub within: bool,
}

/// Where something is told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// What it is, such as an issue with its number.
    pub what: String,
    /// Its address.
    pub url: String,
}

/// A kind of bug that no rule has.
#[derive(Clone, Debug)]
pub struct Unsaid {
    /// What went wrong.
    pub what: String,
    /// Why the model does not have it.
    pub why: String,
    /// Where it is told.
    pub sources: Vec<Place>,
}

/// What is wrong with the entries, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The file is missing, or is not what it should look like.
    #[error("{file}: {wrong}")]
    File {
        /// The file.
        file: String,
        /// What the reader says, with line and column.
        wrong: String,
    },
    /// An entry makes no sense.
    #[error("{file}, {name}: {wrong}")]
    Entry {
        /// The file.
        file: String,
        /// The name of the bug.
        name: String,
        /// What is wrong, and what to do.
        wrong: String,
    },
    /// No such bug.
    #[error("there is no bug '{name}'; there are: {known}")]
    NoBug {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHistory {
    bug: Vec<WrittenBug>,
    #[serde(default)]
    unsaid: Vec<WrittenUnsaid>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBug {
    name: String,
    title: String,
    systems: String,
    story: Prose,
    model: Prose,
    sources: Vec<Place>,
    property: String,
    broken: WrittenWorld,
    steps: usize,
    repaired: WrittenWorld,
    #[serde(default)]
    within: bool,
}

/// A world. What the repaired one leaves out is as in the broken one, but for its rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWorld {
    protocol: Option<String>,
    variant: Option<String>,
    #[serde(default)]
    rules: BTreeMap<String, toml::Value>,
    nodes: Option<usize>,
    world: Option<toml::Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenUnsaid {
    what: Prose,
    why: Prose,
    sources: Vec<Place>,
}

impl History {
    /// The bugs that are compiled in.
    ///
    /// # Errors
    /// If the file cannot be read, or an entry makes no sense.
    pub fn load() -> Result<History, HistoryError> {
        History::read(FILE.0, FILE.1)
    }

    /// The bugs in this file, so that an entry can be tried before it is compiled in.
    ///
    /// # Errors
    /// If it is missing or cannot be read, or an entry makes no sense.
    pub fn load_from(file: &Path) -> Result<History, HistoryError> {
        let name = file.display().to_string();
        match std::fs::read_to_string(file) {
            Ok(text) => History::read(&name, &text),
            Err(error) => Err(HistoryError::File { file: name, wrong: error.to_string() }),
        }
    }

    /// The bugs of a file with this name and this text.
    ///
    /// # Errors
    /// If it cannot be read, or an entry makes no sense.
    pub fn read(file: &str, text: &str) -> Result<History, HistoryError> {
        let written: WrittenHistory = toml::from_str(text).map_err(|error| HistoryError::File {
            file: file.to_owned(),
            wrong: error.to_string().trim_end().to_owned(),
        })?;
        let mut known = BTreeSet::new();
        let bugs = written.bug.into_iter().map(|bug| {
            let name = bug.name.clone();
            let is_new = known.insert(name.clone());
            let bug = bug.read(is_new);
            bug.map_err(|wrong| HistoryError::Entry { file: file.to_owned(), name, wrong })
        });
        let bugs = bugs.collect::<Result<_, _>>()?;
        let unsaid = written.unsaid.into_iter().map(|unsaid| Unsaid {
            what: unsaid.what.0,
            why: unsaid.why.0,
            sources: unsaid.sources,
        });
        Ok(History { bugs, unsaid: unsaid.collect() })
    }

    /// The bugs with these names; all if none is given.
    ///
    /// # Errors
    /// If there is no such bug.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Bug>, HistoryError> {
        let known = |name: &&String| self.bugs.iter().any(|bug| bug.name == **name);
        if let Some(name) = names.iter().find(|name| !known(name)) {
            let all: Vec<&str> = self.bugs.iter().map(|bug| bug.name.as_str()).collect();
            return Err(HistoryError::NoBug { name: name.clone(), known: all.join(", ") });
        }
        let chosen = |bug: &&Bug| names.is_empty() || names.contains(&bug.name);
        Ok(self.bugs.iter().filter(chosen).collect())
    }
}

impl WrittenBug {
    /// The bug, if it has what it needs.
    fn read(self, is_new: bool) -> Result<Bug, String> {
        if !is_new {
            return Err("the name is taken; give each bug its own".to_owned());
        }
        if self.sources.is_empty() {
            return Err("'sources' is empty; say where it is told".to_owned());
        }
        let broken = self.broken.subject(None)?;
        let repaired = self.repaired.subject(Some(&broken))?;
        if broken == repaired {
            return Err("'repaired' is what 'broken' is; say what differs".to_owned());
        }
        for (what, subject) in [("broken", &broken), ("repaired", &repaired)] {
            let ask = Ask::Property(subject.clone(), self.property.clone());
            if !possible(&ask).map_err(|wrong| format!("{what}: {wrong}"))? {
                return Err(format!("{what}: there is no protocol '{}'", subject.protocol));
            }
        }
        Ok(Bug {
            name: self.name,
            title: self.title,
            systems: self.systems,
            story: self.story.0,
            model: self.model.0,
            sources: self.sources,
            property: self.property,
            broken,
            steps: self.steps,
            repaired,
            within: self.within,
        })
    }
}

impl WrittenWorld {
    fn subject(self, like: Option<&Subject>) -> Result<Subject, String> {
        // The variants of another protocol are others.
        let same = self.protocol.is_none();
        let variant = self.variant.or_else(|| like.filter(|_| same)?.variant.clone());
        let protocol = self.protocol.or_else(|| Some(like?.protocol.clone()));
        let nodes = self.nodes.map(|nodes| vec![nodes]).or_else(|| Some(like?.nodes.clone()));
        let world = self.world.or_else(|| Some(like?.world.clone()));
        Ok(Subject {
            protocol: protocol.ok_or("'protocol' is missing")?,
            variant,
            rules: typed(self.rules),
            each_link: false,
            nodes: nodes.ok_or("'nodes' is missing: how many processes, such as 3?")?,
            world: world.unwrap_or_default(),
        })
    }
}

/// A bug after both of its worlds were searched.
#[derive(Clone, Debug)]
pub struct Rerun<'a> {
    /// The bug.
    pub bug: &'a Bug,
    /// What the rules with the bug found.
    pub broken: Ran,
    /// What those of the repair found.
    pub repaired: Ran,
}

impl Rerun<'_> {
    /// Whether both came out as the entry says: `None` if a search was cut short.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let unknown = |ran: &Ran| matches!(ran.finding, Finding::Unknown(_));
        if unknown(&self.broken) || unknown(&self.repaired) {
            return None;
        }
        let shown = self.broken.finding == Finding::Violated { steps: Some(self.bug.steps) };
        let held = match self.repaired.finding {
            Finding::Holds => !self.bug.within,
            Finding::HoldsWithin(_) => self.bug.within,
            _ => false,
        };
        Some(shown && held)
    }
}

/// Runs these bugs. `done` is called with the name of a bug whenever one of its worlds is searched.
///
/// # Errors
/// If a world cannot be searched, or the system gives no threads.
pub fn rerun<'a>(
    runner: &Runner,
    bugs: &[&'a Bug],
    done: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Rerun<'a>>, String> {
    let jobs: Vec<(&Bug, &Subject)> =
        bugs.iter().flat_map(|&bug| [(bug, &bug.broken), (bug, &bug.repaired)]).collect();
    let one = |&(bug, subject): &(&Bug, &Subject)| {
        let ran = runner.ask(&Ask::Property(subject.clone(), bug.property.clone()));
        let ran = ran.and_then(|ran| ran.into_iter().next().ok_or("no world".to_owned()));
        done(&bug.name);
        ran.map_err(|wrong| format!("{}: {wrong}", bug.name))
    };
    let ran = side_by_side(runner.threads, &jobs, &one).map_err(|error| {
        format!("cannot run {} worlds at a time: {error}; try --threads 1", runner.threads)
    })?;
    let mut ran = ran.into_iter().collect::<Result<Vec<Ran>, String>>()?.into_iter();
    let mut all = Vec::new();
    for &bug in bugs {
        let (Some(broken), Some(repaired)) = (ran.next(), ran.next()) else { break };
        all.push(Rerun { bug, broken, repaired });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::History;

    const WHOLE: &str = "[[bug]]\nname = 'n'\ntitle = 't'\nsystems = 's'\n\
                         story = '''One\ntwo.'''\nmodel = 'm'\n\
                         sources = [{ what = 'w', url = 'https://u' }]\n\
                         property = 'decided'\nsteps = 7\n\
                         broken = { protocol = 'bully', nodes = 3, rules = { t_coord = false } }\n\
                         repaired = {}\n";

    #[test]
    fn the_repaired_world_is_like_the_broken_one_but_for_its_rules() {
        let history = History::read("f", WHOLE).expect("it can be read");
        let bug = &history.bugs[0];
        assert_eq!(bug.story, "One two.");
        assert_eq!(bug.broken.rules, [("t_coord".to_owned(), "false".to_owned())]);
        assert_eq!((bug.repaired.protocol.as_str(), bug.repaired.rules.len()), ("bully", 0));
        assert_eq!(bug.repaired.nodes, [3]);
    }

    #[test]
    fn an_entry_that_shows_nothing_is_refused() {
        for (text, by, says) in [
            ("rules = { t_coord = false }", "variant = 'recommended'", "say what differs"),
            ("[{ what = 'w', url = 'https://u' }]", "[]", "where it is told"),
            ("nodes = 3, ", "", "'nodes' is missing"),
            ("'bully'", "'nonsense'", "broken: there is no protocol 'nonsense'"),
            ("'decided'", "'nonsense'", "f, n: broken: "),
            ("steps = 7\n", "", "missing field `steps`"),
        ] {
            assert!(WHOLE.contains(text), "{text}");
            let read = History::read("f", &WHOLE.replacen(text, by, 1));
            let told = read.expect_err(by).to_string();
            assert!(told.contains(says), "{told}");
        }
    }
}
