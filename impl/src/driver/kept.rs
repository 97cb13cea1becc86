//! What a node remembers beside the state of its protocol, each in a directory of its own below
//! that of the node.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::storage::{Directory, Owner, Storage as _, StorageError};

/// How long a node that leaves waits for a storage that does not answer. A machine that runs tests
/// may have much else to do.
pub(super) const CLOSED_WITHIN: Duration =
    Duration::from_millis(if cfg!(test) { 10_000 } else { 500 });

/// A value that survives restarts. A clone is the same.
#[derive(Debug)]
pub(super) struct Kept<T>(Arc<Mutex<Option<Directory<T>>>>);

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Debug + Serialize + DeserializeOwned + Send + Sync + 'static> Kept<T> {
    /// Opens the directory with this name below that of a node, and reads what was saved last.
    pub(super) fn open(
        node: &Path,
        name: &str,
        owner: Owner,
    ) -> Result<(Self, Option<T>), StorageError> {
        let mut directory = Directory::open(&node.join(name), owner)?;
        let value = directory.load()?;
        Ok((Self(Arc::new(Mutex::new(Some(directory)))), value))
    }

    /// Whether something can be saved: there is a directory, and it has not failed.
    pub(super) async fn is_open(&self) -> bool {
        self.0.lock().await.is_some()
    }

    /// Returns when the value is durable. It goes on if that is not awaited.
    pub(super) async fn save(&self, value: T) -> Result<(), String> {
        let kept = Arc::clone(&self.0);
        let save = async move {
            let mut kept = kept.lock().await;
            let mut directory = kept.take().ok_or("there is no directory, or it has failed")?;
            let saves = move || (directory.save(&value), directory);
            let (saved, directory) =
                tokio::task::spawn_blocking(saves).await.map_err(|_| "the program ends")?;
            saved.map_err(|error| error.to_string())?;
            *kept = Some(directory);
            Ok(())
        };
        tokio::spawn(save).await.unwrap_or_else(|_| Err("the program ends".to_owned()))
    }

    /// Closes the directory, once what is saved is durable.
    pub(super) async fn close(&self) {
        if let Ok(mut kept) = timeout(CLOSED_WITHIN, self.0.lock()).await {
            *kept = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner {
            cluster: "orders".parse().expect("a name"),
            protocol: "quorum".to_owned(),
            node: "1".parse().expect("an id"),
        }
    }

    #[tokio::test]
    async fn what_is_saved_is_there_when_it_is_opened_again_although_it_was_not_awaited() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = || Kept::<u64>::open(directory.path(), "number", owner());
        let (kept, none) = open().expect("usable");
        assert_eq!(none, None);
        kept.save(7).await.expect("saved");
        let dropped = kept.clone();
        let saving = tokio::spawn(async move { dropped.save(8).await });
        tokio::task::yield_now().await;
        saving.abort();
        // A handle is left, and the directory can be opened all the same.
        kept.close().await;
        assert!(!kept.is_open().await);
        assert!(kept.save(9).await.is_err());
        let (_, value) = open().expect("it is closed");
        assert!(value == Some(7) || value == Some(8), "{value:?}");
    }
}
