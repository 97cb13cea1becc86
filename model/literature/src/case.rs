//! A property that is asked in a world, as bugs and questions name it.

use crate::claims::{Ask, Ran, Runner, Subject, possible, typed};
use bellwether_model::side_by_side::side_by_side;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A property that is asked in a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The protocol, its rules and the world.
    pub subject: Subject,
    /// The property.
    pub property: String,
}

/// A world as it is written. What one leaves out is as in the other that it is like, but for its
/// rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenWorld {
    protocol: Option<String>,
    variant: Option<String>,
    #[serde(default)]
    rules: BTreeMap<String, toml::Value>,
    nodes: Option<usize>,
    world: Option<toml::Table>,
}

impl WrittenWorld {
    pub(crate) fn subject(self, like: Option<&Subject>) -> Result<Subject, String> {
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

impl Case {
    /// Returns the case, if it can be run.
    pub(crate) fn new(subject: Subject, property: &str) -> Result<Case, String> {
        let case = Case { subject, property: property.to_owned() };
        match possible(&case.ask())? {
            true => Ok(case),
            false => Err(format!("there is no protocol '{}'", case.subject.protocol)),
        }
    }

    fn ask(&self) -> Ask {
        Ask::Property(self.subject.clone(), self.property.clone())
    }
}

impl Runner {
    /// Runs these cases, each with the name of its entry. `done` is called with the name whenever
    /// one is done.
    ///
    /// # Errors
    /// If a world cannot be searched, or the system gives no threads.
    pub fn cases(
        &self,
        cases: &[(&str, &Case)],
        done: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Ran>, String> {
        let one = |&(name, case): &(&str, &Case)| {
            let ran = self.ask(&case.ask());
            done(name);
            let ran = ran.and_then(|ran| ran.into_iter().next().ok_or("no world".to_owned()));
            ran.map_err(|wrong| format!("{name}: {wrong}"))
        };
        let ran = side_by_side(self.threads, cases, &one).map_err(|error| {
            format!("cannot run {} worlds at a time: {error}; try --threads 1", self.threads)
        })?;
        ran.into_iter().collect()
    }
}
