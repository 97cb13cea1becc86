//! Sets of routers, as a Hello carries one.

use crate::protocol::{Id, MAX_NODES};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of routers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Routers(u8);

impl Routers {
    /// Whether `id` is in it.
    #[must_use]
    pub fn contains(self, id: Id) -> bool {
        self.0 & (1 << id.index()) != 0
    }

    /// The routers, ascending.
    pub fn iter(self) -> impl Iterator<Item = Id> {
        Id::all(MAX_NODES).filter(move |&id| self.contains(id))
    }
}

impl FromIterator<Id> for Routers {
    fn from_iter<I: IntoIterator<Item = Id>>(ids: I) -> Self {
        Routers(ids.into_iter().fold(0, |set, id| set | (1 << id.index())))
    }
}

impl Serialize for Routers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Routers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::<Id>::deserialize(deserializer)?;
        match ids.iter().find(|id| id.index() >= MAX_NODES) {
            Some(id) => {
                Err(serde::de::Error::custom(format!("ids are 1 to {MAX_NODES}, not {id}")))
            }
            None => Ok(ids.into_iter().collect()),
        }
    }
}
