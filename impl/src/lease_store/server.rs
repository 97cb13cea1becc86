//! What the adapters of servers share: what a server tells.

use tokio::sync::watch;

use super::{StoreError, StoreResult};

/// What the task of a connection tells: that the server has told of a change, or why it has ended.
pub(super) struct Teller(watch::Sender<Option<String>>);

/// What the store hears of that.
pub(super) struct Hearer(watch::Receiver<Option<String>>);

/// A way from the task of a connection to its store. Several changes that are not heard yet are
/// one.
pub(super) fn news() -> (Teller, Hearer) {
    let (teller, hearer) = watch::channel(None);
    (Teller(teller), Hearer(hearer))
}

impl Teller {
    /// The record may have changed.
    pub(super) fn changed(&self) {
        self.0.send_modify(|_| ());
    }

    /// The connection has ended, for this reason.
    pub(super) fn ended(&self, why: String) {
        self.0.send_replace(Some(why));
    }
}

impl Hearer {
    /// Returns when the record may have changed.
    pub(super) async fn changed(&mut self) -> StoreResult<()> {
        let why = match self.0.changed().await {
            Ok(()) => self.0.borrow_and_update().clone(),
            Err(_) => Some("the connection has ended".to_owned()),
        };
        why.map_or(Ok(()), |why| Err(StoreError::Away(why)))
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
        assert_eq!(hearer.changed().await, Err(StoreError::Away("shut down".to_owned())));
        assert!(hearer.changed().await.is_err(), "the task is gone");
    }
}
