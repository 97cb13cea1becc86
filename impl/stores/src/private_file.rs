//! Files with something that no other user may know: keys, secrets, passwords.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use thiserror::Error;
use zeroize::Zeroizing;

/// The largest file with a secret, a key or certificates, in bytes.
const LARGEST: u64 = 64 * 1024;

/// The reason why such a file is of no use.
#[derive(Debug, Error)]
pub enum Unusable {
    /// The system does not let this process read it.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// Its path.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// Other users can read it.
    #[error(
        "{path} can be read by others (mode {mode:04o}): `chmod 600 {path}`, and think of another \
         secret"
    )]
    Open {
        /// Its path.
        path: String,
        /// Its permissions.
        mode: u32,
    },
}

/// Reads a file that no other user can read. The bytes are overwritten when they are dropped.
///
/// # Errors
///
/// [`Unusable`] if the file cannot be read, or others can read it.
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Unusable> {
    bytes(path, open_to_others)
}

/// Reads a file that others may know as well.
///
/// # Errors
///
/// [`Unusable::Unreadable`] if the file cannot be read.
pub fn read_public(path: &Path) -> Result<Zeroizing<Vec<u8>>, Unusable> {
    bytes(path, |_| None)
}

/// Reads a file unless it has a mode that is refused.
fn bytes(
    path: &Path,
    refused: impl Fn(&Metadata) -> Option<u32>,
) -> Result<Zeroizing<Vec<u8>>, Unusable> {
    let shown = || path.display().to_string();
    let unreadable = |error| Unusable::Unreadable { path: shown(), error };
    let file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if let Some(mode) = refused(&about) {
        return Err(Unusable::Open { path: shown(), mode });
    }
    // Room for all: a vector that grows leaves copies behind.
    let room = usize::try_from(about.len().clamp(16 * 1024, LARGEST)).unwrap_or_default() + 1;
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(LARGEST).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Returns what has this path, if a process that opens it, or `reads` it, could wait for ever: a
/// named pipe, or a device, which may be a terminal; `None` if it is a file, or nothing.
#[must_use]
pub fn endless(path: &Path, reads: bool) -> Option<&'static str> {
    #[cfg(unix)]
    if let Ok(about) = path.metadata() {
        use std::os::unix::fs::FileTypeExt as _;
        let kind = about.file_type();
        if kind.is_fifo() {
            return Some("a named pipe");
        }
        return (reads && kind.is_char_device()).then_some("a device");
    }
    let _ = (path, reads);
    None
}

#[cfg(unix)]
fn open_to_others(about: &Metadata) -> Option<u32> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let mode = about.permissions().mode() & 0o7777;
    let process = rustix::process::geteuid().as_raw();
    (about.is_file() && mode & !permitted(about.uid(), process) & 0o077 != 0).then_some(mode)
}

/// What others than the owner may be permitted of a private file. To a process of another user,
/// root can give a file only through its group, as Kubernetes does, or through a list of users, for
/// which the permissions of the group stand, as systemd does for credentials. So the group may read
/// then. A process keeps its own files to itself.
#[cfg(unix)]
fn permitted(owner: u32, process: u32) -> u32 {
    if owner == 0 && process != 0 { 0o040 } else { 0 }
}

#[cfg(not(unix))]
fn open_to_others(_: &Metadata) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_may_never_end_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        for reads in [false, true] {
            assert_eq!(endless(&pipe, reads), Some("a named pipe"));
            assert_eq!(endless(Path::new("/dev/null"), reads), reads.then_some("a device"));
            for ends in [folder.path(), &folder.path().join("none"), Path::new("/etc/passwd")] {
                assert_eq!(endless(ends, reads), None);
            }
        }
    }

    #[test]
    fn root_may_give_a_file_to_the_group_of_another_user() {
        assert_eq!(permitted(0, 1000), 0o040);
        for (owner, process) in [(0, 0), (1000, 1000), (1001, 1000), (1000, 0)] {
            assert_eq!(permitted(owner, process), 0);
        }
    }
}
