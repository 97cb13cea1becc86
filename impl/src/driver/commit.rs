//! Makes durable what the groups of a node save: all that waits at one moment in one write.
//!
//! A write goes on on a thread of its own. What is saved meanwhile waits for the next, which has
//! the latest states of all groups. A group gets its answer when a write is done that began after
//! it had asked, so no state counts as durable before it is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::gauges::SyncTimes;
use super::store::{States, Store};
use crate::storage::StorageError;

/// The answer of the storage to one group. If its sender is gone, so is the storage.
pub(super) type Answer = oneshot::Receiver<Result<(), StorageError>>;

/// How long between two looks whether something else has the storage.
const LOOK: Duration = Duration::from_millis(1);

/// What the groups of a node share of its storage. A clone is the same.
pub(super) struct Commit<D> {
    shared: Arc<Mutex<Shared<D>>>,
    times: Arc<SyncTimes>,
}

struct Shared<D> {
    place: Place<D>,
    /// The states that are durable next.
    states: States<D>,
    waiting: Vec<Waiter>,
}

/// Where the storage is.
enum Place<D> {
    Here(Box<dyn Store<D>>),
    /// A thread writes with it.
    InUse,
    /// It has panicked.
    Lost,
}

/// A group that waits.
struct Waiter {
    /// It saves a state, or else only asks whether it could.
    saves: bool,
    answer: oneshot::Sender<Result<(), StorageError>>,
}

impl<D> Clone for Commit<D> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), times: Arc::clone(&self.times) }
    }
}

impl<D: Clone + Send + 'static> Commit<D> {
    /// A storage, and what it has.
    pub(super) fn new(store: Box<dyn Store<D>>, states: States<D>) -> Self {
        let shared = Shared { place: Place::Here(store), states, waiting: Vec::new() };
        Self { shared: Arc::new(Mutex::new(shared)), times: Arc::default() }
    }

    /// How long writes take.
    pub(super) fn times(&self) -> Arc<SyncTimes> {
        Arc::clone(&self.times)
    }

    /// Begins to save the state of the group with this number.
    pub(super) fn save(&self, group: usize, state: D) -> Answer {
        self.ask(Some((group, state)))
    }

    /// Asks whether anything could be saved.
    pub(super) fn probe(&self) -> Answer {
        self.ask(None)
    }

    fn ask(&self, state: Option<(usize, D)>) -> Answer {
        let (answer, answered) = oneshot::channel();
        let mut shared = self.shared();
        let saves = state.is_some();
        if let Some((group, state)) = state {
            shared.states[group] = Some(state);
        }
        match std::mem::replace(&mut shared.place, Place::InUse) {
            Place::Here(store) => {
                shared.waiting.push(Waiter { saves, answer });
                let writes = self.clone();
                tokio::task::spawn_blocking(move || writes.write(store));
            }
            Place::InUse => shared.waiting.push(Waiter { saves, answer }),
            Place::Lost => shared.place = Place::Lost,
        }
        answered
    }

    /// Writes until no group waits. The last group that has its answer may close the storage, so
    /// this thread has nothing of it any more when it gives that.
    fn write(self, mut store: Box<dyn Store<D>>) {
        loop {
            let mut shared = self.shared();
            let waiting = std::mem::take(&mut shared.waiting);
            let saves = waiting.iter().any(|waiter| waiter.saves);
            let states = saves.then(|| shared.states.clone());
            drop(shared);
            let write = || match &states {
                Some(states) => store.save(states),
                None => store.probe(),
            };
            let written = catch_unwind(AssertUnwindSafe(|| self.times.measure(write)));
            let mut shared = self.shared();
            let Ok(result) = written else {
                drop(store);
                shared.place = Place::Lost;
                return shared.waiting.clear();
            };
            if shared.waiting.is_empty() {
                shared.place = Place::Here(store);
                drop(shared);
                drop(self);
                return answer(waiting, result);
            }
            drop(shared);
            answer(waiting, result);
        }
    }

    /// Returns when nothing else has the storage: no thread writes with it, and all groups have
    /// ended. What this returns from is the last that has it.
    pub(super) async fn alone(&self) {
        while Arc::strong_count(&self.shared) > 1 {
            tokio::time::sleep(LOOK).await;
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared<D>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

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

    fn commit() -> (Commit<u8>, Receiver<Written>, Sender<Result<(), StorageError>>) {
        let ((writes, written), (lets, results)) = (channel(), channel());
        (Commit::new(Box::new(Slow(writes, results)), vec![None; 3]), written, lets)
    }

    #[tokio::test]
    async fn what_waits_for_a_write_is_written_together_in_the_next() {
        let (commit, written, lets) = commit();
        let first = commit.save(0, 1);
        assert_eq!(written.recv().expect("a write"), Some(vec![Some(1), None, None]));
        let (second, third, probe) = (commit.save(1, 2), commit.save(2, 3), commit.probe());
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
        let probe = commit.probe();
        assert_eq!(written.recv().expect("a write"), None, "nothing was saved");
        lets.send(Ok(())).expect("it waits");
        probe.await.expect("an answer").expect("it could be");
        assert!(written.try_recv().is_err(), "no further write");
    }

    #[tokio::test]
    async fn all_that_waited_for_a_write_that_fails_are_told() {
        let (commit, written, lets) = commit();
        let first = commit.save(0, 1);
        written.recv().expect("a write");
        let (second, third) = (commit.save(1, 2), commit.save(2, 3));
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
        let first = commit.save(0, 1);
        written.recv().expect("a write");
        let second = commit.save(1, 2);
        drop(lets);
        assert!(first.await.is_err() && second.await.is_err());
        assert!(commit.probe().await.is_err(), "it stays so");
    }
}
