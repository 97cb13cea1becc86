//! A disk that makes a state durable when it is let.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::storage::{Storage, StorageError};

/// The disk. A clone is the same disk.
pub(super) struct SteeredDisk<D>(Arc<Shared<D>>);

struct Shared<D> {
    state: Mutex<State<D>>,
    changed: Condvar,
}

struct State<D> {
    durable: Option<D>,
    /// What is being written, and is not durable.
    writing: Option<D>,
    /// Whether that may become durable.
    let_through: bool,
    /// The node has crashed: nothing becomes durable any more.
    crashed: bool,
}

impl<D> Clone for SteeredDisk<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D: Clone> SteeredDisk<D> {
    /// A disk on which this is durable.
    pub(super) fn new(durable: Option<D>) -> Self {
        let state = State { durable, writing: None, let_through: false, crashed: false };
        Self(Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// What is durable.
    pub(super) fn durable(&self) -> Option<D> {
        self.state().durable.clone()
    }

    /// What is being written. Waits for a write to begin, but for no longer than `longest`.
    pub(super) fn writing(&self, longest: Duration) -> Option<D> {
        let Shared { changed, .. } = &*self.0;
        let waits = |state: &mut State<D>| state.writing.is_none();
        let waited = changed.wait_timeout_while(self.state(), longest, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.writing.clone()
    }

    /// Lets the write through that is under way.
    pub(super) fn let_through(&self) {
        self.state().let_through = true;
        self.0.changed.notify_all();
    }

    /// The node crashes. A write that is under way becomes durable no more.
    pub(super) fn crash(&self) {
        self.state().crashed = true;
        self.0.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<D>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Clone + Send + 'static> Storage<D> for SteeredDisk<D> {
    fn load(&mut self) -> Result<Option<D>, StorageError> {
        Ok(self.durable())
    }

    fn save(&mut self, written: &D) -> Result<(), StorageError> {
        let mut state = self.state();
        state.writing = Some(written.clone());
        self.0.changed.notify_all();
        let waits = |state: &mut State<D>| !state.let_through && !state.crashed;
        let waited = self.0.changed.wait_while(state, waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let written = state.writing.take();
        if state.crashed {
            return Err(StorageError::Missing);
        }
        state.let_through = false;
        state.durable = written;
        Ok(())
    }
}
