//! How the workers of one process save the search together.
//!
//! All workers of all processes do so at the end of the same round, before they begin the next one.
//! Nothing is on its way then: every state has been taken in by its owner.

use super::whole::Reached;
use bellwether_engine::check::exact::parts::{Learner, SELDOM, SavedShare, SavedTables, Saves};
use bellwether_engine::check::{Disk, DiskError, Reason};
use bellwether_engine::world::packed::Packed;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How far the search is, and what this process has of it.
pub(super) type Saved = SavedShare<Reached>;

/// Where the workers of one process save the search.
pub(super) struct Saving {
    pub(super) saves: Saves,
    /// How often.
    pub(super) every: Duration,
    /// What the workers have that are done already.
    parts: Mutex<Vec<Option<SavedTables>>>,
    trouble: Mutex<Option<DiskError>>,
}

impl Saving {
    pub(super) fn new(saves: Saves, disk: &Disk, workers: usize) -> Self {
        let parts = Mutex::new((0..workers).map(|_| None).collect());
        let every = disk.every.unwrap_or(SELDOM);
        Saving { saves, every, parts, trouble: Mutex::default() }
    }

    /// A worker of this process has written down its part; what all have, if it is the last.
    pub(super) fn add(
        &self,
        worker: usize,
        part: Result<SavedTables, DiskError>,
    ) -> Option<Vec<SavedTables>> {
        let part = part.unwrap_or_else(|error| {
            self.fail(error);
            SavedTables::default()
        });
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts[worker] = Some(part);
        parts.iter().all(Option::is_some).then(|| parts.iter_mut().flat_map(Option::take).collect())
    }

    /// All have; whether it is saved.
    pub(super) fn write(&self, number: u64, learner: &mut Learner<Packed>, saved: Saved) -> bool {
        if !self.has_failed()
            && let Err(error) = learner.save(&self.saves, number, saved)
        {
            self.fail(error);
        }
        !self.has_failed()
    }

    fn fail(&self, error: DiskError) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.get_or_insert(error);
    }

    fn has_failed(&self) -> bool {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// What went wrong, if something did.
    pub(super) fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(ToString::to_string)
    }

    /// What is done with the files when the search has ended for this reason.
    pub(super) fn end(&self, ended: Option<Reason>) {
        if matches!(ended, None | Some(Reason::FirstViolation)) {
            self.saves.clear();
        }
    }
}

/// Whether a search that ended for this reason can go on.
pub(super) fn can_go_on(ended: Option<Reason>) -> bool {
    !matches!(ended, None | Some(Reason::FirstViolation | Reason::Disk))
}
