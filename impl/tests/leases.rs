//! Leases and promises that differ from node to node: never two valid leases at a time.

use std::time::Duration;

use bellwether::status::Link;
use bellwether::storage::Memory;
use bellwether::{Config, Election, Guard, NodeId, Timing};
use bellwether_testbed::relay::{Gate, Relay};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

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
    let relay = |at: usize| Relay::start(&Handle::current(), own[at].port()).expect("a relay");
    let relays = [0, 1, 2].map(relay);
    let here = [own[0], own[1], relays[2].address()];
    let there = [relays[0].address(), relays[1].address(), own[2]];
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
    let says_why = async {
        while !refused() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let refused = timeout(LIMIT, says_why).await.is_ok();
    relays.iter().for_each(|relay| relay.set(Gate::Reset));
    wait_until("one of the others leads", || leads(&one) || leads(&two)).await;
    assert!(!leads(&three), "two valid leases: of node 3, and of one of the others");
    assert!(refused, "node 3 says why it has no part");
}
