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

use bellwether::lease_store::{Answer, Files, LeaseStore, Settings, connector};
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
fn settings(name: &str) -> Settings {
    Settings { name: name.to_owned(), keep: Duration::from_secs(60), limit: LIMIT }
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
    let granted = runtime.block_on(before.acquire(id(1)));
    let Ok(Answer::Granted(token)) = granted else { panic!("{granted:?}") };

    server.kill();
    server.restart().expect("it starts again");
    let mut store = runtime.block_on(connected(&server));
    let record = runtime.block_on(store.read()).expect("an answer");
    assert_eq!((record.holder, record.token), (Some(id(1)), token), "{record:?}");
    let refused = runtime.block_on(store.acquire(id(2)));
    assert_eq!(refused, Ok(Answer::Refused(Some(id(1)))));

    server.stop().expect("it can be stopped");
    let away = runtime.block_on(async { timeout(WAIT, store.renew(id(1), token)).await });
    assert!(!matches!(away, Ok(Ok(_))), "{away:?}, of a store that is stopped");
    server.cont();
    server.restart().expect("it starts again");
    let mut store = runtime.block_on(connected(&server));
    assert_eq!(runtime.block_on(store.renew(id(1), token)), Ok(Answer::Granted(token)));
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
    let granted = asks.acquire(id(1)).await;
    let Ok(Answer::Granted(token)) = granted else { panic!("{granted:?}") };
    assert_eq!(asks.renew(id(1), token).await, Ok(Answer::Granted(token)));
    let record = waits.read().await.expect("an answer");
    assert_eq!((record.holder, record.token), (Some(id(1)), token), "{record:?}");
    assert_eq!(waits.acquire(id(2)).await, Ok(Answer::Refused(Some(id(1)))));
    be_silent(&mut *waits).await;

    asks.release(id(1), token).await.expect("an answer");
    let told = timeout(LIMIT, waits.changed()).await.expect("in time");
    told.expect("the connection lasts");
    let next = waits.acquire(id(2)).await;
    assert!(matches!(next, Ok(Answer::Granted(higher)) if higher > token), "{next:?}");
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
