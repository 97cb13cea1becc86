//! The way back after a majority of the voters is gone for good.
//!
//! No protocol can elect a leader then, and none can change the members. An operator, who knows
//! that the lost nodes never start again, gives one survivor a list in force. The survivor does not
//! know which epochs the lost majority granted while the survivor was cut off, so the epoch jumps.
//! A fence knows the epochs that were used: the operator compares.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use thiserror::Error;

use super::lists::{DIRECTORY, DurableLists};
use super::store::{Named, One, States, Store};
use crate::config::{self, Address, Config, MemberList, Runnable};
use crate::protocol::quorum::{Durable, List};
use crate::protocol::{Epoch, NodeId};
use crate::storage::{Directory, Storage as _, StorageError};

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
    /// The latest list that the node had a part in or kept.
    pub before: MemberList,
    /// The list that will be in force.
    pub after: MemberList,
    /// The nodes that were members by any list that the node knows, and will be none.
    pub gone: BTreeSet<NodeId>,
    /// The highest epoch that the node knows.
    pub known: Epoch,
    /// The epoch that every later leader exceeds.
    pub raised: Epoch,
    /// Whether the file of the node must have the list: nodes with groups keep no other.
    pub by_file: bool,
    written: Written,
}

/// What will be written, and where.
struct Written {
    store: Box<dyn Store<Durable>>,
    states: States<Durable>,
    lists: Option<Directory<DurableLists>>,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Written").field("states", &self.states).finish_non_exhaustive()
    }
}

impl Written {
    /// What the node of this configuration has in its directory, and the lists that it keeps.
    fn open<C: Runnable>(config: &Config<C>) -> Result<(Self, DurableLists), RecoveryError> {
        if !C::CHANGES_MEMBERS {
            return Err(RecoveryError::Protocol { protocol: C::NAME });
        }
        let (node, groups) = (config.node(), config.groups());
        let path = config.directory()?.unwrap_or_else(|| unreachable!("it is durable"));
        let without = || RecoveryError::NoState { node, path: path.to_owned() };
        if !path.is_dir() {
            return Err(without());
        }
        let (mut store, lists, kept): (Box<dyn Store<Durable>>, _, _) = if groups.is_empty() {
            let directory = Directory::open(path, config.owner())?;
            let mut lists = Directory::open(&path.join(DIRECTORY), config.owner())?;
            let kept = lists.load()?.unwrap_or_default();
            (Box::new(One(Box::new(directory))), Some(lists), kept)
        } else {
            let directory = Directory::open(path, config.owner_of_groups())?;
            let named = Named::new(Box::new(directory), groups.to_vec());
            (Box::new(named), None, DurableLists::default())
        };
        let states = store.load()?;
        if states.iter().all(Option::is_none) {
            return Err(without());
        }
        Ok((Self { store, states, lists }, kept))
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
        let (mut written, kept) = Written::open(config)?;
        let node = config.node();
        let file = config.list();
        let before = kept.latest().filter(|list| list.config_epoch >= file.config_epoch);
        let before = before.cloned().unwrap_or(file);
        let voters: BTreeSet<_> = members.keys().copied().collect();
        if !voters.contains(&node) {
            return Err(RecoveryError::Lacks { node });
        }
        let number = before.config_epoch;
        let has_it = |list: &List| {
            list.in_force && list.config_epoch == number && list.voters.iter().eq(&voters)
        };
        let is_unused =
            |state: &Durable| state.granted_to.is_none() && state.list.as_ref().is_some_and(has_it);
        if before.members == members
            && before.voters().eq(voters.iter().copied())
            && written.states.iter().flatten().all(is_unused)
        {
            return Err(RecoveryError::Same { node, config_epoch: number });
        }
        let ever: Vec<(u64, BTreeSet<NodeId>)> = written
            .states
            .iter()
            .flatten()
            .filter_map(|state| state.list.as_ref())
            .map(|list| (list.config_epoch, list.voters.iter().copied().collect()))
            .chain([(number, before.members.keys().copied().collect())])
            .collect();
        // Each number between two lists stands for one voter that changed. A node that skips one
        // waits to hear another, so no other survivor runs by this list before the first does.
        let config_epoch = ever.iter().fold(number, |latest, (number, old)| {
            let changed = old.symmetric_difference(&voters).count() as u64;
            latest.max(number.saturating_add(changed.max(2)))
        });
        let gone = ever.into_iter().flat_map(|(_, old)| old).filter(|id| !voters.contains(id));
        let gone = gone.collect();
        let witnesses = before.witnesses.intersection(&voters).copied().collect();
        let after = MemberList { config_epoch, members, observers: BTreeSet::new(), witnesses };
        config.clone().with_list(after.clone())?.credentials()?;
        let known =
            written.states.iter().flatten().map(|state| state.epoch).max().unwrap_or_default();
        let raised = Epoch::new(known.max(above).number().saturating_add(JUMP));
        for state in &mut written.states {
            let list =
                List { config_epoch, voters: voters.iter().copied().collect(), in_force: true };
            let promise = state.as_ref().and_then(|state| state.promise);
            *state = Some(Durable {
                epoch: raised,
                granted_to: None,
                list: Some(list),
                promise,
                before: None,
            });
        }
        Ok(Self { before, after, gone, known, raised, by_file: written.lists.is_none(), written })
    }

    /// Makes the list and the epoch durable. A crash in between leaves a node that does not start,
    /// and whose list can be recovered again.
    ///
    /// # Errors
    ///
    /// A [`StorageError`] when the directory cannot be written.
    pub fn write(self) -> Result<(), StorageError> {
        let Written { mut store, states, lists } = self.written;
        store.save(&states)?;
        lists.map_or(Ok(()), |mut lists| lists.save(&DurableLists::deciding(self.after)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::quorum::Quorum;

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

    /// A state that has granted this epoch to node 1, by the first list.
    fn state(epoch: u64) -> Durable {
        let voters = [1, 2, 3].map(id).into();
        let list = Some(List { config_epoch: 1, voters, in_force: true });
        Durable { epoch: Epoch::new(epoch), granted_to: Some(id(1)), list, ..Durable::default() }
    }

    /// The list that the node starts with after a recovery to these members.
    fn started(config: &Config<Quorum>) -> Result<MemberList, super::super::JoinError> {
        let (config, _) = super::super::lists::newest(config.clone())?;
        let path = config.directory()?.expect("one").to_owned();
        let mut directory = Directory::<Durable>::open(&path, config.owner())?;
        let state = directory.load()?;
        let node = crate::protocol::Node::<Quorum>::new(config.core().clone(), state, 0);
        node.map_err(|error| config::Error::Contradiction(Box::new(error)))?;
        Ok(config.list())
    }

    fn saved(epoch: u64) -> (tempfile::TempDir, Config<Quorum>) {
        let directory = tempfile::tempdir().expect("a directory");
        let config = config(directory.path());
        let mut own = Directory::open(directory.path(), config.owner()).expect("usable");
        own.save(&state(epoch)).expect("saved");
        (directory, config)
    }

    #[test]
    fn a_crash_between_the_two_writes_leaves_a_node_that_can_be_recovered_again() {
        let (_directory, config) = saved(7);
        let plan = || Recovery::plan(&config, members(&[3, 4, 5]), Epoch::default());
        let mut first = plan().expect("it makes sense");
        assert_eq!((first.known, first.raised), (Epoch::new(7), Epoch::new(1_007)));
        assert_eq!((first.after.config_epoch, first.gone.len()), (5, 2));
        first.written.store.save(&first.written.states).expect("saved");
        drop(first);
        started(&config).expect_err("its state has a later list than its file");
        let again = plan().expect("it is not done");
        let after = again.after.clone();
        assert!(after.config_epoch > 5 && again.raised == Epoch::new(2_007), "{again:?}");
        again.write().expect("saved");
        assert_eq!(started(&config).expect("it starts"), after);
        match plan() {
            Err(RecoveryError::Same { config_epoch, .. }) => {
                assert_eq!(config_epoch, after.config_epoch);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_same_members_are_recovered_when_the_others_have_lost_their_memory() {
        let (_directory, config) = saved(7);
        let above = Epoch::new(9_000);
        let recovery = Recovery::plan(&config, members(&[1, 2, 3]), above).expect("it was used");
        assert!(recovery.gone.is_empty() && recovery.raised == Epoch::new(10_000), "{recovery:?}");
        assert_eq!(recovery.after.config_epoch, 3, "no node moves there by itself");
    }

    #[test]
    fn each_group_gets_the_list_and_an_epoch_above_those_of_all() {
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
            let Durable { epoch, granted_to, list, .. } = &states[group];
            let list = list.as_ref().expect("one");
            assert_eq!((epoch.number(), *granted_to), (1_003, None), "{group}");
            assert!(list.in_force && *list.voters == [id(3)], "{group}: {list:?}");
        }
        assert_eq!(states["gone"], state(40), "what it has no part in stays");
    }
}
