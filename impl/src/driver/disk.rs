//! The storage of a node, which saves on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;

use super::gauges::SyncTimes;
use crate::member::StorageAnswer;
use crate::storage::{Storage, StorageError};

/// An answer that is waited for, and the storage, which gives it on a thread of its own.
type Waited<D> = JoinHandle<(Result<(), StorageError>, Box<dyn Storage<D>>)>;

/// The storage of a node.
pub(super) struct Disk<D> {
    /// `None` while it is in use, and for protocols without durable state.
    storage: Option<Box<dyn Storage<D>>>,
    /// What it was asked for, and has not answered yet.
    waited: Option<Waited<D>>,
    /// Why it has failed last.
    failure: Option<StorageError>,
    /// Whether the node takes it for stalled; the status tells it.
    stalled: Arc<AtomicBool>,
    /// How long it takes.
    times: Arc<SyncTimes>,
}

impl<D: Send + 'static> Disk<D> {
    /// A storage, if there is one.
    pub(super) fn new(storage: Option<Box<dyn Storage<D>>>) -> Self {
        let (stalled, times) = (Arc::default(), Arc::default());
        Self { storage, waited: None, failure: None, stalled, times }
    }

    /// How long it takes, for others to look at.
    pub(super) fn times(&self) -> Arc<SyncTimes> {
        Arc::clone(&self.times)
    }

    /// Whether it is taken for stalled, for others to look at.
    pub(super) fn stalled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stalled)
    }

    /// Tells the others whether it is taken for stalled.
    pub(super) fn set_stalled(&self, stalled: bool) {
        self.stalled.store(stalled, Ordering::Relaxed);
    }

    /// Begins to save `state`; returns the answer if there is no storage. The disk keeps a thread
    /// of its own busy meanwhile.
    pub(super) fn save(&mut self, state: D) -> Option<StorageAnswer> {
        let Some(mut storage) = self.storage.take() else { return Some(self.missing()) };
        let times = self.times();
        let save = move || (times.measure(|| storage.save(&state)), storage);
        self.waited = Some(tokio::task::spawn_blocking(save));
        None
    }

    /// Asks whether it answers; returns the answer if there is no storage.
    pub(super) fn probe(&mut self) -> Option<StorageAnswer> {
        let Some(mut storage) = self.storage.take() else { return Some(self.missing()) };
        let times = self.times();
        let probe = move || (times.measure(|| storage.probe()), storage);
        self.waited = Some(tokio::task::spawn_blocking(probe));
        None
    }

    fn missing(&mut self) -> StorageAnswer {
        self.failure = Some(StorageError::Missing);
        StorageAnswer::Gone
    }

    /// Waits for the answer; for ever if it does nothing.
    pub(super) async fn answered(&mut self) -> StorageAnswer {
        let Some(waited) = &mut self.waited else {
            return std::future::pending().await;
        };
        let answer = waited.await;
        self.waited = None;
        let (answer, failure) = match answer {
            Ok((result, storage)) => {
                self.storage = Some(storage);
                match result {
                    Ok(()) => return StorageAnswer::Done,
                    Err(error) => (StorageAnswer::Failed(error.to_string()), error),
                }
            }
            Err(_) => (StorageAnswer::Gone, StorageError::Panicked),
        };
        self.failure = Some(failure);
        answer
    }

    /// Whether there is an answer that was not waited for.
    pub(super) fn has_answered(&self) -> bool {
        self.waited.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Why it has failed last.
    pub(super) fn failure(&mut self) -> StorageError {
        self.failure.take().unwrap_or(StorageError::Missing)
    }
}
