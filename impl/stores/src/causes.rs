//! What an error says, in one line: for a log, a status or a person.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// How the end of a connection is told. Others do it by a link to their own manual.
const ENDED: &str = "the other side closed the connection";

/// Returns the text of an error with its causes, in one line.
#[must_use]
pub fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = Some(error);
    while let Some(cause) = next {
        // What several share is an error as well, and hides which one.
        let shared = cause.downcast_ref::<Arc<dyn Error + Send + Sync>>();
        let cause = shared.map_or(cause, |shared| &**shared);
        let said = cause.to_string();
        // Some errors show their cause themselves.
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        let io = cause.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == ErrorKind::UnexpectedEof) {
            text = text.replace(&said, ENDED);
        }
        next = cause.source();
    }
    text.replace('\n', "; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors that leave their cause to those who ask for it, or show it.
    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("no answer")]
        Silent(#[source] io::Error),
        #[error("io: {0}")]
        Shown(#[source] io::Error),
        #[error("{0}")]
        Shared(#[source] Arc<dyn Error + Send + Sync>),
    }

    #[test]
    fn causes_are_told_once() {
        let inner = || io::Error::other("it is raining\nin the hall");
        assert_eq!(causes(&inner()), "it is raining; in the hall");
        assert_eq!(causes(&Outer::Silent(inner())), "no answer: it is raining; in the hall");
        assert_eq!(causes(&Outer::Shown(inner())), "io: it is raining; in the hall");
    }

    #[test]
    fn the_end_of_a_connection_is_told_without_the_manual_of_another_program() {
        let said = "peer closed connection without TLS close_notify: https://docs.rs/rustls";
        let end = || io::Error::new(ErrorKind::UnexpectedEof, said);
        assert_eq!(causes(&end()), ENDED);
        assert_eq!(causes(&Outer::Silent(end())), format!("no answer: {ENDED}"));
        assert_eq!(causes(&Outer::Shown(end())), format!("io: {ENDED}"));
        assert_eq!(causes(&Outer::Shared(Arc::new(end()))), ENDED);
    }
}
