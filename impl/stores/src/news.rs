//! The news that a server tells: the record may have changed, or the connection has ended.

use bellwether_core::store::{StoreError, StoreResult};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The end of the task that reads a connection.
pub(crate) struct Teller(watch::Sender<Option<String>>);

/// The end of the store that owns the connection.
pub(crate) struct Hearer(watch::Receiver<Option<String>>);

/// Returns a way from the task of a connection to its store. Several changes that are not heard yet
/// are one.
pub(crate) fn news() -> (Teller, Hearer) {
    let (teller, hearer) = watch::channel(None);
    (Teller(teller), Hearer(hearer))
}

impl Teller {
    /// Tells that the record may have changed.
    pub(crate) fn changed(&self) {
        self.0.send_modify(|_| ());
    }

    /// Tells that the connection has ended, for this reason.
    pub(crate) fn ended(&self, why: String) {
        self.0.send_replace(Some(why));
    }
}

impl Hearer {
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
        let (teller, mut hearer) = news();
        teller.changed();
        teller.changed();
        assert_eq!(hearer.changed().await, Ok(()));
        let later = tokio::time::timeout(std::time::Duration::from_millis(20), hearer.changed());
        assert!(later.await.is_err(), "two changes were told at once");
        teller.ended("shut down".to_owned());
        drop(teller);
        assert_eq!(hearer.changed().await, Err(StoreError::Unreachable("shut down".to_owned())));
        assert!(hearer.changed().await.is_err(), "the task is gone");
    }
}
