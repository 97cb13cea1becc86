//! The store of the protocol `lease` where it is no node: a database or a service that people
//! already run.
//!
//! The clients' core ([`protocol::lease`](crate::protocol::lease)) is the same as with a node that
//! stores: it sends what it wants to a node with the id of the store, and gets its answers from
//! there. Here is what stands in that node's place. A [`LeaseStore`] is the port; each adapter is a
//! module with the name of its store.
//!
//! What every adapter promises; `docs/stores.md` says of each how, and where it cannot:
//!
//! - *acquire* is one step in the store: the lease is granted if it is free, has expired, or is the
//!   asker's already, and each grant has a higher token than all before, also after the record was
//!   released;
//! - *renew* and *release* touch the record only if it has the asker and this token;
//! - what was granted lasts for [`Settings::keep`] from the moment at which the store wrote it, by
//!   the store's clock where it has one;
//! - an answer that was lost is no answer: the client asks again, and that is decided by what the
//!   store has, never by what was probably written.
//!
//! [`StoreService`] connects the port with a node: it answers the messages of the core by calls of
//! the port. A [`StoreAddress`] is what a configuration says of a store, and chooses the adapter.

mod address;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(any(feature = "etcd", feature = "kubernetes"))]
mod http_client;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(any(feature = "etcd", feature = "kubernetes", feature = "postgres", feature = "redis"))]
mod secret;
mod serve;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod server;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(all(
    feature = "tls",
    any(feature = "etcd", feature = "kubernetes", feature = "postgres", feature = "redis")
))]
mod tls;
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
mod values;

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use thiserror::Error;

pub use self::address::{Files, Place, StoreAddress, connector, without_password};
pub use self::serve::{STORE, StoreService};
use crate::protocol::NodeId;
use crate::protocol::lease::Token;

/// What to ask where two sides do not understand each other, one of which may speak TLS.
#[cfg(any(feature = "etcd", feature = "kubernetes", feature = "postgres", feature = "redis"))]
const SPEAKS_TLS: &str = "does the server speak TLS at this port?";

/// This problem, with the question whether the server speaks TLS.
#[cfg(any(feature = "etcd", feature = "kubernetes", feature = "postgres", feature = "redis"))]
fn with_tls_asked(problem: &dyn fmt::Display) -> String {
    format!("{problem}; {SPEAKS_TLS}")
}

/// What a store answers to a client that asks for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The lease is the asker's, and this is its token.
    Granted(Token),
    /// It is not the asker's; this node has it, if any has.
    Refused(Option<NodeId>),
}

/// What a store has written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The node that has the lease; `None` if it is free, or has expired.
    pub holder: Option<NodeId>,
    /// The token of the newest grant; 0 if there was none.
    pub token: Token,
    /// How much of the lease is left, where the store can say so.
    pub left: Option<Duration>,
}

/// What an adapter must be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name of the lease: that of the cluster, and of the group in it. At most 64 bytes;
    /// letters, digits, `-`, `_`, `.` and `/`.
    pub name: String,
    /// The time for which the store keeps what it has granted.
    pub keep: Duration,
    /// The longest time that one question to the store may take.
    pub limit: Duration,
}

/// What is wrong with a store, as a sentence for the log and the status: never with a password.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StoreError {
    /// It cannot be reached, or did not answer in time: a new connection may help.
    #[error("{0}")]
    Away(String),
    /// It answers, and what is asked cannot be done: there is no table, or no permission. With what
    /// helps.
    #[error("{problem}; {remedy}")]
    Unfit {
        /// What is wrong.
        problem: String,
        /// What helps.
        remedy: String,
    },
}

/// The result of a question to a store.
pub type StoreResult<T> = Result<T, StoreError>;

/// A store that can grant the lease. One connection, used by one task.
///
/// Each future may be dropped at any moment, as when a question takes too long. The connection is
/// not used again after that (but for [`LeaseStore::changed`]), nor after an error: the next
/// question gets a new one.
pub trait LeaseStore: Send {
    /// Asks for the lease: compare and set, in one step.
    fn acquire(&mut self, client: NodeId) -> BoxFuture<'_, StoreResult<Answer>>;

    /// Extends the lease with this token, if it is still the client's.
    fn renew(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<Answer>>;

    /// Gives back the lease with this token. If it is no longer the client's, nothing happens.
    fn release(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<()>>;

    /// Reads the record, and changes nothing.
    fn read(&mut self) -> BoxFuture<'_, StoreResult<Record>>;

    /// Makes what the store needs, such as a table; if it is there, nothing happens.
    fn init(&mut self) -> BoxFuture<'_, StoreResult<()>>;

    /// Returns whether the store tells its clients of each change of the holder, by
    /// [`LeaseStore::changed`]. Then a client that was refused asks nothing until that is told, or
    /// until [`Record::left`] has run out.
    fn watches(&self) -> bool {
        false
    }

    /// Returns when the record may have changed since the last call: the store tells its clients.
    /// Never returns if the store has no such thing. That the holder has renewed its lease need not
    /// be told.
    ///
    /// This future alone may be dropped at any moment without harm: the connection is used again,
    /// and what has changed meanwhile is told by the next call.
    fn changed(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(std::future::pending())
    }
}

/// A way to a store: connects, as often as it takes.
pub trait Connect: fmt::Debug + Send + Sync {
    /// A new connection. [`Settings::limit`] is kept by the caller.
    fn connect<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> BoxFuture<'a, StoreResult<Box<dyn LeaseStore>>>;

    /// Looks whether what this process needs besides the files that it was given is here, such as
    /// other files. The store is not asked.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unfit`] with what is missing, and what helps.
    fn check(&self) -> StoreResult<()> {
        Ok(())
    }

    /// What `init` does, as text for a person: statements of SQL, or the key.
    fn setup(&self, settings: &Settings) -> String;

    /// What the operator must know of this store, as a sentence for the log at the start: when two
    /// nodes may hold the lease at the same time although every rule is kept.
    fn warning(&self) -> Option<&'static str>;
}

/// The tests of the adapters share these.
#[cfg(test)]
mod tests {
    use tempfile::NamedTempFile;
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    pub(super) fn node(number: u16) -> NodeId {
        NodeId::new(number).expect("not zero")
    }

    pub(super) fn granted(number: u64) -> StoreResult<Answer> {
        Ok(Answer::Granted(Token::new(number)))
    }

    /// With 0, no node has the lease.
    pub(super) fn refused(holder: u16) -> StoreResult<Answer> {
        Ok(Answer::Refused(NodeId::new(holder)))
    }

    /// The problem and the remedy, where a person must do something.
    pub(super) fn unfit<T>(answer: StoreResult<T>) -> String {
        match answer.err() {
            Some(error @ StoreError::Unfit { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    /// The problem, where a new connection may help.
    pub(super) fn away<T>(answer: StoreResult<T>) -> String {
        match answer.err() {
            Some(StoreError::Away(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    /// A file that only this user can read.
    pub(super) fn file(text: &str) -> NamedTempFile {
        let file = NamedTempFile::new().expect("a file");
        std::fs::write(&file, text).expect("writable");
        file
    }

    pub(super) async fn listener() -> (TcpListener, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        (listener, port)
    }

    /// A server at this address hangs up, and then it is gone: in both cases it is away, and the
    /// error tells no password. The password is read from its file at each connection.
    pub(super) async fn hushes(address: impl Fn(u16) -> String) {
        let ((listener, port), password) = (listener().await, file("Tr0ub4dor\n"));
        let files = Files { password: Some(password.path().into()), ..Files::default() };
        let store = connector(&address(port), &files).expect("an address");
        assert!(!format!("{store:?}").contains("Tr0ub4dor"));
        let (keep, limit) = (Duration::from_secs(10), Duration::from_millis(500));
        let settings = Settings { name: "orders".to_owned(), keep, limit };
        let hangs_up = async { drop(listener.accept().await) };
        let (connected, ()) = tokio::join!(store.connect(&settings), hangs_up);
        drop(listener);
        for answer in [connected, store.connect(&settings).await] {
            let why = away(answer);
            assert!(!why.contains("Tr0ub4dor"), "{why}");
        }
        std::fs::write(&password, "").expect("writable");
        unfit(store.connect(&settings).await);
    }

    /// Two clients ask, one after the other, and a store does what it promises. The store grants
    /// the lease three times, each time with the next of these tokens; the record of a lease that
    /// is free has the token `free`.
    pub(super) async fn serves(
        one: &mut Box<dyn LeaseStore>,
        two: &mut Box<dyn LeaseStore>,
        tokens: [u64; 3],
        free: u64,
    ) {
        let ([first, again, _], [older, token, _]) = (tokens, tokens.map(Token::new));
        assert_eq!(one.init().await, Ok(()), "it is there");
        assert_eq!(two.read().await, Ok(Record::default()));
        assert_eq!(one.acquire(node(1)).await, granted(first));
        assert_eq!(two.acquire(node(2)).await, refused(1));
        assert_eq!(two.renew(node(2), older).await, refused(1));
        // A client that starts again, or has lost the answer, gets a new token, and the one before
        // is worth nothing.
        assert_eq!(one.acquire(node(1)).await, granted(again));
        assert_eq!(one.renew(node(1), older).await, refused(0));
        assert_eq!(one.renew(node(1), token).await, granted(again));
        let record = two.read().await.expect("a record");
        assert_eq!((record.holder, record.token), (Some(node(1)), token));
        assert!(record.left.is_some_and(|left| !left.is_zero()), "{record:?}");

        // Neither an older token nor another client gives it back.
        assert_eq!(one.release(node(1), older).await, Ok(()));
        assert_eq!(two.release(node(2), token).await, Ok(()));
        assert_eq!(two.acquire(node(2)).await, refused(1));
        assert_eq!(one.release(node(1), token).await, Ok(()));
        let free = Record { holder: None, token: Token::new(free), left: None };
        assert_eq!(two.read().await, Ok(free));
        assert_eq!(one.renew(node(1), token).await, refused(0));
        assert_eq!(two.acquire(node(2)).await, granted(tokens[2]));
        assert_eq!(one.acquire(node(1)).await, refused(2));
    }

    /// The store tells of a change, or that the connection has ended, and does so soon.
    pub(super) async fn told(store: &mut Box<dyn LeaseStore>) -> StoreResult<()> {
        timeout(Duration::from_secs(30), store.changed()).await.expect("soon")
    }

    pub(super) async fn is_quiet(store: &mut Box<dyn LeaseStore>) -> bool {
        timeout(Duration::from_millis(500), store.changed()).await.is_err()
    }
}
