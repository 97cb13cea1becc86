//! What can be wrong with a storage, each with the place and the remedy.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why a node cannot rely on its storage.
#[derive(Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The directory cannot be used at all.
    #[error(
        "cannot use the storage directory {path}: {cause}; {remedy}",
        path = path.display(), remedy = remedy(cause.kind())
    )]
    Directory {
        /// The path of the directory.
        path: PathBuf,
        /// The error that the system reports.
        cause: std::io::Error,
    },
    /// Another process uses the directory.
    #[error(
        "the storage directory {path} is in use by another process: stop that process, or give \
         this node a directory of its own",
        path = path.display()
    )]
    Locked {
        /// The path of the directory.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {cause}; {remedy}", path = path.display(),
        remedy = remedy(cause.kind()))]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error that the system reports.
        cause: std::io::Error,
    },
    /// A file cannot be written, or the system does not say that it is on disk.
    #[error(
        "cannot make the node's state durable in {path}: {cause}; {remedy}",
        path = path.display(), remedy = remedy(cause.kind())
    )]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error that the system reports.
        cause: std::io::Error,
    },
    /// The directory has a file with the name of a slot that is none.
    #[error(
        "{path} is not a file of a bellwether storage: move it away, or use another directory",
        path = path.display()
    )]
    NotASlot {
        /// The path of the file.
        path: PathBuf,
    },
    /// A later release has written the file.
    #[error(
        "{path} has version {theirs} of the storage format, this release reads version {ours}: run \
         the newer release",
        path = path.display()
    )]
    Newer {
        /// The path of the file.
        path: PathBuf,
        /// The version of the file.
        theirs: u16,
        /// The version of this release.
        ours: u16,
    },
    /// The storage is that of another node, or another protocol's.
    #[error(
        "{path} belongs to {what} `{theirs}`, and this is {what} `{ours}`: give every node and \
         protocol a directory of its own (`storage.directory` may contain {{node}} and \
         {{protocol}})",
        path = path.display()
    )]
    Foreign {
        /// The path of the file.
        path: PathBuf,
        /// The part that is different: `cluster`, `protocol` or `node`.
        what: &'static str,
        /// The cluster, protocol or node to which the storage belongs.
        theirs: String,
        /// The cluster, protocol or node to which the storage should belong.
        ours: String,
    },
    /// No slot has the last state.
    #[error(
        "the storage in {path} is damaged (slot 0: {first}; slot 1: {second}): restore the \
         directory from a copy that is not older than the node's last start, or give the node \
         another id and an empty directory; with quorum the same id will do; with another \
         protocol, a node with the same id would use numbers again that it has used before",
        path = path.display()
    )]
    Damaged {
        /// The path of the directory.
        path: PathBuf,
        /// The damage of the first slot.
        first: Damage,
        /// The damage of the second slot.
        second: Damage,
    },
    /// The bytes are as they were written, and are not a state of this protocol.
    #[error(
        "{path} does not hold a state that this release understands: run the release that wrote it",
        path = path.display()
    )]
    Unintelligible {
        /// The path of the file.
        path: PathBuf,
    },
    /// The state cannot be written as bytes, or needs too many.
    #[error("the node's state is too large for the storage: {limit} bytes are the most")]
    TooLarge {
        /// The largest number of bytes that would do.
        limit: usize,
    },
    /// The protocol has durable state, and the node has no storage.
    #[error("the node has no storage, and its protocol must remember things")]
    Missing,
    /// The state of another group was written at the same time, and that has failed.
    #[error("{problem}")]
    Shared {
        /// The error, as it was told of the other group.
        problem: String,
    },
    /// The storage did not say whether it succeeded.
    #[error("the storage panicked: the log says why")]
    Panicked,
}

/// The damage of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file is not there.
    Missing,
    /// The file ends too early.
    Truncated,
    /// The bytes are not those that were written.
    Checksum,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Missing => "missing",
            Self::Truncated => "truncated",
            Self::Checksum => "wrong checksum",
        })
    }
}

/// What a person can do about an error of the system.
fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied => "make it readable and writable for the user of this process",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only: use another, or remount it",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "name a directory, or a place where one can be made"
        }
        _ => "check the directory and the disk",
    }
}
