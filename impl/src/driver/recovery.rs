//! The way back after a majority of the voters is gone for good.
//!
//! No protocol can elect a leader then, and none can change the members. An operator, who knows
//! that the lost nodes never start again, gives one survivor a list in force. The survivor does not
//! know which epochs the lost majority granted while the survivor was cut off, so the epoch jumps.
//! A fence knows the epochs that were used: the operator compares.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use thiserror::Error;

use super::store::{Named, One, States, Store};
use crate::config::{self, Address, Config, MemberList, Runnable};
use crate::protocol::quorum::{Durable, Lists, Mark};
use crate::protocol::{Epoch, Members, NodeId};
use crate::storage::{Directory, StorageError};

/// By how much a recovery raises the epoch: far more elections than a cluster has in a day, and no
/// bound on what the lost majority granted.
const JUMP: u64 = 1_000;

/// The reason why a node's list of members cannot be recovered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// The protocol keeps no list of members.
    #[error(
        "nodes of the protocol {protocol} keep no list of members: write the members into the file \
         of each node, and restart the nodes"
    )]
    Protocol {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The node has no state.
    #[error(
        "node {node} has no state in {path}: run this on a node that has taken part, and name its \
         directory (`directory` under [storage], or --data-dir)",
        path = path.display()
    )]
    NoState {
        /// The node.
        node: NodeId,
        /// The directory of the node.
        path: PathBuf,
    },
    /// The list lacks the node.
    #[error(
        "the list lacks node {node}, whose directory this is: name it among the members, or run \
         this on a survivor that stays"
    )]
    Lacks {
        /// The node.
        node: NodeId,
    },
    /// The node has this list already, and has granted nothing since.
    #[error(
        "node {node} has these members already, in force as list {config_epoch}, and has granted \
         nothing since: start it, and then the others"
    )]
    Same {
        /// The node.
        node: NodeId,
        /// The number of the list.
        config_epoch: u64,
    },
    /// The list makes no sense with the rest of the configuration.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The directory cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A list of members for a survivor, which nothing has written yet. The directory of the node is
/// locked until this is dropped.
#[derive(Debug)]
pub struct Recovery {
    /// The latest list that the node knows.
    pub before: MemberList,
    /// The list that will be in force.
    pub after: MemberList,
    /// The nodes that were members by any list that the node knows, and will be none.
    pub gone: BTreeSet<NodeId>,
    /// The highest epoch that the node knows.
    pub known: Epoch,
    /// The epoch that every later leader exceeds.
    pub raised: Epoch,
    /// Whether the files of all nodes must have the list: nodes with groups keep no other.
    pub by_file: bool,
    written: Written,
}

/// What will be written, and where.
struct Written {
    store: Box<dyn Store<Durable>>,
    states: States<Durable>,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Written").field("states", &self.states).finish_non_exhaustive()
    }
}

impl Written {
    /// What the node of this configuration has in its directory.
    fn open<C: Runnable>(config: &Config<C>) -> Result<Self, RecoveryError> {
        if !C::CHANGES_MEMBERS {
            return Err(RecoveryError::Protocol { protocol: C::NAME });
        }
        let (node, groups) = (config.node(), config.groups());
        let path = config.directory()?.unwrap_or_else(|| unreachable!("it is durable"));
        let without = || RecoveryError::NoState { node, path: path.to_owned() };
        if !path.is_dir() {
            return Err(without());
        }
        let mut store: Box<dyn Store<Durable>> = if groups.is_empty() {
            Box::new(One(Box::new(Directory::open(path, config.owner())?)))
        } else {
            let directory = Directory::open(path, config.owner_of_groups())?;
            Box::new(Named::new(Box::new(directory), groups.to_vec()))
        };
        let states = store.load()?;
        if states.iter().all(Option::is_none) {
            return Err(without());
        }
        Ok(Self { store, states })
    }

    /// The lists that the node knows.
    fn lists(&self) -> Option<&Lists> {
        self.states.iter().flatten().find_map(|state| state.lists.as_ref())
    }
}

impl Recovery {
    /// Plans to give the node of this configuration a list with these members, all of which vote.
    /// A member that was a witness stays one. Every later leader has an epoch above `above` and
    /// above all that the node knows. Writes nothing.
    ///
    /// # Errors
    ///
    /// A [`RecoveryError`] when the node runs, has no state or the list already, or when the list
    /// lacks the node or contradicts the rest of the configuration.
    pub fn plan<C: Runnable>(
        config: &Config<C>,
        members: BTreeMap<NodeId, Address>,
        above: Epoch,
    ) -> Result<Self, RecoveryError> {
        let mut written = Written::open(config)?;
        let node = config.node();
        let known =
            written.lists().cloned().unwrap_or_else(|| Lists::first(config.members().clone()));
        let before = MemberList::from(known.latest());
        let voters: BTreeSet<_> = members.keys().copied().collect();
        if !voters.contains(&node) {
            return Err(RecoveryError::Lacks { node });
        }
        let number = before.config_epoch;
        let is_unused = |state: &Durable| state.granted_to.is_none() && state.lists.is_some();
        if before.members == members
            && before.observers.is_empty()
            && known.pending.is_none()
            && written.states.iter().flatten().all(is_unused)
        {
            return Err(RecoveryError::Same { node, config_epoch: number });
        }
        // No list that the lost nodes may have decided has this number.
        let config_epoch = number.saturating_add(2);
        let ever = known.each().flat_map(Members::iter);
        let gone = ever.filter(|id| !voters.contains(id)).collect();
        let witnesses = before.witnesses.intersection(&voters).copied().collect();
        let after = MemberList { config_epoch, members, observers: BTreeSet::new(), witnesses };
        let changed = config.clone().with_list(after.clone())?;
        changed.credentials()?;
        let epochs = written.states.iter().flatten().map(|state| state.epoch);
        let known = epochs.chain([known.mark.epoch]).max().unwrap_or_default();
        let raised = Epoch::new(known.max(above).number().saturating_add(JUMP));
        let by_file = !config.groups().is_empty();
        // Newer than any that was decided before.
        let mark = Mark { epoch: raised, turn: 1 };
        let lists = Lists { decided: changed.members().clone(), pending: None, mark };
        let lists = (!by_file).then_some(lists);
        for state in &mut written.states {
            let kept = state.take().unwrap_or_default();
            let lists = lists.clone();
            *state = Some(Durable { epoch: raised, granted_to: None, lists, ..kept });
        }
        Ok(Self { before, after, gone, known, raised, by_file, written })
    }

    /// Makes the list and the epoch durable.
    ///
    /// # Errors
    ///
    /// A [`StorageError`] when the directory cannot be written.
    pub fn write(self) -> Result<(), StorageError> {
        let Written { mut store, states } = self.written;
        store.save(&states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::quorum::Quorum;
    use crate::storage::Storage as _;

    fn id(number: u16) -> NodeId {
        NodeId::new(number).expect("not zero")
    }

    fn members(nodes: &[u16]) -> BTreeMap<NodeId, Address> {
        let address =
            |node: u16| format!("127.0.0.1:{}", 7_000 + node).parse().expect("an address");
        nodes.iter().map(|&node| (id(node), address(node))).collect()
    }

    /// Node 3 of three, with this directory.
    fn config(directory: &std::path::Path) -> Config<Quorum> {
        let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
        Config::new("orders", 3, members).expect("valid").with_directory(directory)
    }

    /// A state that has granted this epoch to node 1, by the list of the file.
    fn state(epoch: u64) -> Durable {
        Durable { epoch: Epoch::new(epoch), granted_to: Some(id(1)), ..Durable::default() }
    }

    /// The lists that the node starts with after a recovery.
    fn started(config: &Config<Quorum>) -> Lists {
        let path = config.directory().expect("valid").expect("one");
        let mut directory = Directory::<Durable>::open(path, config.owner()).expect("usable");
        let state = directory.load().expect("whole");
        let node = crate::protocol::Node::<Quorum>::new(config.core().clone(), state, 0);
        node.expect("it starts").lists().expect("it has some").clone()
    }

    fn saved(epoch: u64) -> (tempfile::TempDir, Config<Quorum>) {
        let directory = tempfile::tempdir().expect("a directory");
        let config = config(directory.path());
        let mut own = Directory::open(directory.path(), config.owner()).expect("usable");
        own.save(&state(epoch)).expect("saved");
        (directory, config)
    }

    #[test]
    fn a_survivor_starts_with_the_list_that_it_was_given() {
        let (_directory, config) = saved(7);
        let plan = || Recovery::plan(&config, members(&[3, 4, 5]), Epoch::default());
        let first = plan().expect("it makes sense");
        assert_eq!((first.known, first.raised), (Epoch::new(7), Epoch::new(1_007)));
        assert_eq!((first.after.config_epoch, first.gone.len()), (3, 2));
        let (after, raised) = (first.after.clone(), first.raised);
        first.write().expect("saved");
        let lists = started(&config);
        assert_eq!((MemberList::from(&lists.decided), lists.pending), (after, None));
        assert_eq!(lists.mark, Mark { epoch: raised, turn: 1 });
        match plan() {
            Err(RecoveryError::Same { config_epoch, .. }) => assert_eq!(config_epoch, 3),
            other => panic!("{other:?}"),
        }
        let again = Recovery::plan(&config, members(&[3, 4]), Epoch::default()).expect("another");
        assert_eq!((again.before.config_epoch, again.after.config_epoch), (3, 5));
    }

    #[test]
    fn the_same_members_are_recovered_when_the_others_have_lost_their_memory() {
        let (_directory, config) = saved(7);
        let above = Epoch::new(9_000);
        let recovery = Recovery::plan(&config, members(&[1, 2, 3]), above).expect("it was used");
        assert!(recovery.gone.is_empty() && recovery.raised == Epoch::new(10_000), "{recovery:?}");
        assert_eq!(recovery.after.config_epoch, 3);
    }

    #[test]
    fn each_group_gets_an_epoch_above_those_of_all() {
        let directory = tempfile::tempdir().expect("a directory");
        let config = config(directory.path()).with_groups(["north", "south"]).expect("valid");
        let states =
            [("north", 3), ("gone", 40)].map(|(name, epoch)| (name.to_owned(), state(epoch)));
        let mut own = Directory::open(directory.path(), config.owner_of_groups()).expect("usable");
        own.save(&BTreeMap::from(states)).expect("saved");
        drop(own);
        let plan =
            Recovery::plan(&config, members(&[3]), Epoch::default()).expect("it makes sense");
        assert!(plan.by_file && plan.raised == Epoch::new(1_003), "{plan:?}");
        plan.write().expect("saved");
        let mut own = Directory::open(directory.path(), config.owner_of_groups()).expect("usable");
        let states: BTreeMap<String, Durable> = own.load().expect("whole").expect("saved");
        for group in ["north", "south"] {
            let Durable { epoch, granted_to, lists, .. } = &states[group];
            assert_eq!((epoch.number(), *granted_to), (1_003, None), "{group}");
            assert_eq!(*lists, None, "{group}: its file has the list");
        }
        assert_eq!(states["gone"], state(40), "what it has no part in stays");
    }
}
