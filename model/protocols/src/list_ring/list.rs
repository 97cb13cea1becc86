//! The list that a message collects on its way round.

use bellwether_engine::protocol::{Id, MAX_NODES};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The ids of those whom a message has passed, in order; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct List([Option<Id>; MAX_NODES]);

impl List {
    /// The list of a message that sets out.
    #[must_use]
    pub fn of(first: Id) -> List {
        let mut list = List([None; MAX_NODES]);
        list.0[0] = Some(first);
        list
    }

    /// Its ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.0.iter().copied().flatten()
    }

    /// Who began it.
    #[must_use]
    pub fn first(&self) -> Id {
        match self.0[0] {
            Some(first) => first,
            None => unreachable!("a list begins with an id"),
        }
    }

    /// The highest id in it.
    #[must_use]
    pub fn highest(&self) -> Id {
        self.ids().max().unwrap_or_else(|| self.first())
    }

    /// Whether `id` is in it.
    #[must_use]
    pub fn contains(&self, id: Id) -> bool {
        self.0.contains(&Some(id))
    }

    /// The list with `id` at its end, where it is not in it yet.
    #[must_use]
    pub fn with(mut self, id: Id) -> List {
        if !self.contains(id)
            && let Some(end) = self.0.iter_mut().find(|place| place.is_none())
        {
            *end = Some(id);
        }
        self
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ids())
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::<Id>::deserialize(deserializer)?;
        let (first, rest) = ids.split_first().ok_or_else(|| D::Error::custom("an empty list"))?;
        let list = rest.iter().fold(List::of(*first), |list, &id| list.with(id));
        if list.ids().eq(ids.iter().copied()) {
            Ok(list)
        } else {
            Err(D::Error::custom("an id is in the list twice, or there are too many"))
        }
    }
}
