//! The storage of a node, as its groups share it: all that they save at one moment is made durable
//! in one write.
//!
//! A write goes on on a thread of its own. What is saved meanwhile waits for the next, which has
//! the latest states of all groups. A group gets its answer when a write is done that began after
//! it had asked, so no state counts as durable before it is.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};

use super::observed::SyncTimes;
use crate::config::{Config, GroupName, Runnable};
use crate::lock::lock;
use crate::member::StorageAnswer;
use crate::storage::{Directory, Storage, StorageError};

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

/// Opens this directory for the states of a node with this configuration.
///
/// # Errors
///
/// A [`StorageError`] when the directory cannot be used.
pub(super) fn open<C, D>(config: &Config<C>, path: &Path) -> Result<Box<dyn Store<D>>, StorageError>
where
    C: Runnable,
    D: Clone + Serialize + DeserializeOwned + Send + 'static,
{
    if config.groups().is_empty() {
        return Ok(Box::new(SingleStore(Box::new(Directory::<D>::open(path, config.owner())?))));
    }
    let directory = Directory::<BTreeMap<String, D>>::open(path, config.owner_of_groups())?;
    Ok(Box::new(Named::new(Box::new(directory), config.groups().to_vec())))
}

/// The storage of a node without groups, which has one state.
pub(super) struct SingleStore<D>(pub(super) Box<dyn Storage<D>>);

impl<D: Send + 'static> Store<D> for SingleStore<D> {
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

/// The answer of the storage to one group. If its sender is gone, so is the storage.
type Answer = oneshot::Receiver<Result<(), StorageError>>;

/// What the groups of a node share of its storage. A clone is the same.
#[derive(Clone)]
pub(super) struct GroupCommit<D> {
    shared: Arc<Mutex<Shared<D>>>,
    pub(super) times: Arc<SyncTimes>,
    /// Dropped after the storage, by the clone that is dropped last.
    _released: mpsc::Sender<Infallible>,
}

struct Shared<D> {
    slot: Slot<D>,
    /// The states that are durable next.
    states: States<D>,
    waiting: Vec<Waiter>,
}

/// What the storage does.
enum Slot<D> {
    Idle(Box<dyn Store<D>>),
    /// A thread has it, and writes.
    Writing,
    Panicked,
}

/// A group that waits.
struct Waiter {
    /// It saves a state, or else only asks whether it could.
    saves: bool,
    answer: oneshot::Sender<Result<(), StorageError>>,
}

impl<D: Clone + Send + 'static> GroupCommit<D> {
    /// Returns what shares a storage that has these states. The receiver gets nothing but its end,
    /// when no clone is left: no thread writes, all groups have ended, and the storage is closed.
    pub(super) fn new(
        store: Box<dyn Store<D>>,
        states: States<D>,
    ) -> (Self, mpsc::Receiver<Infallible>) {
        let shared = Shared { slot: Slot::Idle(store), states, waiting: Vec::new() };
        let (held, released) = mpsc::channel(1);
        let shared = Arc::new(Mutex::new(shared));
        (Self { shared, times: Arc::default(), _released: held }, released)
    }

    /// Begins to save the state of the group with this number, or asks only whether anything could
    /// be saved.
    fn ask(&self, state: Option<(usize, D)>) -> Answer {
        let (answer, answered) = oneshot::channel();
        let mut shared = lock(&self.shared);
        let saves = state.is_some();
        if let Some((group, state)) = state {
            shared.states[group] = Some(state);
        }
        match std::mem::replace(&mut shared.slot, Slot::Writing) {
            Slot::Idle(store) => {
                shared.waiting.push(Waiter { saves, answer });
                let writes = self.clone();
                tokio::task::spawn_blocking(move || writes.write(store));
            }
            Slot::Writing => shared.waiting.push(Waiter { saves, answer }),
            Slot::Panicked => shared.slot = Slot::Panicked,
        }
        answered
    }

    /// Writes until no group waits. The last group that has its answer may close the storage, so
    /// this thread has nothing of it any more when it gives that.
    fn write(self, mut store: Box<dyn Store<D>>) {
        loop {
            let mut shared = lock(&self.shared);
            let waiting = std::mem::take(&mut shared.waiting);
            let saves = waiting.iter().any(|waiter| waiter.saves);
            let states = saves.then(|| shared.states.clone());
            drop(shared);
            let write = || match &states {
                Some(states) => store.save(states),
                None => store.probe(),
            };
            let written = catch_unwind(AssertUnwindSafe(|| self.times.measure(write)));
            let mut shared = lock(&self.shared);
            let Ok(result) = written else {
                drop(store);
                shared.slot = Slot::Panicked;
                return shared.waiting.clear();
            };
            if shared.waiting.is_empty() {
                shared.slot = Slot::Idle(store);
                drop(shared);
                drop(self);
                return answer(waiting, result);
            }
            drop(shared);
            answer(waiting, result);
        }
    }
}

/// Tells all groups that have waited for a write what came of it.
fn answer(waiting: Vec<Waiter>, result: Result<(), StorageError>) {
    let problem = result.as_ref().err().map(ToString::to_string);
    let mut first = Some(result);
    for Waiter { answer, .. } in waiting {
        let again = || match &problem {
            Some(problem) => Err(StorageError::Shared { problem: problem.clone() }),
            None => Ok(()),
        };
        // A group that has ended needs no answer.
        let _ = answer.send(first.take().unwrap_or_else(again));
    }
}

/// The storage of a node, for one of its groups.
pub(super) struct Disk<D> {
    /// `None` for protocols without durable state.
    commit: Option<GroupCommit<D>>,
    /// The number of the group.
    group: usize,
    /// What it was asked for, and has not answered yet.
    waited: Option<Answer>,
    /// Why it has failed last.
    failure: Option<StorageError>,
}

impl<D: Clone + Send + 'static> Disk<D> {
    /// The storage for the group with this number, if there is one.
    pub(super) fn of(commit: Option<GroupCommit<D>>, group: usize) -> Self {
        Self { commit, group, waited: None, failure: None }
    }

    /// The storage of a node without groups.
    #[cfg(test)]
    pub(super) fn new(storage: Option<Box<dyn Storage<D>>>) -> Self {
        let commit = |storage| GroupCommit::new(Box::new(SingleStore(storage)), vec![None]).0;
        Self::of(storage.map(commit), 0)
    }

    /// Begins to save `state`; returns the answer if there is no storage.
    pub(super) fn save(&mut self, state: D) -> Option<StorageAnswer> {
        self.ask(Some((self.group, state)))
    }

    /// Asks whether it answers; returns the answer if there is no storage.
    pub(super) fn probe(&mut self) -> Option<StorageAnswer> {
        self.ask(None)
    }

    fn ask(&mut self, state: Option<(usize, D)>) -> Option<StorageAnswer> {
        let Some(commit) = &self.commit else {
            self.failure = Some(StorageError::Missing);
            return Some(StorageAnswer::Gone);
        };
        self.waited = Some(commit.ask(state));
        None
    }

    /// Waits for the answer; for ever if it does nothing.
    pub(super) async fn answered(&mut self) -> StorageAnswer {
        let Some(waited) = &mut self.waited else {
            return std::future::pending().await;
        };
        let answer = waited.await;
        self.waited = None;
        let (answer, failure) = match answer {
            Ok(Ok(())) => return StorageAnswer::Done,
            Ok(Err(error)) => (StorageAnswer::Failed(error.to_string()), error),
            Err(_) => (StorageAnswer::Gone, StorageError::Panicked),
        };
        self.failure = Some(failure);
        answer
    }

    /// Whether there is an answer that was not waited for.
    pub(super) fn has_answered(&self) -> bool {
        self.waited.as_ref().is_some_and(|waited| !waited.is_empty())
    }

    /// Why it has failed last.
    pub(super) fn failure(&mut self) -> StorageError {
        self.failure.take().unwrap_or(StorageError::Missing)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::storage::Memory;

    /// What was written: the states, or nothing for a probe.
    type Written = Option<States<u8>>;

    /// A storage that tells what it writes, and writes when it is let, with this result.
    struct Slow(Sender<Written>, Receiver<Result<(), StorageError>>);

    impl Slow {
        fn write(&self, written: Written) -> Result<(), StorageError> {
            self.0.send(written).expect("the test listens");
            self.1.recv().expect("the test lets it")
        }
    }

    impl Store<u8> for Slow {
        fn load(&mut self) -> Result<States<u8>, StorageError> {
            Ok(vec![None; 3])
        }

        fn save(&mut self, states: &[Option<u8>]) -> Result<(), StorageError> {
            self.write(Some(states.to_vec()))
        }

        fn probe(&mut self) -> Result<(), StorageError> {
            self.write(None)
        }
    }

    fn commit() -> (GroupCommit<u8>, Receiver<Written>, Sender<Result<(), StorageError>>) {
        let ((writes, written), (lets, results)) = (channel(), channel());
        (GroupCommit::new(Box::new(Slow(writes, results)), vec![None; 3]).0, written, lets)
    }

    #[tokio::test]
    async fn what_waits_for_a_write_is_written_together_in_the_next() {
        let (commit, written, lets) = commit();
        let first = commit.ask(Some((0, 1)));
        assert_eq!(written.recv().expect("a write"), Some(vec![Some(1), None, None]));
        let (second, third, probe) =
            (commit.ask(Some((1, 2))), commit.ask(Some((2, 3))), commit.ask(None));
        lets.send(Ok(())).expect("it waits");
        first.await.expect("an answer").expect("saved");
        assert_eq!(written.recv().expect("a write"), Some(vec![Some(1), Some(2), Some(3)]));
        for waits in [&second, &third, &probe] {
            assert!(waits.is_empty(), "it is not durable yet");
        }
        lets.send(Ok(())).expect("it waits");
        for waits in [second, third, probe] {
            waits.await.expect("an answer").expect("durable");
        }
        let probe = commit.ask(None);
        assert_eq!(written.recv().expect("a write"), None, "nothing was saved");
        lets.send(Ok(())).expect("it waits");
        probe.await.expect("an answer").expect("it could be");
        assert!(written.try_recv().is_err(), "no further write");
    }

    #[tokio::test]
    async fn all_that_waited_for_a_write_that_fails_are_told() {
        let (commit, written, lets) = commit();
        let first = commit.ask(Some((0, 1)));
        written.recv().expect("a write");
        let (second, third) = (commit.ask(Some((1, 2))), commit.ask(Some((2, 3))));
        lets.send(Ok(())).expect("it waits");
        first.await.expect("an answer").expect("saved");
        written.recv().expect("a write");
        lets.send(Err(StorageError::Missing)).expect("it waits");
        let told = second.await.expect("an answer");
        assert!(matches!(told, Err(StorageError::Missing)), "{told:?}");
        let told = third.await.expect("an answer").expect_err("it has failed");
        assert_eq!(told.to_string(), StorageError::Missing.to_string());
    }

    #[tokio::test]
    async fn a_storage_that_panics_is_gone_for_all() {
        let (commit, written, lets) = commit();
        let first = commit.ask(Some((0, 1)));
        written.recv().expect("a write");
        let second = commit.ask(Some((1, 2)));
        drop(lets);
        assert!(first.await.is_err() && second.await.is_err());
        assert!(commit.ask(None).await.is_err(), "it stays so");
    }

    #[tokio::test]
    async fn a_storage_is_released_when_its_last_write_is_done() {
        let (writes, written) = channel();
        let (lets, results) = channel();
        let (commit, mut released) =
            GroupCommit::new(Box::new(Slow(writes, results)), vec![None; 3]);
        let save = commit.ask(Some((0, 1)));
        written.recv().expect("a write");
        drop((save, commit));
        let mut released = Box::pin(released.recv());
        let soon = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, &mut released).await.is_err(), "the thread writes");
        lets.send(Ok(())).expect("it waits");
        assert_eq!(released.await, None);
        assert!(lets.send(Ok(())).is_err(), "the storage is closed");
    }

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
