//! What the adapters of servers share: passwords from files, what a server tells, and the causes of
//! errors.

use std::error::Error;
use std::path::Path;

use tokio::sync::watch;
use zeroize::Zeroizing;

use super::{StoreError, StoreResult};
use crate::config;

/// What is wrong with a file that a connection needs.
pub(super) fn unusable(error: &config::Error) -> StoreError {
    let remedy = "the file is read again at the next connection".to_owned();
    StoreError::Unfit { problem: error.to_string(), remedy }
}

/// Reads a password from a file that no other user can read: at each connection, so that one that
/// was changed is taken.
pub(super) fn password(file: &Path) -> StoreResult<Zeroizing<String>> {
    let bytes = config::read_private(file).map_err(|error| unusable(&error))?;
    // An editor ends the last line.
    let text = str::from_utf8(&bytes).ok().map(|text| text.trim_end_matches(['\n', '\r']));
    let text = text.filter(|text| !text.is_empty()).ok_or_else(|| StoreError::Unfit {
        problem: format!("{} has no password: one line of UTF-8", file.display()),
        remedy: "the file is read again at the next connection".to_owned(),
    })?;
    Ok(Zeroizing::new(text.to_owned()))
}

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
pub(super) mod tests {
    use std::io;
    use std::os::unix::fs::PermissionsExt as _;

    use tempfile::NamedTempFile;

    use super::*;

    /// A file with a password that only this user can read.
    pub(in crate::lease_store) fn file(text: &str) -> NamedTempFile {
        let file = NamedTempFile::new().expect("a file");
        std::fs::write(&file, text).expect("writable");
        file
    }

    #[test]
    fn a_password_is_one_line_of_a_private_file() {
        let read = |text| password(file(text).path()).map(|password| password.to_string());
        assert_eq!(read("one two \n"), Ok("one two ".to_owned()));
        assert_eq!(read("one"), Ok("one".to_owned()));
        assert!(matches!(read("\n"), Err(StoreError::Unfit { .. })));

        let open = file("Tr0ub4dor");
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&open, mode).expect("ours");
        let Err(error) = password(open.path()) else { panic!("others can read it") };
        let text = error.to_string();
        assert!(text.contains("can be read by others") && !text.contains("Tr0ub4dor"), "{text}");

        let Err(error) = password(Path::new("/nonexistent/password")) else { panic!("no file") };
        assert!(error.to_string().contains("/nonexistent/password"), "{error}");
    }

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
