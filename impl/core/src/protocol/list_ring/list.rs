//! The list that a message collects on its way round.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::NodeId;

/// The ids of the nodes that a message has passed, in order; at least one, none twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct List {
    ids: [Option<NodeId>; List::MAX],
}

impl List {
    /// The largest number of ids in a list. Every message carries one, so a ring of lists is not
    /// for large groups.
    pub const MAX: usize = 32;

    /// Returns a list that sets out, with this id alone.
    #[must_use]
    pub fn of(first: NodeId) -> Self {
        let mut ids = [None; Self::MAX];
        ids[0] = Some(first);
        Self { ids }
    }

    /// Returns the list of these ids; `None` if there are none or too many, or one comes twice.
    #[must_use]
    pub fn new(all: &[NodeId]) -> Option<Self> {
        let distinct = (1..all.len()).all(|at| !all[..at].contains(&all[at]));
        if all.is_empty() || all.len() > Self::MAX || !distinct {
            return None;
        }
        let mut ids = [None; Self::MAX];
        ids.iter_mut().zip(all).for_each(|(place, &id)| *place = Some(id));
        Some(Self { ids })
    }

    /// Returns the ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids.iter().copied().flatten()
    }

    /// Returns the node whose list it is.
    #[must_use]
    pub fn origin(&self) -> NodeId {
        match self.ids[0] {
            Some(first) => first,
            None => unreachable!("no list is empty"),
        }
    }

    /// Returns the highest id.
    #[must_use]
    pub fn highest(&self) -> NodeId {
        self.iter().fold(self.origin(), Ord::max)
    }

    /// Returns whether `id` is listed.
    #[must_use]
    pub fn contains(&self, id: NodeId) -> bool {
        self.ids.contains(&Some(id))
    }

    /// Returns the list after it has passed `id`. A group is never larger than a list; a full one
    /// stays as it is.
    #[must_use]
    pub fn passing(mut self, id: NodeId) -> Self {
        if !self.contains(id)
            && let Some(place) = self.ids.iter_mut().find(|place| place.is_none())
        {
            *place = Some(id);
        }
        self
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.iter().collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::deserialize(deserializer)?;
        Self::new(&ids).ok_or_else(|| {
            D::Error::custom(format!("a list has 1 to {} ids, each once", Self::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{List, NodeId};

    fn ids(numbers: &[u16]) -> Vec<NodeId> {
        numbers.iter().filter_map(|&number| NodeId::new(number)).collect()
    }

    #[test]
    fn a_list_collects_each_id_once_and_in_order() {
        let all = ids(&[2, 3, 1]);
        let list = List::of(all[0]).passing(all[1]).passing(all[2]).passing(all[1]);
        assert_eq!(list.iter().collect::<Vec<_>>(), all);
        assert_eq!((list.origin(), list.highest()), (all[0], all[1]));
    }

    #[test]
    fn what_cannot_be_a_list_is_refused_when_it_arrives() {
        let read = |text: &str| serde_json::from_str::<List>(text);
        assert_eq!(read("[2,3,1]").ok(), List::new(&ids(&[2, 3, 1])));
        for wrong in ["[]", "[1,1]", "[0]", &format!("{:?}", (1..=33).collect::<Vec<_>>())] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&format!("{:?}", (1..=32).collect::<Vec<_>>())).is_ok());
    }
}
