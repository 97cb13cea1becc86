//! A step that the specification does not allow: where it stands, and why not.

use super::judge::Differs;
use crate::divergence::Difference;
use bellwether_engine::trace::Trace;
use bellwether_tool::report::diagram;
use serde::{Serialize, Serializer};
use std::fmt::Write as _;

/// The most lines of a report, unless all is asked for.
const MOST_LINES: usize = 60;
/// The most lines of what would have followed, of differences, and of what it depends on.
const MOST_EACH: usize = 8;

/// A step of a log that the specification does not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The name of the log.
    pub log: String,
    /// The number of the line, from 1.
    pub line: u64,
    /// The description of what the line says that happened.
    pub happened: String,
    /// The differences, those of what was put out first.
    pub differences: Vec<Difference>,
    /// The description of what the process was before the step.
    pub before: String,
    /// What follows from it by the specification.
    pub expected: Vec<String>,
    /// The rules of the specification that decide what follows, with their values.
    pub rules: Vec<(String, String)>,
    /// What the step depends on: the lines at which messages were sent.
    pub depends: Vec<String>,
    /// The last steps of all nodes, up to and with the step.
    #[serde(serialize_with = "only_steps")]
    pub steps: Option<Trace>,
}

fn only_steps<S: Serializer>(of: &Option<Trace>, serializer: S) -> Result<S::Ok, S::Error> {
    of.as_ref().map(|trace| &trace.steps).serialize(serializer)
}

impl Rejection {
    pub(super) fn new(log: &str, line: u64, happened: String, differs: Differs) -> Self {
        let Differs { found, before, would, rules } = differs;
        let log = log.to_owned();
        Rejection {
            log,
            line,
            happened,
            differences: found,
            before,
            expected: would,
            rules,
            depends: Vec::new(),
            steps: None,
        }
    }

    /// Returns the report: what differs, what would have followed, on what it depends, and the
    /// diagram of the last steps. It has at most 60 lines unless `all` is asked for.
    #[must_use]
    pub fn report(&self, ascii: bool, all: bool) -> String {
        let mut out = self.words(all);
        let options = diagram::Options { ascii, bare: true, ..diagram::Options::default() };
        let Some(mut steps) = self.steps.clone() else { return out };
        while !steps.steps.is_empty() {
            let drawn = diagram::draw(&steps, options);
            let lines = out.lines().count() + drawn.lines().count() + 2;
            if all || lines <= MOST_LINES {
                let _ = write!(out, "\nThe last steps:\n{drawn}");
                break;
            }
            let first = steps.steps.remove(0);
            steps.header.initial.extend(first.changed);
        }
        out
    }

    fn words(&self, all: bool) -> String {
        let Rejection { log, line, happened, differences, before, expected, .. } = self;
        let mut out = format!("{log}, line {line}: {happened}\n");
        let most = if all { usize::MAX } else { MOST_EACH };
        let list = |out: &mut String, title: &str, items: &[String]| {
            if items.is_empty() {
                return;
            }
            let _ = writeln!(out, "{title}");
            for item in items.iter().take(most) {
                let _ = writeln!(out, "  {item}");
            }
            if items.len() > most {
                let _ = writeln!(out, "  and {} more", items.len() - most);
            }
        };
        let differences: Vec<_> = differences.iter().map(ToString::to_string).collect();
        list(&mut out, "What differs:", &differences);
        if !before.is_empty() {
            let _ = writeln!(out, "The process before: {before}");
        }
        list(&mut out, "What the model does:", expected);
        if !self.rules.is_empty() {
            let rules = self.rules.iter().map(|(name, value)| format!("{name} = {value}"));
            let rules = rules.collect::<Vec<_>>().join(", ");
            let _ = writeln!(out, "Rules that decide this: {rules}");
        }
        list(&mut out, "It depends on:", &self.depends);
        out
    }
}
