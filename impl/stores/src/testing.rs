//! The parts that the tests of the adapters share.

use std::time::Duration;

use bellwether_core::protocol::lease::Token;
use bellwether_core::store::{
    Answer, Claim, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreError, StoreResult,
};
use tempfile::NamedTempFile;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::address::Files;
use crate::connect::connector;

/// Returns the first start of the node with this number.
pub(crate) fn holder(number: u16) -> Holder {
    Holder::new(number.to_string(), 1).expect("a good name")
}

/// Claims the lease for a client that has seen no token.
pub(crate) async fn acquire(
    store: &mut Box<dyn LeaseStore>,
    holder: &Holder,
) -> StoreResult<Answer> {
    store.acquire(Claim { holder, seen: Token::default(), waits: false, overdue: None }).await
}

pub(crate) fn granted(number: u64) -> StoreResult<Answer> {
    Ok(Answer::Granted(Token::new(number)))
}

/// Returns the record of a refusal.
pub(crate) fn refused(answer: StoreResult<Answer>) -> LeaseRecord {
    match answer {
        Ok(Answer::Refused(record)) => record,
        other => panic!("{other:?}"),
    }
}

/// Returns the problem and the remedy, where a person must do something.
pub(crate) fn unfit<T>(answer: StoreResult<T>) -> String {
    match answer.err() {
        Some(error @ StoreError::Misconfigured { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Returns the problem, where a new connection may help.
pub(crate) fn away<T>(answer: StoreResult<T>) -> String {
    match answer.err() {
        Some(StoreError::Unreachable(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

/// Returns a file that only this user can read.
pub(crate) fn file(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a file");
    std::fs::write(&file, text).expect("writable");
    file
}

pub(crate) async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

/// Checks that a server that hangs up, and a server that is gone, cannot be reached, and that no
/// error tells the password. The adapter reads the password from its file at each connection.
pub(crate) async fn hushes(address: impl Fn(u16) -> String) {
    let ((listener, port), password) = (listener().await, file("Tr0ub4dor\n"));
    let files = Files { password: Some(password.path().into()), ..Files::default() };
    let store = connector(&address(port), &files).expect("an address");
    assert!(!format!("{store:?}").contains("Tr0ub4dor"));
    let (keep, limit) = (Duration::from_secs(10), Duration::from_millis(500));
    let settings = LeaseSettings { name: "orders".to_owned(), ttl: keep, limit };
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

/// Two clients ask, one after the other, and the store does what it promises. The store grants the
/// lease three times to clients that have seen no token, each time with the next of these tokens;
/// the record of the lease that is free then has the token `free`. In the end the second client
/// holds the lease.
pub(crate) async fn serves(
    one: &mut Box<dyn LeaseStore>,
    two: &mut Box<dyn LeaseStore>,
    tokens: [u64; 3],
    free: u64,
) {
    let ([first, again, last], [older, token, newest]) = (tokens, tokens.map(Token::new));
    let (own, other) = (holder(1), holder(2));
    let twin = Holder::new(own.name(), 2).expect("a good name");
    assert_eq!(one.init().await, Ok(()), "it is there");
    assert_eq!(two.read().await, Ok(LeaseRecord::default()));
    let seen = Token::new(1_000_000);
    let claim = Claim { holder: &other, seen, waits: false, overdue: None };
    assert_eq!(
        refused(two.acquire(claim).await),
        LeaseRecord::default(),
        "it may have lost a record"
    );
    assert_eq!(acquire(one, &own).await, granted(first));
    assert_eq!(refused(acquire(two, &other).await).holder.as_ref(), Some(&own));
    assert_eq!(refused(two.renew(&other, older).await).holder.as_ref(), Some(&own));
    // A client that has lost the answer gets a new token, and the token before is worth nothing.
    assert_eq!(acquire(one, &own).await, granted(again));
    refused(one.renew(&own, older).await);
    assert_eq!(one.renew(&own, token).await, granted(again));
    // Another start of the client is another client.
    let record = refused(acquire(two, &twin).await);
    assert_eq!((record.holder.as_ref(), record.token), (Some(&own), token));
    refused(two.renew(&twin, token).await);
    let record = two.read().await.expect("a record");
    assert_eq!((record.holder.as_ref(), record.token), (Some(&own), token));
    assert!(record.left.is_some_and(|left| !left.is_zero()), "{record:?}");
    assert_eq!(record.doubt, None);

    // Neither an older token nor another client gives the lease back.
    assert_eq!(one.release(&own, older).await, Ok(()));
    for client in [&other, &twin] {
        assert_eq!(two.release(client, token).await, Ok(()));
    }
    assert_eq!(refused(acquire(two, &other).await).holder.as_ref(), Some(&own));
    assert_eq!(one.release(&own, token).await, Ok(()));
    let record = LeaseRecord { token: Token::new(free), ..LeaseRecord::default() };
    assert_eq!(two.read().await, Ok(record));
    assert_eq!(refused(one.renew(&own, token).await).holder, None);
    assert_eq!(acquire(two, &other).await, granted(last));
    assert_eq!(refused(acquire(one, &own).await).holder.as_ref(), Some(&other));

    // No token goes back for a client that has seen a higher one. The store may have forgotten that
    // grant, so it grants the lease only to a client that waits.
    assert_eq!(refused(two.acquire(claim).await).holder.as_ref(), Some(&other), "its older lease");
    assert_eq!(two.release(&other, newest).await, Ok(()));
    let record = LeaseRecord { token: newest, ..LeaseRecord::default() };
    assert_eq!(refused(two.acquire(claim).await), record);
    let claim = Claim { waits: true, ..claim };
    assert_eq!(two.acquire(claim).await, granted(seen.get() + 1));
    assert_eq!(one.read().await.expect("a record").token, Token::new(seen.get() + 1));
}

/// The store has a record of the first client that the store never ends. The second client gets the
/// lease by the version of that record, and by nothing else.
pub(crate) async fn ends_what_is_doubted(store: &mut Box<dyn LeaseStore>) {
    let (own, other) = (holder(1), holder(2));
    let record = store.read().await.expect("a record");
    assert_eq!(record.holder.as_ref(), Some(&own));
    let version = record.doubt.expect("a doubt");
    for overdue in [None, Some("another")] {
        let claim = Claim { holder: &other, seen: Token::default(), waits: false, overdue };
        let refused = refused(store.acquire(claim).await);
        assert_eq!(refused.holder.as_ref(), Some(&own), "{overdue:?}");
        assert_eq!(refused.doubt.as_ref(), Some(&version), "{overdue:?}");
    }
    let (seen, overdue) = (Token::default(), Some(version.as_str()));
    let claim = Claim { holder: &other, seen, waits: false, overdue };
    assert_eq!(store.acquire(claim).await, granted(record.token.get() + 1));
    let record = store.read().await.expect("a record");
    assert_eq!((record.holder.as_ref(), record.doubt), (Some(&other), None));
}

/// The store tells of a change, or that the connection has ended, and does so soon.
pub(crate) async fn told(store: &mut Box<dyn LeaseStore>) -> StoreResult<()> {
    timeout(Duration::from_secs(30), store.changed()).await.expect("soon")
}

pub(crate) async fn is_quiet(store: &mut Box<dyn LeaseStore>) -> bool {
    timeout(Duration::from_millis(500), store.changed()).await.is_err()
}
