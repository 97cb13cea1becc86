//! What a service that embeds the crate relies on.

use std::time::Duration;

use bellwether::{Config, Election, JoinError, Leadership, NodeId, Role, Timing};
use futures::StreamExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

/// Nodes `1..=size` in this process, on ports that the system chose.
async fn cluster(size: u16) -> Vec<Election> {
    let mut listeners = Vec::new();
    let mut members = Vec::new();
    for node in 1..=size {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        members.push((node, listener.local_addr().expect("an address").to_string()));
        listeners.push(listener);
    }
    let join = |(node, listener)| {
        let config = Config::new("library", node, members.clone()).expect("valid");
        Election::join_on(config, listener).expect("can join")
    };
    (1..).zip(listeners).map(join).collect()
}

async fn wait_for_leader(leadership: &mut watch::Receiver<Leadership>, leader: u16) -> Leadership {
    let wanted = |now: &Leadership| now.leader == NodeId::new(leader);
    let now = timeout(LIMIT, leadership.wait_for(wanted)).await;
    *now.expect("within the limit").expect("takes part")
}

#[tokio::test]
async fn a_node_that_left_leads_no_longer_and_another_takes_over() {
    let mut nodes = cluster(3).await;
    let mut highest = nodes[2].leadership();
    let mut lowest = nodes[0].leadership();
    assert!(wait_for_leader(&mut highest, 3).await.is_self());
    assert!(!wait_for_leader(&mut lowest, 3).await.is_self());

    let address = nodes[2].address();
    nodes.pop().expect("three").leave().await.expect("no storage to fail");
    let last = *highest.borrow();
    assert_eq!((last.role, last.leader, last.reason), (Role::NotStarted, None, None));
    assert!(TcpListener::bind(address).await.is_ok(), "the port is free again");
    wait_for_leader(&mut lowest, 2).await;
}

#[tokio::test]
async fn dropping_an_election_leaves_it() {
    let mut nodes = cluster(2).await;
    let mut highest = nodes[1].leadership();
    let mut lowest = nodes[0].leadership();
    wait_for_leader(&mut lowest, 2).await;
    drop(nodes.pop());
    let ended = async { while highest.changed().await.is_ok() {} };
    timeout(LIMIT, ended).await.expect("within the limit");
    assert_eq!(highest.borrow().leader, None);
    assert!(wait_for_leader(&mut lowest, 1).await.is_self());
}

#[tokio::test]
async fn the_stream_of_changes_ends_with_the_part_in_the_election() {
    let mut nodes = cluster(2).await;
    let highest = nodes.pop().expect("two");
    let mut changes = highest.changes();
    let leads = async { while !changes.next().await.expect("goes on").is_self() {} };
    timeout(LIMIT, leads).await.expect("within the limit");
    highest.leave().await.expect("no storage to fail");
    let rest = timeout(LIMIT, changes.collect::<Vec<_>>()).await.expect("within the limit");
    assert_eq!(rest.last().map(|now| now.leader), Some(None));
}

#[tokio::test]
async fn a_taken_port_is_an_error_that_names_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let members = [(1, address.as_str()), (2, "127.0.0.1:1")];
    let config = Config::new("library", 1, members).expect("valid");
    let error = Election::join(config).await.expect_err("taken");
    assert!(matches!(error, JoinError::Listen { .. }));
    assert!(error.to_string().contains(&address), "{error}");
}

#[tokio::test]
async fn a_peer_that_hangs_up_is_called_again_and_again() {
    let peer = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let own = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let addresses = [&own, &peer].map(|listener| listener.local_addr().expect("an address"));
    let members = (1..).zip(addresses.map(|address| address.to_string()));
    let config = Config::new("library", 1, members).expect("valid");
    let _election = Election::join_on(config, own).expect("can join");
    for _ in 0..5 {
        let call = timeout(LIMIT, peer.accept()).await.expect("within the limit");
        drop(call.expect("a connection"));
    }
}

#[test]
fn a_configuration_that_cannot_be_is_refused() {
    let members = [(1, "a:1"), (2, "b:1")];
    for error in [
        Config::new("", 1, members).expect_err("no name"),
        Config::new("c", 0, members).expect_err("no id"),
        Config::new("c", 3, members).expect_err("not a member"),
        Config::new("c", 1, [(1, "a:1"), (1, "b:1")]).expect_err("one id twice"),
        Config::new("c", 1, [(1, "a:1"), (2, "a:1")]).expect_err("one address twice"),
        Config::new("c", 1, [(1, "a:1")]).expect_err("alone"),
        Config::new("c", 1, members)
            .expect("valid")
            .with_section(Timing { watch: Duration::ZERO, ..Timing::DEFAULT })
            .expect_err("no time-out"),
    ] {
        assert!(!error.to_string().is_empty());
    }
}
