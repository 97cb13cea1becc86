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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Error)]
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
#[derive(Error)]
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

/// No write of an older epoch comes after one of a newer, and no two nodes write in one, whatever
/// fails in between.
#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::storage::{Directory, Owner};

    /// The value is the list of all writes that were admitted: each with its epoch, its node and
    /// its number.
    type Writes = Vec<(u64, u16, usize)>;

    fn token(epoch: u64, node: u16) -> Token {
        Token { epoch: Epoch::new(epoch), node: NodeId::new(node).expect("not zero") }
    }

    fn written(token: Token, number: usize) -> impl FnOnce(&mut Writes) {
        move |writes| writes.push((token.epoch.number(), token.node.get(), number))
    }

    /// How a save comes out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Save {
        Succeeds,
        /// It fails before it has written anything.
        FailsBefore,
        /// It fails, and what it wrote is in the memory of the system only.
        FailsUnsynced,
        /// It fails after everything was on disk.
        FailsAfter,
    }

    /// A disk that fails, and a machine that crashes.
    #[derive(Clone, Debug)]
    struct Disk(Arc<Mutex<Content>>);

    #[derive(Debug)]
    struct Content {
        durable: Option<Resources<Writes>>,
        /// What a program reads.
        cached: Option<Resources<Writes>>,
        next: Save,
    }

    impl Disk {
        fn with<T>(&self, act: impl FnOnce(&mut Content) -> T) -> T {
            act(&mut self.0.lock().expect("no test panics with it"))
        }

        /// Does something, in which the first save comes out so.
        fn during<T>(&self, save: Save, act: impl FnOnce() -> T) -> T {
            self.with(|content| content.next = save);
            let done = act();
            self.with(|content| content.next = Save::Succeeds);
            done
        }
    }

    impl Storage<Resources<Writes>> for Disk {
        fn load(&mut self) -> Result<Option<Resources<Writes>>, StorageError> {
            Ok(self.with(|content| content.cached.clone()))
        }

        fn save(&mut self, state: &Resources<Writes>) -> Result<(), StorageError> {
            self.with(|content| {
                let how = std::mem::replace(&mut content.next, Save::Succeeds);
                if how != Save::FailsBefore {
                    content.cached = Some(state.clone());
                }
                if matches!(how, Save::Succeeds | Save::FailsAfter) {
                    content.durable = Some(state.clone());
                }
                if how == Save::Succeeds { Ok(()) } else { Err(StorageError::Panicked) }
            })
        }
    }

    /// A step of a story. Writers are leaders of any epoch, in any order: each may have been paused
    /// for as long as it takes.
    #[derive(Clone, Debug)]
    enum Step {
        /// A write; or the fence alone is raised.
        Write { resource: &'static str, token: Token, raises: bool, save: Save },
        /// The program of the fence ends and starts again, after a save at the start that comes
        /// out so.
        Restart(Save),
        /// The machine crashes: what was not on disk is gone, and so is the program of the fence.
        Crash,
    }

    fn step() -> impl Strategy<Value = Step> {
        let fails =
            prop_oneof![Just(Save::FailsBefore), Just(Save::FailsUnsynced), Just(Save::FailsAfter)];
        let save = prop_oneof![4 => Just(Save::Succeeds), 2 => fails];
        let resource = prop_oneof![Just("one"), Just("two")];
        let token = (0..6_u64, 1..4_u16).prop_map(|(epoch, node)| token(epoch, node));
        let write = (resource, token, prop::bool::weighted(0.25), save.clone());
        prop_oneof![
            8 => write.prop_map(|(resource, token, raises, save)| Step::Write {
                resource, token, raises, save,
            }),
            2 => save.prop_map(Step::Restart),
            1 => Just(Step::Crash),
        ]
    }

    /// What is known from outside: what was acknowledged, or read, must never be taken back.
    #[derive(Debug, Default)]
    struct Known(Resources<Writes>);

    impl Known {
        /// A reader sees `kept`: it has everything that was known, and epochs only grow.
        fn see(&mut self, resource: &str, kept: &Kept<Writes>) {
            let known = self.0.entry(resource.to_owned()).or_default();
            assert!(kept.epoch >= known.epoch, "{resource}: {} after {}", kept.epoch, known.epoch);
            assert!(kept.value.starts_with(&known.value), "{resource}: {kept:?} after {known:?}");
            assert!(kept.value.is_sorted_by_key(|&(epoch, ..)| epoch), "{resource}: {kept:?}");
            let alone = |one: &[(u64, u16, usize)]| one[0].0 != one[1].0 || one[0].1 == one[1].1;
            assert!(kept.value.windows(2).all(alone), "{resource}: {kept:?}");
            *known = kept.clone();
        }

        fn see_all(&mut self, fence: &Fence<Writes>) {
            for resource in self.0.keys() {
                assert!(fence.get(resource).is_some(), "{resource} is gone");
            }
            fence.resources().for_each(|(resource, kept)| self.see(resource, kept));
        }

        /// A write is refused as stale if and only if the resource has admitted a later epoch, or
        /// the same of another node.
        fn allows(&self, resource: &str, token: Token, done: &Result<(), FenceError>) -> bool {
            let kept = self.0.get(resource).cloned().unwrap_or_default();
            let another = kept.node.is_some_and(|leads| leads != token.node);
            let stale = token.epoch < kept.epoch.max(FIRST);
            let stale = stale || (token.epoch == kept.epoch && another);
            match done {
                Ok(()) => !stale,
                Err(FenceError::Stale(_)) => stale,
                Err(FenceError::Storage(_) | FenceError::Broken) => true,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn an_older_epoch_never_writes_after_a_newer(story in vec(step(), 1..40)) {
            let content = Content { durable: None, cached: None, next: Save::Succeeds };
            let disk = Disk(Arc::new(Mutex::new(content)));
            let mut fence = Fence::open(disk.clone()).ok();
            let mut known = Known::default();
            for (number, step) in story.into_iter().enumerate() {
                match step {
                    Step::Crash => {
                        disk.with(|content| content.cached = content.durable.clone());
                        fence = Fence::open(disk.clone()).ok();
                    }
                    Step::Restart(save) => {
                        fence = disk.during(save, || Fence::open(disk.clone())).ok();
                    }
                    Step::Write { resource, token, raises, save } => {
                        let Some(fence) = &mut fence else { continue };
                        let done = disk.during(save, || match raises {
                            true => fence.raise(resource, token),
                            false => fence.write(resource, token, written(token, number)),
                        });
                        prop_assert!(known.allows(resource, token, &done), "{token}: {known:?}");
                        let is_lost = !matches!(done, Ok(()) | Err(FenceError::Stale(_)));
                        prop_assert_eq!(fence.broken, is_lost);
                    }
                }
                if let Some(fence) = &fence {
                    known.see_all(fence);
                }
            }
        }
    }

    fn open(path: &Path) -> Result<Fence<Writes>, StorageError> {
        let cluster = "orders".parse().expect("a name");
        let node = NodeId::new(1).expect("not zero");
        Fence::open(Directory::open(path, Owner { cluster, protocol: "fence".to_owned(), node })?)
    }

    /// The files of a directory after a write that stopped at any byte of either file.
    #[test]
    fn a_crash_in_the_middle_of_a_write_leaves_value_and_epoch_together() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let slots = ["state.0", "state.1"].map(|slot| path.join(slot));
        let files = || slots.each_ref().map(|slot| fs::read(slot).expect("it was saved"));
        let write = |fence: &mut Fence<Writes>, epoch| {
            fence.write("one", token(epoch, 1), written(token(epoch, 1), 0))
        };
        let mut fence = open(path).expect("usable");
        write(&mut fence, 3).expect("the first");
        let (before, whole) = (files(), fence.get("one").cloned());
        write(&mut fence, 4).expect("a later epoch");
        let (after, next) = (files(), fence.get("one").cloned());
        drop(fence);

        // The slot that is written first is the one that the save before did.
        for first in [0, 1] {
            let moments = (0..=after[first].len()).map(|length| [length, 0]);
            let second = (1..=after[1 - first].len()).map(|length| [usize::MAX, length]);
            for moment in moments.chain(second) {
                for (slot, written) in [first, 1 - first].into_iter().zip(moment) {
                    let written = written.min(after[slot].len());
                    let rest = before[slot].get(written..).unwrap_or_default();
                    let torn = [&after[slot][..written], rest].concat();
                    fs::write(&slots[slot], torn).expect("ours");
                }
                let mut fence = open(path).expect("one slot is whole");
                let kept = fence.get("one").cloned();
                assert!(kept == whole || kept == next, "{moment:?}: {kept:?}");
                assert_eq!(write(&mut fence, 3).is_ok(), kept == whole, "{moment:?}");
            }
        }
    }

    #[test]
    fn what_is_too_large_is_refused_and_the_fence_goes_on() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut fence = open(directory.path()).expect("usable");
        let huge = fence.write("one", token(5, 1), |writes| *writes = vec![(7, 1, 7); 1_000_000]);
        assert!(matches!(huge, Err(FenceError::Storage(StorageError::TooLarge { .. }))));
        assert_eq!(fence.get("one"), None);
        fence.write("one", token(4, 2), written(token(4, 2), 1)).expect("nothing was admitted");
        let told = "epoch 4 of node 1 is refused: a later epoch was admitted before, or this one \
                    of another node";
        let refused = fence.raise("one", token(4, 1)).expect_err("it is that of node 2");
        assert_eq!(refused.to_string(), told);
    }
}
