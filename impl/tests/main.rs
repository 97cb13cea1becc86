//! All tests of the crate from the outside, in one program.

mod groups;
mod library;
mod members;
mod persistence;
mod rivals;
mod standing;
mod stores;

use std::time::Duration;

use bellwether::{Config, Election, JoinError, NodeId, Timing};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::time::{sleep, timeout};

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(60);

/// No leader loses its lease because the machine has much to do.
const PATIENT: Timing = Timing {
    round: Duration::from_millis(400),
    lease: Duration::from_millis(3_000),
    promise: Duration::from_millis(3_500),
    ..Timing::DEFAULT
};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// A port that the system chose, and its address.
async fn port() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

/// So many ports, and the members that listen there: 1, 2, and so on.
async fn ports(size: u16) -> (Vec<TcpListener>, Vec<(u16, String)>) {
    let (mut listeners, mut members) = (Vec::new(), Vec::new());
    for node in 1..=size {
        let (listener, address) = port().await;
        listeners.push(listener);
        members.push((node, address));
    }
    (listeners, members)
}

/// Listens at an address that was in use. For a moment, a process that another test has just forked
/// has the listener open as well.
async fn listen_again(address: impl ToSocketAddrs + Copy) -> TcpListener {
    let listens = async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(LIMIT, listens).await.expect("the port is free")
}

/// Joins, once the port is free.
async fn join(config: &Config) -> Election {
    let joins = async {
        loop {
            match Election::join(config.clone()).await {
                Err(JoinError::Listen { .. }) => sleep(Duration::from_millis(10)).await,
                joined => break joined.expect("it can join"),
            }
        }
    };
    timeout(LIMIT, joins).await.expect("its port is free")
}

/// Looks until there is something.
async fn find<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let finds = async {
        loop {
            match look() {
                Some(found) => break found,
                None => sleep(Duration::from_millis(5)).await,
            }
        }
    };
    timeout(LIMIT, finds).await.unwrap_or_else(|_| panic!("not within the limit: {what}"))
}

/// Waits until it is so.
async fn until(what: &str, mut done: impl FnMut() -> bool) {
    find(what, || done().then_some(())).await;
}

/// Waits until all of these nodes take one of them for the leader, and returns its place.
async fn leader(nodes: &[Election]) -> usize {
    let look = || {
        let seen = nodes.first()?.leadership().now().leader?;
        let agrees = |node: &Election| node.leadership().now().leader == Some(seen);
        let place = nodes.iter().position(|node| node.leadership().now().node == seen);
        place.filter(|_| nodes.iter().all(agrees))
    };
    find("all follow one of them", look).await
}
