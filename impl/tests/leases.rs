//! Leases and promises that differ from node to node: never two valid leases at a time.

use std::net::SocketAddr;
use std::time::Duration;

use bellwether::status::Link;
use bellwether::storage::Memory;
use bellwether::{Config, Election, Guard, NodeId, Timing};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

/// Passes connections on to an address, until it is dropped.
struct Relay(SocketAddr, JoinHandle<()>);

impl Relay {
    async fn open(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut from, _)) = listener.accept().await {
                connections.spawn(async move {
                    if let Ok(mut to) = TcpStream::connect(to).await {
                        let _ = copy_bidirectional(&mut from, &mut to).await;
                    }
                });
            }
        });
        Self(address, task)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.1.abort();
    }
}

async fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LIMIT, wait).await.unwrap_or_else(|_| panic!("not within the limit: {what}"));
}

/// Node 3 has longer leases than the promises of the others last. If it led, and were cut off, the
/// others would choose a new leader while its lease lasts.
#[tokio::test]
async fn a_node_whose_lease_outlasts_the_promises_of_the_others_does_not_lead() {
    let mut listeners = Vec::new();
    let mut own = Vec::new();
    for _ in 1..=3 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        own.push(listener.local_addr().expect("an address"));
        listeners.push(listener);
    }
    // Between node 3 and the others.
    let relays = [Relay::open(own[0]).await, Relay::open(own[1]).await, Relay::open(own[2]).await];
    let here = [own[0], own[1], relays[2].0];
    let there = [relays[0].0, relays[1].0, own[2]];
    let long = Timing {
        lease: Duration::from_secs(4),
        promise: Duration::from_secs(5),
        ..Timing::DEFAULT
    };
    let [one, two, three] =
        [(1, here, Timing::DEFAULT), (2, here, Timing::DEFAULT), (3, there, long)].map(
            |(node, addresses, timing)| {
                let members = (1..).zip(addresses.map(|address| address.to_string()));
                let config = Config::new("leases", node, members).expect("valid");
                let config = config.with_section(timing).expect("valid");
                // Node 3 may be refused from the start.
                let config = config.with_new_cluster().expect("they wait for all otherwise");
                let listener = listeners.remove(0);
                Election::join_with(config, listener, Memory::default()).expect("it can join")
            },
        );
    let leads = |election: &Election| election.guard().as_ref().is_some_and(Guard::is_valid_now);
    wait_until("node 2 leads", || leads(&two)).await;
    let follows = || three.leadership().now().leader == NodeId::new(2);
    let refused = || three.status().members.iter().all(|member| member.link == Link::Refused);
    wait_until("node 3 follows it, or is refused", || follows() || refused()).await;

    let _ = two.transfer(NodeId::new(3).expect("not zero")).await;
    wait_until("one leads", || [&one, &two, &three].into_iter().any(leads)).await;
    let refused = refused();
    drop(relays);
    wait_until("one of the others leads", || leads(&one) || leads(&two)).await;
    assert!(!leads(&three), "two valid leases: of node 3, and of one of the others");
    assert!(refused, "node 3 says why it has no part");
}
