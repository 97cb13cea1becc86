//! Fencing: a resource refuses what comes from an old epoch.
//!
//! A leader can be paused at any moment: after it has asked whether it leads, and before it writes.
//! When it goes on, another leads, and it does not know. No lease prevents that: none is longer
//! than every pause. So the *resource* must decide. It keeps the highest epoch that it has
//! admitted, with the node that leads it, and refuses a write of a lower epoch, or of another node
//! in this one; it does both in the same transaction as the write. `docs/fencing.md` shows how, and
//! says what fencing does not give.
//!
//! - [`Fence`] is a small resource that does so: values with their epochs, kept by a
//!   [crash-safe storage](crate::storage).
//! - [`sql`] has the statement for a database that has transactions. It is the same for SQLite and
//!   PostgreSQL.
//! - [`check`] is the rule alone, for everything else.
//!
//! A new leader raises the fence before it reads: [`Fence::raise`], or the statement in a
//! transaction of its own. Otherwise a write of the leader before it can arrive after the reading,
//! while the fence knows no newer epoch.
//!
//! ```
//! use bellwether::fence::{Fence, Token};
//! use bellwether::Epoch;
//! use bellwether::storage::Memory;
//!
//! let mut fence: Fence<String> = Fence::open(Memory::default())?;
//! let old = Token { epoch: Epoch::new(3), node: "1".parse()? };
//! let new = Token { epoch: Epoch::new(4), node: "2".parse()? };
//! fence.write("report", old, |report| report.push_str("of 3"))?;
//! fence.raise("report", new)?;
//! assert!(fence.write("report", old, |report| report.push_str(" and 3 again")).is_err());
//! assert_eq!(fence.get("report").map(|kept| kept.value.as_str()), Some("of 3"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::protocol::NodeId;
use crate::protocol::quorum::Epoch;
use crate::storage::{Storage, StorageError};

pub mod sql;

/// The lowest epoch that any node leads.
const FIRST: Epoch = Epoch::new(1);

/// A fencing token: what a leader sends along with each write.
/// [`Guard::token`](crate::Guard::token) returns it.
///
/// The epoch says which leadership is the newest. No two nodes lead one epoch; the node is there so
/// that a resource refuses the second of them should that ever happen, after an error of an
/// operator or of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// The number of the leadership.
    pub epoch: Epoch,
    /// The node that leads.
    pub node: NodeId,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {} of node {}", self.epoch, self.node)
    }
}

/// A refusal of a write by a resource: its leader has been replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("{token} is refused: a later epoch was admitted before, or this one of another node")]
pub struct Stale {
    /// What was refused.
    pub token: Token,
}

/// Decides by the rule of a fence whether `token` is admitted after `epoch` of `node` was: it is if
/// its epoch is higher, or the same of the same node. The epoch 0 is never admitted: no node leads
/// it, and a program that has forgotten to ask has it.
///
/// # Errors
///
/// [`Stale`] if the resource must do nothing of what was asked.
pub fn check(epoch: Epoch, node: Option<NodeId>, token: Token) -> Result<(), Stale> {
    let same = (epoch, node) == (token.epoch, Some(token.node));
    if token.epoch >= FIRST && (token.epoch > epoch || same) {
        Ok(())
    } else {
        Err(Stale { token })
    }
}

/// The state that a fence keeps of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept<D> {
    /// The highest epoch that was admitted.
    pub epoch: Epoch,
    /// The node that leads that epoch; `None` if nothing was admitted.
    pub node: Option<NodeId>,
    /// The value that was written there.
    pub value: D,
}

/// The state that a fence keeps of all its resources.
pub type Resources<D> = BTreeMap<String, Kept<D>>;

/// The reason why a fence did not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FenceError {
    /// The epoch is too old, or is led by another node. Nothing was changed.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// The storage failed. Unless the values are [too large](StorageError::TooLarge), it is unknown
    /// what is durable, and the fence does nothing any more.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The storage has failed before.
    #[error("the storage of the fence has failed: open it anew")]
    Broken,
}

/// Values that only the leader of the newest epoch can change: one for each resource.
///
/// Each change makes the value *and* the token durable, in one save of the storage: a crash leaves
/// both as they were or both as they shall be. It is meant for small values, such as the name of
/// the file that counts or how far something was processed: all are saved together, and a
/// [`Directory`](crate::storage::Directory) takes 2 MiB. One process owns the storage; it answers
/// the others.
pub struct Fence<D> {
    storage: Box<dyn Storage<Resources<D>>>,
    resources: Resources<D>,
    broken: bool,
}

impl<D: Clone + Default + 'static> Fence<D> {
    /// Opens the fence with what was saved last.
    ///
    /// # Errors
    ///
    /// A [`StorageError`] when that cannot be known, or not be made durable.
    pub fn open(mut storage: impl Storage<Resources<D>>) -> Result<Self, StorageError> {
        let resources = storage.load()?;
        if let Some(resources) = &resources {
            // A save that failed may have reached the memory of the system and not the disk. What
            // is read there must be durable before anything follows from it.
            storage.save(resources)?;
        }
        let resources = resources.unwrap_or_default();
        Ok(Self { storage: Box::new(storage), resources, broken: false })
    }

    /// Returns what the fence keeps of `resource`; `None` if no epoch was admitted there.
    #[must_use]
    pub fn get(&self, resource: &str) -> Option<&Kept<D>> {
        self.resources.get(resource)
    }

    /// Returns all resources, in the order of their names.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &Kept<D>)> {
        self.resources.iter().map(|(name, kept)| (name.as_str(), kept))
    }

    /// Refuses everything older than `token` from now on. A new leader does this first, and then
    /// reads what it goes on with.
    ///
    /// # Errors
    ///
    /// As [`Fence::write`].
    pub fn raise(&mut self, resource: &str, token: Token) -> Result<(), FenceError> {
        self.write(resource, token, |_| {})
    }

    /// Changes what is kept of `resource`, in the name of the leader that has `token`. When it
    /// returns, the change and the token are durable.
    ///
    /// # Errors
    ///
    /// [`FenceError::Stale`] if a later epoch was admitted before, or this one of another node, and
    /// nothing is changed;
    /// [`FenceError::Storage`] when the storage fails, [`FenceError::Broken`] ever after.
    pub fn write(
        &mut self,
        resource: &str,
        token: Token,
        change: impl FnOnce(&mut D),
    ) -> Result<(), FenceError> {
        if self.broken {
            return Err(FenceError::Broken);
        }
        let mut kept = self.resources.get(resource).cloned().unwrap_or_default();
        check(kept.epoch, kept.node, token)?;
        (kept.epoch, kept.node) = (token.epoch, Some(token.node));
        change(&mut kept.value);
        let mut resources = self.resources.clone();
        resources.insert(resource.to_owned(), kept);
        match self.storage.save(&resources) {
            Ok(()) => self.resources = resources,
            // Nothing was written.
            Err(too_large @ StorageError::TooLarge { .. }) => return Err(too_large.into()),
            Err(unknown) => {
                self.broken = true;
                return Err(unknown.into());
            }
        }
        Ok(())
    }
}

impl<D: fmt::Debug> fmt::Debug for Fence<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resources, broken, .. } = self;
        let mut debug = f.debug_struct("Fence");
        debug.field("resources", resources).field("broken", broken).finish_non_exhaustive()
    }
}

/// The code in the document is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/fencing.md")]
struct Document;

#[cfg(test)]
mod tests;
