//! Stable storage: what a core must not forget is on disk before anything that follows from it is
//! carried out.
//!
//! A core puts out [`Persist`](crate::protocol::Output::Persist) with the whole of what must
//! survive a crash, and the node hands it to a [`Storage`]. When
//! [`Storage::save`] returns, the value is durable, and only then does the driver send what the
//! core wants sent next. If `save` fails, the node leaves: it must not send what depends on a
//! value that may be lost.
//!
//! - [`Directory`] keeps the value in two files, and is what the daemon uses;
//! - [`Memory`] keeps it as long as the program runs: for tests, and for a process whose next start is
//!   another one to all others.

mod directory;
mod error;
mod slot;

use std::sync::{Arc, Mutex};

pub use self::directory::Directory;
pub use self::error::{Damage, StorageError};
use crate::lock::lock;
use crate::protocol::{ClusterId, NodeId};

/// A storage in which one node keeps its durable state of type `D`. The calls may block: the driver
/// makes them on a thread where that is allowed.
pub trait Storage<D>: Send + 'static {
    /// Loads the state that was saved last; `None` if nothing ever was. The state that is returned
    /// is durable, although the save of it may not have been acknowledged.
    ///
    /// # Errors
    ///
    /// A [`StorageError`] when this cannot be known, or made so. The node must not start then.
    fn load(&mut self) -> Result<Option<D>, StorageError>;

    /// Makes `state` durable in place of what was saved before. A crash in the middle leaves the
    /// one or the other.
    ///
    /// # Errors
    ///
    /// A [`StorageError`] when `state` may not be durable. The node must stop then.
    fn save(&mut self, state: &D) -> Result<(), StorageError>;

    /// Finds out whether anything could be saved: writes something that means nothing, and returns
    /// when it is durable. A leader asks that now and then, and leads no longer if the answer does
    /// not come in time. A storage that cannot tell says yes.
    ///
    /// # Errors
    ///
    /// A [`StorageError`] when nothing could be saved.
    fn probe(&mut self) -> Result<(), StorageError> {
        Ok(())
    }
}

/// A storage that keeps the state in memory. A clone is the same storage, so that a test can look at
/// what a node has saved, and start it again on it.
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
        lock(&self.0).clone()
    }
}

impl<D: Clone + Send + 'static> Storage<D> for Memory<D> {
    fn load(&mut self) -> Result<Option<D>, StorageError> {
        Ok(self.saved())
    }

    fn save(&mut self, state: &D) -> Result<(), StorageError> {
        *lock(&self.0) = Some(state.clone());
        Ok(())
    }
}

/// The owner of a state: it is of no use to any other node, and would do harm there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The cluster of the node.
    pub cluster: ClusterId,
    /// The name of the protocol that the node runs.
    pub protocol: String,
    /// The id of the node.
    pub node: NodeId,
}

#[cfg(test)]
mod tests;
