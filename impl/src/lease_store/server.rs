//! What the adapters of servers share: what a server tells, and the causes of errors.

use std::error::Error;

use tokio::sync::watch;

use super::{StoreError, StoreResult};

/// The text of an error with its causes, in one line.
pub(super) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        // Some errors show their cause themselves.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text.replace('\n', "; ")
}

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
    use std::io;

    use super::*;

    #[test]
    fn causes_are_told_once() {
        let inner = io::Error::other("it is raining\nin the hall");
        assert_eq!(causes(&inner), "it is raining; in the hall");
        let outer = StoreError::Away("no way".to_owned());
        assert_eq!(causes(&outer), "no way");
    }

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
