//! The news that a server tells: the record may have changed, or the connection has ended.

use bellwether_core::store::{StoreError, StoreResult};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The end of the task that reads a connection.
pub(crate) struct ChangeSender(watch::Sender<Option<String>>);

/// The end of the store that owns the connection.
pub(crate) struct ChangeReceiver(watch::Receiver<Option<String>>);

/// Returns a way from the task of a connection to its store. Several changes that are not heard yet
/// are one.
pub(crate) fn change_channel() -> (ChangeSender, ChangeReceiver) {
    let (sender, receiver) = watch::channel(None);
    (ChangeSender(sender), ChangeReceiver(receiver))
}

impl ChangeSender {
    /// Tells that the record may have changed.
    pub(crate) fn changed(&self) {
        self.0.send_modify(|_| ());
    }

    /// Tells that the connection has ended, for this reason.
    pub(crate) fn ended(&self, why: String) {
        self.0.send_replace(Some(why));
    }
}

impl ChangeReceiver {
    /// Returns when the record may have changed.
    pub(crate) async fn changed(&mut self) -> StoreResult<()> {
        let why = match self.0.changed().await {
            Ok(()) => self.0.borrow_and_update().clone(),
            Err(_) => Some("the connection has ended".to_owned()),
        };
        why.map_or(Ok(()), |why| Err(StoreError::Unreachable(why)))
    }
}

/// Waits until a moment, if there is one.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_are_heard_once_and_the_end_with_its_reason() {
        let (sender, mut receiver) = change_channel();
        sender.changed();
        sender.changed();
        assert_eq!(receiver.changed().await, Ok(()));
        let later = tokio::time::timeout(std::time::Duration::from_millis(20), receiver.changed());
        assert!(later.await.is_err(), "two changes were told at once");
        sender.ended("shut down".to_owned());
        drop(sender);
        assert_eq!(receiver.changed().await, Err(StoreError::Unreachable("shut down".to_owned())));
        assert!(receiver.changed().await.is_err(), "the task is gone");
    }
}
