//! Bugs that elections of real systems had, as data.
//!
//! An entry says in our words what happened, and where it is told. It has two cases: one by rules
//! that have the bug, where a property is violated, and one by the rules of the repair, where the
//! property holds. Both are run, and compared with what they expect.
//!
//! The entries are in `model/literature/history/bugs.toml`, and are compiled in. What the
//! model cannot say is listed there too, with the reason.

use crate::case::Case;
use crate::entries::{self, EntryError, Place};
use bellwether_model::cli::suite::Wanted;
use serde::Deserialize;
use std::path::Path;

/// The file that is compiled in.
const FILE: (&str, &str) = ("bugs.toml", include_str!("../history/bugs.toml"));

/// Every bug, and what cannot be said.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The bugs, in the order in which they are told.
    #[serde(rename = "bug")]
    pub bugs: Vec<Bug>,
    /// Kinds of bugs that no rule has.
    #[serde(default)]
    pub unsaid: Vec<Unsaid>,
}

/// A bug that happened.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bug {
    /// The short name, by which it is chosen.
    pub name: String,
    /// What went wrong, in a line.
    pub title: String,
    /// The systems that had it.
    pub systems: String,
    /// What happened, in our words.
    #[serde(deserialize_with = "entries::prose")]
    pub story: String,
    /// How the model says it.
    #[serde(deserialize_with = "entries::prose")]
    pub model: String,
    /// Where it is told.
    pub sources: Vec<Place>,
    /// The case by the rules that have the bug.
    pub broken: Case,
    /// The same property by the rules of the repair.
    pub repaired: Case,
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

impl History {
    /// Returns the bugs in this file, so that an entry can be tried before it is compiled in;
    /// without a file those that are.
    ///
    /// # Errors
    /// If the file cannot be read, or an entry makes no sense.
    pub fn load(file: Option<&Path>) -> Result<History, EntryError> {
        let (file, text) = entries::source(FILE, file)?;
        History::read(&file, &text)
    }

    fn read(file: &str, text: &str) -> Result<History, EntryError> {
        let history: History = entries::parse(file, text)?;
        entries::unique(file, history.bugs.iter().map(|bug| &bug.name))?;
        for bug in &history.bugs {
            let name = &bug.name;
            if let Some(wrong) = bug.wrong() {
                return Err(EntryError::entry(file, name, wrong));
            }
            bug.broken.possible(file, format!("{name}: broken"))?;
            bug.repaired.possible(file, format!("{name}: repaired"))?;
        }
        Ok(history)
    }

    /// Returns the bugs with these names; all if none is given.
    ///
    /// # Errors
    /// If there is no such bug.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Bug>, EntryError> {
        entries::select(&self.bugs, "bug", |bug| &bug.name, names)
    }
}

impl Bug {
    /// Returns the mistake of an entry that shows nothing.
    fn wrong(&self) -> Option<&'static str> {
        let Bug { sources, broken, repaired, .. } = self;
        if sources.is_empty() {
            Some("'sources' is empty; say where it is told")
        } else if broken.property != repaired.property {
            Some("'repaired' asks another property than 'broken'; ask the same of both")
        } else if broken.steps().is_none() {
            Some(
                "'broken' expects no number of steps; write expect = { PROPERTY = \"violated in N \
                 steps\" }",
            )
        } else if !matches!(repaired.expected, Some(Wanted::Holds | Wanted::HoldsWithin)) {
            Some("'repaired' expects no property to hold; write expect = { PROPERTY = \"holds\" }")
        } else if broken.command() == repaired.command() {
            Some("'repaired' is what 'broken' is; say what differs")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::History;

    const WHOLE: &str = "[[bug]]\nname = 'n'\ntitle = 't'\nsystems = 's'\n\
                         story = '''One\ntwo.'''\nmodel = 'm'\n\
                         sources = [{ what = 'w', url = 'https://u' }]\n\
                         [bug.broken]\nprotocol = 'bully'\nrule = { t_coord = false }\n\
                         expect = { decided = 'violated in 7 steps' }\n\
                         [bug.repaired]\nprotocol = 'bully'\n\
                         expect = { decided = 'holds' }\n";

    #[test]
    fn a_bug_has_two_cases() {
        let history = History::read("f", WHOLE).expect("it can be read");
        let bug = &history.bugs[0];
        assert_eq!((bug.story.as_str(), bug.broken.steps()), ("One two.", Some(7)));
        let broken = "bellwether-model check bully --rule t_coord=false --property decided";
        assert_eq!(bug.broken.command(), broken);
        assert_eq!(bug.repaired.command(), "bellwether-model check bully --property decided");
    }

    #[test]
    fn an_entry_that_shows_nothing_is_refused() {
        for (text, by, says) in [
            ("rule = { t_coord = false }\n", "", "f, n: 'repaired' is what 'broken' is"),
            ("[{ what = 'w', url = 'https://u' }]", "[]", "where it is told"),
            ("{ decided = 'holds' }", "{ settles = 'holds' }", "another property than 'broken'"),
            ("violated in 7 steps", "violates", "no verdict is 'violates'"),
            ("violated in 7 steps", "violated", "'broken' expects no number of steps"),
            ("violated in 7 steps", "holds", "'broken' expects no number of steps"),
            ("{ decided = 'holds' }", "{ decided = 'violated' }", "expects no property to hold"),
            ("expect = { decided = 'holds' }", "property = 'decided'", "no property to hold"),
            ("rule = {", "rules = {", "f, n: broken: unexpected argument '--rules' found"),
            ("'bully'\nexpect", "'bully'\ncrashs = 1\nexpect", "f, n: repaired: unexpected"),
        ] {
            assert!(WHOLE.contains(text), "{text}");
            let read = History::read("f", &WHOLE.replacen(text, by, 1));
            let told = read.expect_err(by).to_string();
            assert!(told.contains(says), "{told}");
        }
    }
}
