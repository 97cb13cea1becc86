//! Storage that lasts as long as the program, for tests.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Storage, StorageError};

/// A storage that keeps the state in memory. A clone is the same storage, so that a test can look
/// at what a node has saved, and start it again on it.
#[derive(Clone, Debug)]
pub struct Memory<D>(Arc<Mutex<Option<D>>>);

impl<D> Default for Memory<D> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<D: Clone> Memory<D> {
    /// Returns the state that was saved last.
    #[must_use]
    pub fn saved(&self) -> Option<D> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<D: Clone + Send + 'static> Storage<D> for Memory<D> {
    fn load(&mut self) -> Result<Option<D>, StorageError> {
        Ok(self.saved())
    }

    fn save(&mut self, state: &D) -> Result<(), StorageError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(state.clone());
        Ok(())
    }
}
