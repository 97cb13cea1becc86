//! A power cut while a storage saves: after so many steps nothing more is done to a file, and what
//! was not synced by then may be there or not.
//!
//! Files are written as ever. What the disk would have of each is kept beside; nothing waits for
//! the real disk meanwhile.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

thread_local! {
    static POWER: RefCell<Option<Power>> = const { RefCell::new(None) };
}

/// What was in each file that may be lost, before it was written; `None` if the file was not there.
pub(super) type Loose = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// What was done while the power was on.
struct Power {
    /// How many steps are left.
    left: usize,
    /// The files that are not synced.
    unsynced: Loose,
    /// The files whose entries in their directory are not.
    unlisted: BTreeSet<PathBuf>,
}

/// Does something, and cuts the power after so many steps of it. What comes of it, and which files
/// may not be on disk.
pub(super) fn cut_after<T>(steps: usize, act: impl FnOnce() -> T) -> (T, Loose) {
    let (unsynced, unlisted) = (Loose::new(), BTreeSet::new());
    POWER.set(Some(Power { left: steps, unsynced, unlisted }));
    let done = act();
    let Some(Power { unsynced: mut loose, unlisted, .. }) = POWER.take() else {
        unreachable!("it was set")
    };
    for path in unlisted {
        loose.entry(path).or_insert(None);
    }
    (done, loose)
}

/// A file is about to be written.
pub(in crate::storage) fn on_write(path: &Path) -> Result<()> {
    let step = |power: &mut Power| {
        let before = fs::read(path).ok();
        if before.is_none() {
            power.unlisted.insert(path.to_owned());
        }
        power.unsynced.entry(path.to_owned()).or_insert(before);
    };
    take(step).unwrap_or(Ok(()))
}

/// A file is synced; `None` if that is left to the system.
pub(in crate::storage) fn on_sync(path: &Path) -> Option<Result<()>> {
    take(|power| drop(power.unsynced.remove(path)))
}

/// The entries of a directory are synced; `None` if that is left to the system.
pub(in crate::storage) fn on_sync_directory(path: &Path) -> Option<Result<()>> {
    take(|power| power.unlisted.retain(|file| file.parent() != Some(path)))
}

/// Takes one step, if the power is still on.
fn take(step: impl FnOnce(&mut Power)) -> Option<Result<()>> {
    POWER.with_borrow_mut(|power| {
        let power = power.as_mut()?;
        let Some(left) = power.left.checked_sub(1) else {
            return Some(Err(Error::other("the power is cut")));
        };
        power.left = left;
        step(power);
        Some(Ok(()))
    })
}
