//! A store that tells its clients of changes tells of a lease that was given back, and a connection
//! to a server that is gone ends.

use std::time::Duration;

use bellwether::NodeId;
use bellwether::lease_store::{Answer, LeaseStore};
use bellwether_testbed::servers::{Server, Store};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::here;
use super::restarts::connected;

/// Nothing takes longer.
const LIMIT: Duration = Duration::from_secs(20);

/// For so long a store that says nothing has nothing to say.
const SILENCE: Duration = Duration::from_millis(500);

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
    if !here(store) {
        return;
    }
    let mut server = Server::start(store).expect("it starts");
    let runtime = Runtime::new().expect("a runtime");
    let (one, two) = (NodeId::new(1).expect("not zero"), NodeId::new(2).expect("not zero"));
    let mut waits = runtime.block_on(async {
        let mut asks = connected(&server).await;
        asks.init().await.expect("it is made");
        let mut waits = connected(&server).await;
        assert!(waits.watches(), "nodes that wait need not ask");
        let granted = asks.acquire(one).await.expect("an answer");
        let Answer::Granted(token) = granted else { panic!("{granted:?}") };
        let refused = waits.acquire(two).await.expect("an answer");
        assert_eq!(refused, Answer::Refused(Some(one)));
        be_silent(&mut *waits).await;

        asks.release(one, token).await.expect("an answer");
        let told = timeout(LIMIT, waits.changed()).await.expect("in time");
        told.expect("the connection lasts");
        let granted = waits.acquire(two).await.expect("an answer");
        assert!(matches!(granted, Answer::Granted(_)), "{granted:?}");
        be_silent(&mut *waits).await;
        waits
    });

    server.kill();
    let ends = async { while waits.changed().await.is_ok() {} };
    runtime.block_on(async { timeout(LIMIT, ends).await }).expect("a server that is gone");
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
