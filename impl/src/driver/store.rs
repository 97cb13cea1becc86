//! The storage of a node, as its groups share it.

use std::collections::BTreeMap;

use crate::config::GroupName;
use crate::storage::{Storage, StorageError};

/// The states of all groups, by their numbers; none of a group that has never saved one.
pub(super) type States<D> = Vec<Option<D>>;

/// What keeps the states of all groups of one node.
pub(super) trait Store<D>: Send + 'static {
    /// Loads the states that were saved last.
    fn load(&mut self) -> Result<States<D>, StorageError>;

    /// Makes these states durable, all of them at once.
    fn save(&mut self, states: &[Option<D>]) -> Result<(), StorageError>;

    /// Finds out whether anything could be saved.
    fn probe(&mut self) -> Result<(), StorageError>;
}

/// The storage of a node without groups, which has one state.
pub(super) struct One<D>(pub(super) Box<dyn Storage<D>>);

impl<D: Send + 'static> Store<D> for One<D> {
    fn load(&mut self) -> Result<States<D>, StorageError> {
        Ok(vec![self.0.load()?])
    }

    fn save(&mut self, states: &[Option<D>]) -> Result<(), StorageError> {
        states.iter().flatten().try_for_each(|state| self.0.save(state))
    }

    fn probe(&mut self) -> Result<(), StorageError> {
        self.0.probe()
    }
}

/// The storage of a node with groups: one value has the state of each, by its name. So a sync
/// is enough for whatever many groups save at one moment. What a group has saved that the node has
/// no part in any more stays, for when it has again.
pub(super) struct Named<D> {
    storage: Box<dyn Storage<BTreeMap<String, D>>>,
    names: Vec<GroupName>,
    kept: BTreeMap<String, D>,
}

impl<D> Named<D> {
    /// The storage of these groups.
    pub(super) fn new(
        storage: Box<dyn Storage<BTreeMap<String, D>>>,
        names: Vec<GroupName>,
    ) -> Self {
        Self { storage, names, kept: BTreeMap::new() }
    }
}

impl<D: Clone + Send + 'static> Store<D> for Named<D> {
    fn load(&mut self) -> Result<States<D>, StorageError> {
        self.kept = self.storage.load()?.unwrap_or_default();
        Ok(self.names.iter().map(|name| self.kept.get(name.as_str()).cloned()).collect())
    }

    fn save(&mut self, states: &[Option<D>]) -> Result<(), StorageError> {
        for (name, state) in self.names.iter().zip(states) {
            if let Some(state) = state {
                self.kept.insert(name.to_string(), state.clone());
            }
        }
        self.storage.save(&self.kept)
    }

    fn probe(&mut self) -> Result<(), StorageError> {
        self.storage.probe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Memory;

    fn names(names: &[&str]) -> Vec<GroupName> {
        names.iter().map(|name| name.parse().expect("a name")).collect()
    }

    #[test]
    fn each_group_has_its_own_state_and_one_that_is_gone_keeps_it() {
        let memory = Memory::<BTreeMap<String, u8>>::default();
        let store = |listed: &[&str]| Named::new(Box::new(memory.clone()), names(listed));
        let mut first = store(&["a", "b", "c"]);
        assert_eq!(first.load().expect("nothing yet"), [None, None, None]);
        first.save(&[Some(1), None, Some(3)]).expect("saved");
        let mut second = store(&["b", "c"]);
        assert_eq!(second.load().expect("saved"), [None, Some(3)]);
        second.save(&[Some(2), Some(4)]).expect("saved");
        assert_eq!(store(&["a", "b", "c"]).load().expect("saved"), [Some(1), Some(2), Some(4)]);
    }
}
