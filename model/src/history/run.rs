//! Runs a bug twice: with it, and without.

use super::entry::Bug;
use crate::claims::{Ask, Finding, Ran, Runner, Subject};
use crate::side_by_side::side_by_side;

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
