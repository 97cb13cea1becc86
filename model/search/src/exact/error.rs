//! Why there is no search.

use std::io;
use std::path::PathBuf;

/// The reason why there is no search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The system gives no threads; this is its message.
    #[error("{0}")]
    Threads(String),
    /// The files on the disk are not of this search, or the disk refuses.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The processes of a distributed search do not search together.
    #[error(transparent)]
    Apart(Box<dyn std::error::Error + Send + Sync>),
}

/// The error that the folder of a search is not as it must be.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The system refuses.
    #[error("cannot {doing} {}: {why}; give --disk a folder that can be written", path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The error of the system.
        why: io::Error,
    },
    /// The folder has a search already, which was not asked for.
    #[error(
        "there is a search in {} that was interrupted; --resume goes on with it, and another \
         folder begins a new one",
        .0.display()
    )]
    Waiting(PathBuf),
    /// The folder has no search.
    #[error("no search was saved in {}; leave --resume out to begin one", .0.display())]
    Nothing(PathBuf),
    /// The folder has another search.
    #[error(
        "the search in {} is another one: {what}; give the same command as then, or another folder",
        path.display()
    )]
    Other {
        /// The folder that was given.
        path: PathBuf,
        /// The difference between the two searches.
        what: String,
    },
    /// A file is not as it was written.
    #[error("{} is not as it was written: {what}; remove the folder to begin anew", path.display())]
    Torn {
        /// The path of the file.
        path: PathBuf,
        /// The fault of the file.
        what: &'static str,
    },
}
