//! Which life of a process it is that votes.

use bellwether_engine::protocol::{Id, Ids};
use serde::{Deserialize, Serialize};

/// Which life of a process it is, from one start without a state to the next.
pub type Birth = u8;

/// The birth of every voter of the first list, once it knows that it has forgotten nothing.
pub const FOUNDER: Birth = 0;

/// The births of processes, of those that have another than a founder's.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(default)]
pub struct Births {
    /// Those in their first life.
    #[serde(skip_serializing_if = "is_none")]
    pub first: Ids,
    /// The one that has lost its memory, and in which life it is: the rule `wiped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<(Id, Birth)>,
}

impl Births {
    /// All are founders.
    pub const NONE: Births = Births { first: Ids::NONE, later: None };

    /// Returns the birth of a process.
    #[must_use]
    pub fn of(self, id: Id) -> Birth {
        match self.later {
            Some((one, birth)) if one == id => birth,
            _ => Birth::from(self.first.contains(id)),
        }
    }

    /// Returns the births where that of this process is another.
    #[must_use]
    pub fn with(self, id: Id, birth: Birth) -> Births {
        let first = self.first.without(id);
        let later = self.later.filter(|&(one, _)| one != id);
        match birth {
            FOUNDER => Births { first, later },
            1 => Births { first: first.with(id), later },
            _ => Births { first, later: Some((id, birth)) },
        }
    }

    /// The births of these processes alone.
    pub(super) fn among(self, ids: Ids) -> Births {
        let later = self.later.filter(|&(id, _)| ids.contains(id));
        Births { first: self.first.common(ids), later }
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// The births with which a process has met others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Met {
    /// Those that were founders by then.
    #[serde(skip_serializing_if = "is_none")]
    pub founders: Ids,
    /// The births of the others.
    #[serde(skip_serializing_if = "Births::is_none")]
    pub births: Births,
}

impl Met {
    /// With which birth it has met this process.
    pub(super) fn of(self, id: Id) -> Option<Birth> {
        match self.births.of(id) {
            FOUNDER => self.founders.contains(id).then_some(FOUNDER),
            birth => Some(birth),
        }
    }

    /// Returns what it has met once it has met this process as well, with this birth.
    #[must_use]
    pub fn with(self, id: Id, birth: Birth) -> Met {
        let mut founders = self.founders;
        founders.set(id, birth == FOUNDER);
        Met { founders, births: self.births.with(id, birth) }
    }
}

pub(super) fn is_none(ids: &Ids) -> bool {
    ids.is_empty()
}
