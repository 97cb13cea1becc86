//! Bugs that elections of real systems had, as data, and what runs them.
//!
//! An entry says in our words what happened, and where it is told. It has two worlds: one by rules
//! that have the bug, where a property is violated, and one by the rules of the repair, where the
//! property holds. Both are run; what the entry states (how long a shortest execution is) is
//! compared with what is found.
//!
//! The entries are in `model/literature/history/bugs.toml`, and are compiled in. What the
//! model cannot say is listed there too, with the reason.

use crate::case::{Case, WrittenWorld};
use crate::claims::{Finding, Ran, Runner};
use crate::entries::{self, EntryError, Place, Prose};
use serde::Deserialize;
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
    /// The property that is violated, in the world by the rules that have the bug.
    pub broken: Case,
    /// How many steps a shortest execution has that shows it.
    pub steps: usize,
    /// The same property in the world by the rules of the repair.
    pub repaired: Case,
    /// Whether the property holds there only within the bounds of the search.
    pub within: bool,
}

/// A kind of bug that no rule has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsaid {
    /// What went wrong.
    #[serde(deserialize_with = "entries::prose")]
    pub what: String,
    /// Why the model does not have it.
    #[serde(deserialize_with = "entries::prose")]
    pub why: String,
    /// Where it is told.
    pub sources: Vec<Place>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHistory {
    bug: Vec<WrittenBug>,
    #[serde(default)]
    unsaid: Vec<Unsaid>,
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

impl History {
    /// Returns the bugs that are compiled in.
    ///
    /// # Errors
    /// If the file cannot be read, or an entry makes no sense.
    pub fn load() -> Result<History, EntryError> {
        History::read(FILE.0, FILE.1)
    }

    /// Returns the bugs in this file, so that an entry can be tried before it is compiled in.
    ///
    /// # Errors
    /// If it is missing or cannot be read, or an entry makes no sense.
    pub fn load_from(file: &Path) -> Result<History, EntryError> {
        History::read(&file.display().to_string(), &entries::text(file)?)
    }

    /// Returns the bugs of a file with this name and this text.
    ///
    /// # Errors
    /// If it cannot be read, or an entry makes no sense.
    pub fn read(file: &str, text: &str) -> Result<History, EntryError> {
        let written: WrittenHistory = entries::parse(file, text)?;
        entries::unique(file, written.bug.iter().map(|bug| &bug.name))?;
        let bugs = written.bug.into_iter().map(|bug| {
            let name = bug.name.clone();
            bug.read().map_err(|wrong| EntryError::entry(file, name, wrong))
        });
        Ok(History { bugs: bugs.collect::<Result<_, _>>()?, unsaid: written.unsaid })
    }

    /// Returns the bugs with these names; all if none is given.
    ///
    /// # Errors
    /// If there is no such bug.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Bug>, EntryError> {
        entries::select(&self.bugs, "bug", |bug| &bug.name, names)
    }
}

impl WrittenBug {
    /// The bug, if it has what it needs.
    fn read(self) -> Result<Bug, String> {
        if self.sources.is_empty() {
            return Err("'sources' is empty; say where it is told".to_owned());
        }
        let broken = self.broken.subject(None)?;
        let repaired = self.repaired.subject(Some(&broken))?;
        if broken == repaired {
            return Err("'repaired' is what 'broken' is; say what differs".to_owned());
        }
        let case = |what: &str, subject| {
            Case::new(subject, &self.property).map_err(|wrong| format!("{what}: {wrong}"))
        };
        let (broken, repaired) = (case("broken", broken)?, case("repaired", repaired)?);
        Ok(Bug {
            name: self.name,
            title: self.title,
            systems: self.systems,
            story: self.story.0,
            model: self.model.0,
            sources: self.sources,
            broken,
            steps: self.steps,
            repaired,
            within: self.within,
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
    let both = bugs.iter().flat_map(|&bug| {
        let name = bug.name.as_str();
        [(name, &bug.broken), (name, &bug.repaired)]
    });
    let cases: Vec<(&str, &Case)> = both.collect();
    let mut ran = runner.cases(&cases, done)?.into_iter();
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
        assert_eq!(bug.broken.subject.rules, [("t_coord".to_owned(), "false".to_owned())]);
        let repaired = &bug.repaired.subject;
        assert_eq!((repaired.protocol.as_str(), repaired.rules.len()), ("bully", 0));
        assert_eq!(repaired.nodes, [3]);
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
