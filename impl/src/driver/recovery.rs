//! The way back after a majority of the voters is gone for good.
//!
//! No protocol can elect a leader then, and none can change the members. An operator, who knows
//! that the lost nodes never start again, gives one survivor a list in force. By that list the
//! survivor alone is the majority, and it lets in the other members when it meets them, whatever
//! they remember. The survivor does not know which epochs the lost majority granted while the
//! survivor was cut off, so the epoch jumps. A fence knows the epochs that were used: the operator
//! compares.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use thiserror::Error;

use super::commit::{self, States, Store};
use crate::config::{self, Address, Config, MemberList, Runnable};
use crate::protocol::quorum::{Durable, Lists, Mark};
use crate::protocol::{Birth, Epoch, Members, NodeId};
use crate::storage::StorageError;

/// By how much a recovery raises the epoch: far more elections than a cluster has in a day, and no
/// bound on what the lost majority granted.
const JUMP: u64 = 1_000;

/// The reason why a node's list of members cannot be recovered.
#[derive(Error)]
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
    /// Whether the files of all nodes must have the list: with groups, the members are those of the
    /// file.
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
        let node = config.node();
        let path = config.directory()?.unwrap_or_else(|| unreachable!("it is durable"));
        let without = || RecoveryError::NoState { node, path: path.to_owned() };
        if !path.is_dir() {
            return Err(without());
        }
        let mut store: Box<dyn Store<Durable>> = commit::open(config, path)?;
        let states = store.load()?;
        if states.iter().all(Option::is_none) {
            return Err(without());
        }
        Ok(Self { store, states })
    }

    /// The lists that the node knows, of each group; that of its file, if groups have none.
    fn lists<C: Runnable>(&self, config: &Config<C>) -> Vec<Lists> {
        let states = self.states.iter().flatten();
        let mut all: Vec<_> = states.filter_map(|state| state.lists.clone()).collect();
        if all.is_empty() || !config.groups().is_empty() {
            all.push(Lists::first(config.members().clone()));
        }
        all
    }

    /// Whether the node was recovered, and has granted nothing since: in each group, it is the only
    /// voter.
    fn is_recovered(&self, node: NodeId) -> bool {
        self.states.iter().flatten().all(|state| {
            let alone = |lists: &Lists| {
                let decided = &lists.decided;
                decided.voters() == [node] && decided.birth(node) == Some(state.birth)
            };
            state.granted_to.is_none() && state.lists.as_ref().is_some_and(alone)
        })
    }
}

/// The latest list of these; with groups, that of the file, with the highest number.
fn latest<C: Runnable>(config: &Config<C>, lists: &[Lists]) -> MemberList {
    let numbers = lists.iter().map(|lists| lists.latest().config_epoch());
    let config_epoch = numbers.max().unwrap_or_default();
    match lists {
        [one] if config.groups().is_empty() => one.latest().into(),
        _ => MemberList { config_epoch, ..config.list() },
    }
}

/// The list by which this node, with this birth, is the only voter, until it lets in the others.
fn of_survivor(members: &Members, node: NodeId, birth: Birth) -> Result<Members, config::Error> {
    let alone = Members::new([node])?;
    Ok(members.clone().after(&alone).letting_in(node, birth))
}

impl Recovery {
    /// Plans to give the node of this configuration a list with these members, all of which vote:
    /// this one at once, and each other one when this one has let it in. A member that was a
    /// witness stays one, but for the survivor, which has to lead. Every later leader has an epoch
    /// above `above` and above all that the node knows. Writes nothing.
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
        let known = written.lists(config);
        let before = latest(config, &known);
        let voters: BTreeSet<_> = members.keys().copied().collect();
        if !voters.contains(&node) {
            return Err(RecoveryError::Lacks { node });
        }
        let number = before.config_epoch;
        let is_there = before.members == members && before.observers.is_empty();
        if is_there && written.is_recovered(node) {
            return Err(RecoveryError::Same { node, config_epoch: number });
        }
        // Above a list that may be pending at a lost node. Another survivor moves to it all the
        // same: its mark is newer.
        let config_epoch = number.saturating_add(2);
        let ever = known.iter().flat_map(Lists::each).flat_map(Members::iter);
        let gone = ever.filter(|id| !voters.contains(id)).collect();
        let others = voters.iter().copied().filter(|&id| id != node);
        let awaited: BTreeSet<_> = others.collect();
        let witnesses = before.witnesses.intersection(&awaited).copied().collect();
        let observers = BTreeSet::new();
        let after = MemberList { config_epoch, members, observers, witnesses, awaited };
        let changed = config.clone().with_list(after.clone())?;
        changed.credentials()?;
        let epochs = written.states.iter().flatten().map(|state| state.epoch);
        let marks = known.iter().map(|lists| lists.mark.epoch);
        let known = epochs.chain(marks).max().unwrap_or_default();
        let raised = Epoch::new(known.max(above).number().saturating_add(JUMP));
        let by_file = !config.groups().is_empty();
        let list = changed.members().clone();
        // With groups, the file alone says how members are reached.
        let list = if by_file { list.with_addresses(BTreeMap::new()) } else { list };
        // Newer than any that was decided before.
        let mark = Mark { epoch: raised, turn: 1 };
        for state in &mut written.states {
            let kept = state.take().unwrap_or_default();
            let decided = of_survivor(&list, node, kept.birth)?;
            let lists = Some(Lists { decided, pending: None, mark });
            let met = BTreeMap::new();
            *state = Some(Durable { epoch: raised, granted_to: None, lists, met, ..kept });
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
    use crate::driver::tests::id;
    use crate::protocol::quorum::Quorum;
    use crate::storage::{Directory, Storage as _};

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
    fn the_survivor_votes_alone_with_its_birth_and_may_lead() {
        let directory = tempfile::tempdir().expect("a directory");
        let config = config(directory.path()).with_witnesses([2, 3]).expect("valid");
        let birth = Birth::random(5);
        let mut own = Directory::open(directory.path(), config.owner()).expect("usable");
        own.save(&Durable { birth, ..state(7) }).expect("saved");
        drop(own);
        let plan = Recovery::plan(&config, members(&[1, 2, 3]), Epoch::default()).expect("valid");
        assert!(plan.after.awaited.iter().eq(&[id(1), id(2)]), "{plan:?}");
        assert!(plan.after.witnesses.iter().eq([&id(2)]), "the survivor has to lead: {plan:?}");
        plan.write().expect("saved");
        let decided = started(&config).decided;
        assert_eq!((decided.voters(), decided.birth(id(3))), (&[id(3)][..], Some(birth)));
        assert!(decided.may_lead(id(3)) && decided.awaited() == [id(1), id(2)], "{decided:?}");
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
            let decided = &lists.as_ref().expect("it has some").decided;
            assert_eq!(decided.voters(), [id(3)], "{group}");
            assert!(decided.addresses().is_empty(), "{group}: its file has them");
        }
        assert_eq!(states["gone"], state(40), "what it has no part in stays");
    }
}
