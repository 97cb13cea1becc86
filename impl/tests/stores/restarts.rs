//! What a store has granted lasts when the store is killed, and a store that is stopped is away.

use std::time::Duration;

use bellwether::NodeId;
use bellwether::lease_store::{Answer, Files, LeaseStore, Settings, connector};
use bellwether_testbed::servers::{Server, Store};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::here;

/// No question takes longer.
const LIMIT: Duration = Duration::from_secs(10);

/// For so long it is asked of a store that is stopped.
const WAIT: Duration = Duration::from_millis(300);

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
    if !here(store) {
        return;
    }
    let mut server = Server::start(store).expect("it starts");
    let runtime = Runtime::new().expect("a runtime");
    let (one, two) = (NodeId::new(1).expect("not zero"), NodeId::new(2).expect("not zero"));

    let mut before = runtime.block_on(connected(&server));
    runtime.block_on(before.init()).expect("it is made");
    let granted = runtime.block_on(before.acquire(one)).expect("an answer");
    let Answer::Granted(token) = granted else { panic!("{granted:?}") };

    server.kill();
    server.restart().expect("it starts again");
    let mut store = runtime.block_on(connected(&server));
    let record = runtime.block_on(store.read()).expect("an answer");
    assert_eq!((record.holder, record.token), (Some(one), token), "{record:?}");
    let refused = runtime.block_on(store.acquire(two)).expect("an answer");
    assert_eq!(refused, Answer::Refused(Some(one)));

    server.stop().expect("it can be stopped");
    let away = runtime.block_on(async { timeout(WAIT, store.renew(one, token)).await });
    assert!(!matches!(away, Ok(Ok(_))), "{away:?}, of a store that is stopped");
    server.cont();
    server.restart().expect("it starts again");
    let mut store = runtime.block_on(connected(&server));
    let renewed = runtime.block_on(store.renew(one, token)).expect("an answer");
    assert_eq!(renewed, Answer::Granted(token));
}

/// A connection to a server, about one lease.
pub(super) async fn connected(server: &Server) -> Box<dyn LeaseStore> {
    let settings =
        Settings { name: "restarts".to_owned(), keep: Duration::from_secs(60), limit: LIMIT };
    let connect = connector(&server.address(), &Files::default()).expect("a good address");
    let store = timeout(LIMIT, connect.connect(&settings)).await.expect("in time");
    store.expect("a connection")
}
