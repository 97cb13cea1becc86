//! What a storage does to its files: it writes them, and waits until that is on disk. Tests cut the
//! power between the two.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::path::Path;

#[cfg(test)]
use super::tests::power;

/// Writes all of a file, and makes it if it is not there. Nothing of that need be on disk before
/// the file is [synced](sync).
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<File> {
    #[cfg(test)]
    power::on_write(path)?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    Ok(file)
}

/// Returns when all of a file is on disk.
pub(super) fn sync(path: &Path, file: &File) -> Result<()> {
    #[cfg(test)]
    if let Some(done) = power::on_sync(path) {
        return done;
    }
    #[cfg(not(test))]
    let _ = path;
    file.sync_all()
}

/// Returns when the entries of a directory are on disk.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    #[cfg(test)]
    if let Some(done) = power::on_sync_directory(path) {
        return done;
    }
    // Elsewhere a directory cannot be opened as a file, nor need it be.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
