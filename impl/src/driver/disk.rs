//! The storage of a node, as one group uses it: it saves on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::commit::{Answer, Commit};
use super::gauges::SyncTimes;
use crate::member::StorageAnswer;
use crate::storage::StorageError;

/// The storage of a node, for one of its groups.
pub(super) struct Disk<D> {
    /// `None` for protocols without durable state.
    commit: Option<Commit<D>>,
    /// The number of the group.
    group: usize,
    /// What it was asked for, and has not answered yet.
    waited: Option<Answer>,
    /// Why it has failed last.
    failure: Option<StorageError>,
    /// Whether the node takes it for stalled; the status tells it.
    stalled: Arc<AtomicBool>,
    /// How long it takes.
    times: Arc<SyncTimes>,
}

impl<D: Clone + Send + 'static> Disk<D> {
    /// The storage for the group with this number, if there is one.
    pub(super) fn of(commit: Option<Commit<D>>, group: usize) -> Self {
        let times = commit.as_ref().map(Commit::times).unwrap_or_default();
        Self { commit, group, waited: None, failure: None, stalled: Arc::default(), times }
    }

    /// The storage of a node without groups.
    #[cfg(test)]
    pub(super) fn new(storage: Option<Box<dyn crate::storage::Storage<D>>>) -> Self {
        let store = |storage| Box::new(super::store::One(storage));
        Self::of(storage.map(|storage| Commit::new(store(storage), vec![None])), 0)
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

    /// Begins to save `state`; returns the answer if there is no storage.
    pub(super) fn save(&mut self, state: D) -> Option<StorageAnswer> {
        let Some(commit) = &self.commit else { return Some(self.missing()) };
        self.waited = Some(commit.save(self.group, state));
        None
    }

    /// Asks whether it answers; returns the answer if there is no storage.
    pub(super) fn probe(&mut self) -> Option<StorageAnswer> {
        let Some(commit) = &self.commit else { return Some(self.missing()) };
        self.waited = Some(commit.probe());
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
            Ok(Ok(())) => return StorageAnswer::Done,
            Ok(Err(error)) => (StorageAnswer::Failed(error.to_string()), error),
            Err(_) => (StorageAnswer::Gone, StorageError::Panicked),
        };
        self.failure = Some(failure);
        answer
    }

    /// Whether it was asked something, and the answer is not heard.
    #[cfg(feature = "steered")]
    pub(super) fn is_asked(&self) -> bool {
        self.waited.is_some()
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
