//! The stores that people already run: each adapter at a real server, which the test starts. What a
//! store has granted lasts when the store is killed, and a store that is stopped is away. One that
//! tells its clients of changes tells of a lease that was given back. And one that a program
//! brings.

mod encrypted;
mod histories;
mod own;
mod pretended;
mod refused;

use std::io::Write as _;
use std::time::Duration;

use bellwether::store::{
    Answer, Claim, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreResult,
};
use bellwether_core::protocol::lease::Token;
use bellwether_stores::address::Files;
use bellwether_stores::connect::connector;
use bellwether_testbed::servers::{Server, Store};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::id;

/// Nothing takes longer.
const LIMIT: Duration = Duration::from_secs(20);

/// For so long it is asked of a store that is stopped.
const WAIT: Duration = Duration::from_millis(300);

/// For so long a store that says nothing has nothing to say.
const SILENCE: Duration = Duration::from_millis(500);

/// Says something that is seen although the test passes.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Whether a store can be tried here. If it cannot, that is said.
fn here(store: Store) -> bool {
    let missing = store.missing();
    if let Some(why) = &missing {
        say(why);
    }
    missing.is_none()
}

/// A server, unless it cannot be tried here, and a runtime for its clients.
fn served(store: Store) -> Option<(Server, Runtime)> {
    here(store).then(|| {
        let server = Server::start(store).expect("it starts");
        (server, Runtime::new().expect("a runtime"))
    })
}

/// What a connection is about.
fn settings(name: &str) -> LeaseSettings {
    LeaseSettings { name: name.to_owned(), ttl: Duration::from_secs(60), limit: LIMIT }
}

/// Returns the first start of the node with this number.
fn holder(number: u16) -> Holder {
    Holder::member(id(number), 1)
}

/// Claims the lease for a client that does not wait.
async fn acquire(store: &mut dyn LeaseStore, holder: &Holder, seen: Token) -> StoreResult<Answer> {
    store.acquire(Claim { holder, seen, waits: false, overdue: None }).await
}

/// Claims the lease for a client that waits, and returns the token.
async fn granted(store: &mut dyn LeaseStore, holder: &Holder, seen: Token) -> Token {
    match store.acquire(Claim { holder, seen, waits: true, overdue: None }).await {
        Ok(Answer::Granted(token)) => token,
        other => panic!("{other:?}"),
    }
}

/// Claims the lease, and returns the record of the holder that has it.
async fn refused(store: &mut dyn LeaseStore, holder: &Holder) -> LeaseRecord {
    match acquire(store, holder, Token::default()).await {
        Ok(Answer::Refused(record)) => record,
        other => panic!("{other:?}"),
    }
}

/// A connection to a server, about one lease.
async fn connected(server: &Server) -> Box<dyn LeaseStore> {
    let connect = connector(&server.address(), &Files::default()).expect("a good address");
    let store = timeout(LIMIT, connect.connect(&settings("stores"))).await.expect("in time");
    store.expect("a connection")
}

#[test]
fn what_sqlite_has_granted_lasts() {
    lasts(Store::Sqlite);
}

#[test]
fn what_postgres_has_granted_lasts() {
    lasts(Store::Postgres);
}

#[test]
fn what_redis_has_granted_lasts() {
    lasts(Store::Redis);
}

#[test]
fn what_etcd_has_granted_lasts() {
    lasts(Store::Etcd);
}

fn lasts(store: Store) {
    let Some((mut server, runtime)) = served(store) else { return };
    let mut before = runtime.block_on(connected(&server));
    runtime.block_on(before.init()).expect("it is made");
    let (first, again) = (holder(1), Holder::member(id(1), 2));
    let mut token = Token::default();
    for seen in [1_000, 1_000_000].map(Token::new) {
        let early = runtime.block_on(acquire(&mut *before, &first, seen));
        assert!(matches!(early, Ok(Answer::Refused(_))), "{early:?}, of a store that may forget");
        token = runtime.block_on(granted(&mut *before, &first, seen));
        assert!(token > seen, "{token}");
    }

    server.kill();
    server.restart().expect("it starts again");
    let mut store = runtime.block_on(connected(&server));
    let record = runtime.block_on(store.read()).expect("an answer");
    assert_eq!((&record.holder, record.token), (&Some(first.clone()), token), "{record:?}");
    for other in [holder(2), again] {
        let record = runtime.block_on(refused(&mut *store, &other));
        assert_eq!((&record.holder, record.token), (&Some(first.clone()), token), "{record:?}");
    }

    server.stop().expect("it can be stopped");
    let away = runtime.block_on(async { timeout(WAIT, store.renew(&first, token)).await });
    assert!(!matches!(away, Ok(Ok(_))), "{away:?}, of a store that is stopped");
    server.cont();
    server.restart().expect("it starts again");
    let mut store = runtime.block_on(connected(&server));
    assert_eq!(runtime.block_on(store.renew(&first, token)), Ok(Answer::Granted(token)));
}

#[test]
fn clients_of_postgres_are_told() {
    tells(Store::Postgres);
}

#[test]
fn clients_of_redis_are_told() {
    tells(Store::Redis);
}

#[test]
fn clients_of_etcd_are_told() {
    tells(Store::Etcd);
}

fn tells(store: Store) {
    let Some((mut server, runtime)) = served(store) else { return };
    let waits = runtime.block_on(async {
        let mut asks = connected(&server).await;
        asks.init().await.expect("it is made");
        hands_over(asks, connected(&server).await).await
    });
    server.kill();
    runtime.block_on(ends(waits));
}

/// One client gives its lease back, and another that waits for it is told. Returns the other.
async fn hands_over(
    mut asks: Box<dyn LeaseStore>,
    mut waits: Box<dyn LeaseStore>,
) -> Box<dyn LeaseStore> {
    assert!(waits.watches(), "nodes that wait need not ask");
    let (first, second) = (holder(1), holder(2));
    let token = granted(&mut *asks, &first, Token::default()).await;
    assert_eq!(asks.renew(&first, token).await, Ok(Answer::Granted(token)));
    let record = waits.read().await.expect("an answer");
    assert_eq!((&record.holder, record.token), (&Some(first.clone()), token), "{record:?}");
    assert_eq!(refused(&mut *waits, &second).await.holder.as_ref(), Some(&first));
    be_silent(&mut *waits).await;

    asks.release(&first, token).await.expect("an answer");
    let told = timeout(LIMIT, waits.changed()).await.expect("in time");
    told.expect("the connection lasts");
    let next = granted(&mut *waits, &second, Token::default()).await;
    assert!(next > token, "{next}");
    be_silent(&mut *waits).await;
    waits
}

/// Hears what is told of what has happened until now.
async fn be_silent(store: &mut dyn LeaseStore) {
    for _ in 0..10 {
        match timeout(SILENCE, store.changed()).await {
            Ok(told) => told.expect("the connection lasts"),
            Err(_) => return,
        }
    }
    panic!("it is told again and again, and nothing changes");
}

/// Waits until the connection to a server that is gone ends.
async fn ends(mut store: Box<dyn LeaseStore>) {
    let ends = async { while store.changed().await.is_ok() {} };
    timeout(LIMIT, ends).await.expect("a server that is gone");
}
