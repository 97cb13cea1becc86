//! What the other processes have told a coordinator.

use super::Record;
use bellwether_engine::protocol::{Id, MAX_SEARCHED};
use serde::{Serialize, Serializer};

/// The record of each process that a coordinator has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reports([Option<Record>; MAX_SEARCHED]);

impl Reports {
    /// What this process has reported.
    #[must_use]
    pub fn of(&self, id: Id) -> Option<Record> {
        self.0[id.index()]
    }

    /// A process reports its record.
    pub(super) fn note(&mut self, id: Id, record: Record) {
        self.0[id.index()] = Some(record);
    }

    /// How many have reported this.
    pub(super) fn count(&self, record: Record) -> usize {
        self.0.iter().filter(|&&known| known == Some(record)).count()
    }

    /// How many have reported.
    pub(super) fn len(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Only what says this.
    pub(super) fn only(self, record: Record) -> Reports {
        Reports(self.0.map(|known| known.filter(|&known| known == record)))
    }
}

impl FromIterator<(Id, Record)> for Reports {
    fn from_iter<T: IntoIterator<Item = (Id, Record)>>(told: T) -> Reports {
        let mut reports = Reports::default();
        for (id, record) in told {
            reports.note(id, record);
        }
        reports
    }
}

impl Serialize for Reports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = Id::all(MAX_SEARCHED).filter_map(|id| Some((id, self.of(id)?)));
        serializer.collect_map(known)
    }
}
