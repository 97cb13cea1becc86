//! Storage in a directory: two slots with checksums, and a lock.
//!
//! A save writes the state to one slot and syncs it, then to the other and syncs that; files that
//! are new are followed by a sync of the directory. It is done when both slots have the new state.
//! This is what makes the following sound:
//!
//! - One slot is damaged: the other counts. Either the damage is a write that did not finish, and
//!   then the save was never acknowledged, or the slot was damaged later, and then the other has
//!   what was acknowledged last. The next save writes the damaged slot first.
//! - The slots differ, as a process has ended in the middle of a save: the newer one may be in the
//!   memory of the system alone, and a loss of power would take it back. A load that does not find
//!   one save in both slots therefore saves the state that it has read, before it returns that.
//! - Neither slot is whole, and the directory has no mark: the first save did not finish. A save
//!   writes the mark when both slots are on disk, and before it is acknowledged. So nothing was
//!   ever acknowledged, and the node starts as if it was new.
//! - Neither slot is whole, and the directory has the mark: what was acknowledged is lost, and the
//!   node must not start.
//!
//! What is assumed: a write to one file does not damage the other, and what the system reports as
//! synced is on disk. The storage does not notice that a whole directory was emptied, the mark
//! included, or replaced by an older copy.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek as _, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use bellwether_stores::private_file::endless;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::slot::{self, Content};
#[cfg(test)]
use super::tests::cuts;
use super::{Damage, Owner, Storage, StorageError};

/// The names of the slots.
const SLOTS: [&str; 2] = ["state.0", "state.1"];

/// The file that a process has locked as long as it uses the directory.
const LOCK: &str = "lock";

/// The file that is written to find out whether anything can be.
const PROBE: &str = "probe";

/// The file that says that a save was acknowledged in this directory.
const MARK: &str = "used";

const MARK_TEXT: &str = "\
A Bellwether node has saved its state in this directory, in state.0 and state.1. The node does not
start without one of them: it would have forgotten what it has promised to others.
";

/// The storage of one node in a directory of its own.
#[derive(Debug)]
pub struct Directory<D> {
    path: PathBuf,
    owner: Owner,
    /// The number of the last save; `None` before it is known.
    sequence: Option<u64>,
    /// The slot that the next save writes first: the other one is whole.
    first: usize,
    /// Locked until this is dropped.
    lock: File,
    /// The files that were read or written before. They stay open: a process that has as many
    /// files open as it may can go on saving.
    files: BTreeMap<&'static str, File>,
    state: PhantomData<fn(D) -> D>,
}

/// Closing the file would release the lock, but for a moment the file may be open in a child that
/// this process has just forked.
impl<D> Drop for Directory<D> {
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

impl<D> Directory<D> {
    /// Opens the directory for this node, and makes it if it is not there. No other process can
    /// open it until this is dropped.
    ///
    /// # Errors
    ///
    /// [`StorageError::Locked`] when another process uses it, [`StorageError::Directory`] when it
    /// cannot be used at all.
    pub fn open(path: &Path, owner: Owner) -> Result<Self, StorageError> {
        let unusable = |cause| StorageError::Directory { path: path.to_owned(), cause };
        make(path).map_err(unusable)?;
        for file in [LOCK, PROBE, MARK].into_iter().chain(SLOTS).map(|name| path.join(name)) {
            if let Some(kind) = endless(&file, false) {
                let cause = io::Error::other(format!("it is {kind}, and no file"));
                return Err(StorageError::Read { path: file, cause });
            }
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let lock = options.open(path.join(LOCK)).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StorageError::Locked { path: path.to_owned() });
            }
            Err(TryLockError::Error(cause)) => return Err(unusable(cause)),
        }
        let (path, files, state) = (path.to_owned(), BTreeMap::new(), PhantomData);
        Ok(Self { path, owner, sequence: None, first: 0, lock, files, state })
    }

    fn slot(&self, number: usize) -> PathBuf {
        self.path.join(SLOTS[number])
    }

    /// What a slot holds, if it is this node's.
    fn read(&mut self, number: usize) -> Result<Content, StorageError> {
        let path = self.slot(number);
        let mut bytes = Vec::new();
        // Opened for writing too: a slot that cannot be written shall be known before it must be.
        match OpenOptions::new().read(true).write(true).open(&path) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                return Ok(Content::Damaged(Damage::Missing));
            }
            Err(cause) => return Err(StorageError::Read { path, cause }),
            Ok(file) => {
                let read = (&file).take(slot::LARGEST as u64 + 1).read_to_end(&mut bytes);
                self.files.insert(SLOTS[number], file);
                read
            }
        }
        .map_err(|cause| StorageError::Read { path: path.clone(), cause })?;
        slot::decode(&self.owner, path, &bytes)
    }

    /// Writes a slot, and returns when it is on disk.
    fn write(&mut self, number: usize, bytes: &[u8]) -> io::Result<()> {
        let path = self.slot(number);
        let new = !path.exists();
        let file = self.write_file(SLOTS[number], bytes)?;
        sync_file(&path, file)?;
        if new { sync_directory(&self.path) } else { Ok(()) }
    }

    /// Writes the mark if it is not there, and returns when it is on disk.
    fn mark(&mut self) -> Result<(), StorageError> {
        let path = self.path.join(MARK);
        if path.exists() {
            return Ok(());
        }
        let marked = self.write_file(MARK, MARK_TEXT.as_bytes());
        let synced = marked.and_then(|file| sync_file(&path, file));
        let listed = synced.and_then(|()| sync_directory(&self.path));
        listed.map_err(|cause| StorageError::Write { path, cause })
    }

    /// Writes all of a file, and makes it if it is not there. Nothing of that need be on disk before
    /// the file is [synced](sync_file). A storage writes and syncs files here and below alone:
    /// tests cut the power between the two.
    fn write_file(&mut self, name: &'static str, bytes: &[u8]) -> io::Result<&File> {
        let path = self.path.join(name);
        #[cfg(test)]
        cuts::on_write(&path, bytes)?;
        if !self.files.get(name).is_some_and(|file| is_at(file, &path)) {
            self.files.remove(name);
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            self.files.insert(name, file);
        }
        let mut file = self.files.get(name).ok_or(ErrorKind::NotFound)?;
        file.rewind()?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        Ok(file)
    }
}

impl<D: Serialize + DeserializeOwned + 'static> Storage<D> for Directory<D> {
    fn load(&mut self) -> Result<Option<D>, StorageError> {
        let slots = (self.read(0)?, self.read(1)?);
        let is_done = matches!(
            &slots, (Content::State(one, _), Content::State(other, _)) if one == other
        );
        let (number, sequence, bytes) = match slots {
            (Content::State(older, _), Content::State(newer, bytes)) if older < newer => {
                (1, newer, bytes)
            }
            (Content::State(newer, bytes), Content::State(..)) => (0, newer, bytes),
            (Content::State(newer, bytes), Content::Damaged(damage)) => {
                self.warn(1, damage);
                (0, newer, bytes)
            }
            (Content::Damaged(damage), Content::State(newer, bytes)) => {
                self.warn(0, damage);
                (1, newer, bytes)
            }
            (Content::Damaged(_), Content::Damaged(_)) if !self.path.join(MARK).exists() => {
                (self.sequence, self.first) = (Some(0), 0);
                return Ok(None);
            }
            (Content::Damaged(first), Content::Damaged(second)) => {
                return Err(StorageError::Damaged { path: self.path.clone(), first, second });
            }
        };
        let state = slot::state(&bytes);
        let path = self.slot(number);
        let state = state.ok_or(StorageError::Unintelligible { path })?;
        (self.sequence, self.first) = (Some(sequence), 1 - number);
        if !is_done || !self.path.join(MARK).exists() {
            // A save did not finish. The node may act on what that did write.
            self.save(&state)?;
        }
        Ok(Some(state))
    }

    fn save(&mut self, state: &D) -> Result<(), StorageError> {
        if self.sequence.is_none() {
            // A save that is numbered without knowing the last one might count as the older.
            self.load()?;
        }
        let sequence = self.sequence.unwrap_or(0) + 1;
        let too_large = StorageError::TooLarge { limit: slot::LARGEST };
        let bytes = slot::encode(&self.owner, sequence, state).ok_or(too_large)?;
        for number in [self.first, 1 - self.first] {
            self.write(number, &bytes)
                .map_err(|cause| StorageError::Write { path: self.slot(number), cause })?;
            (self.sequence, self.first) = (Some(sequence), 1 - number);
        }
        self.mark()
    }

    fn probe(&mut self) -> Result<(), StorageError> {
        let path = self.path.join(PROBE);
        let synced = self.write_file(PROBE, b"?").and_then(|file| sync_file(&path, file));
        synced.map_err(|cause| StorageError::Write { path, cause })
    }
}

impl<D> Directory<D> {
    fn warn(&self, number: usize, damage: Damage) {
        tracing::warn!(
            node = self.owner.node.get(), slot = %self.slot(number).display(), %damage,
            "one of two slots is not whole: the other has what was saved last"
        );
    }
}

/// Makes a directory, with those above it that are not there, and returns when it is on disk.
fn make(path: &Path) -> io::Result<()> {
    let new: Vec<_> = path.ancestors().take_while(|above| !above.is_dir()).collect();
    std::fs::create_dir_all(path)?;
    // The first part of a relative path has the empty path above it, which is here.
    new.into_iter().filter(|new| new != &Path::new("")).try_for_each(|new| {
        #[cfg(test)]
        cuts::on_make(new);
        let above = new.parent().filter(|above| above != &Path::new(""));
        sync_directory(above.unwrap_or(Path::new(".")))
    })
}

/// Returns whether this open file is still the one with this path: an operator may have moved it
/// away. Elsewhere than on Unix that is not known, and each write opens it again.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |about: std::fs::Metadata| (about.dev(), about.ino());
    let named = path.metadata().ok().map(place);
    named.is_some() && named == file.metadata().ok().map(place)
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    false
}

/// Returns when all of a file is on disk.
fn sync_file(path: &Path, file: &File) -> io::Result<()> {
    #[cfg(test)]
    if let Some(done) = cuts::on_sync(path) {
        return done;
    }
    #[cfg(not(test))]
    let _ = path;
    file.sync_all()
}

/// Returns when the entries of a directory are on disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    if let Some(done) = cuts::on_sync_directory(path) {
        return done;
    }
    // Elsewhere a directory cannot be opened as a file, nor need it be.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
