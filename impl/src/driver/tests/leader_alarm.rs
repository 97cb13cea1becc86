//! What nodes say that have no leader, each for another cause; and how little they say of attempts.
//! The core is the quorum bully's.

use futures::FutureExt as _;

use super::commands::leader;
use super::*;
use crate::protocol::Timing;
use crate::protocol::quorum::{Durable, Quorum};
use crate::storage::Memory;
use crate::transport::tests::bind;

/// Three elections take 1.4 s.
const FAST: Timing = Timing {
    round: ms(20),
    lease: ms(100),
    promise: ms(120),
    election: ms(100),
    coordinator: ms(200),
    backoff: ms(40),
    skew: ms(15),
    ..Timing::DEFAULT
};

pub(super) type Ports = Vec<(TcpListener, String)>;

pub(super) async fn ports(count: usize) -> Ports {
    let mut ports = Vec::new();
    for _ in 0..count {
        let (listener, address) = bind().await;
        ports.push((listener, address.to_string()));
    }
    ports
}

fn config(cluster: &str, node: u16, addresses: &[String]) -> config::Config<Quorum> {
    let members: Vec<_> = (1..).zip(addresses).collect();
    let config = config::Config::new(cluster, node, members).expect("valid");
    let plain = config::Security::Plain { anywhere: true };
    let config = config.with_section(FAST).expect("valid").with_security(plain);
    config.with_new_cluster().expect("not all are there")
}

/// The nodes with these clusters, which prepare themselves or not.
fn join(ports: Ports, nodes: &[&str], prepares: bool) -> Vec<Election> {
    let addresses: Vec<_> = ports.iter().map(|(_, address)| address.clone()).collect();
    let join = |((node, &cluster), (listener, _)): ((u16, &&str), (TcpListener, String))| {
        let config = config(cluster, node, &addresses);
        let storage: Box<dyn Storage<Durable>> = Box::new(Memory::default());
        let store: Box<dyn Store<Durable>> = Box::new(SingleStore(storage));
        Election::start(config, Some(listener), Some(store), prepares).expect("it listens")
    };
    (1..).zip(nodes).zip(ports).map(join).collect()
}

/// Node 1 alone among these.
fn alone(listener: TcpListener, addresses: &[String]) -> Election {
    let config = config("orders", 1, addresses);
    Election::join_with(config, listener, Memory::default()).expect("it listens")
}

/// Waits for a problem of the node that is one of these. The node has one when it is without a
/// leader for longer than three elections take.
async fn problem_that(node: &Election, is_one: impl Fn(&str) -> bool) -> String {
    let says = async {
        loop {
            if let Some(problem) = node.handle().status().problem.filter(|problem| is_one(problem))
            {
                return problem;
            }
            tokio::time::sleep(ms(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, says).await.expect("it says so")
}

async fn problem(node: &Election) -> String {
    problem_that(node, |_| true).await
}

#[tokio::test]
async fn a_port_at_which_no_process_listens_is_named_as_refused() {
    let (listener, address) = ports(3).await.remove(0);
    // A process that has a port and does not listen keeps the others from it.
    let others = [(); 2].map(|()| tokio::net::TcpSocket::new_v4().expect("a socket"));
    let [two, three] = others.each_ref().map(|other| {
        other.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        other.local_addr().expect("an address").to_string()
    });
    let addresses = [address, two, three];
    let one = alone(listener, &addresses);
    let said = problem(&one).await;
    names(&said, &["1 of 3 voters", "2 are needed", "refused", "node 2 (", "node 3 ("]);
    names(&said, &[&addresses[1], &addresses[2]]);
    let status = one.handle().status();
    assert!(status.members.iter().all(|member| member.error.is_some() && !member.heard));
    assert!(status.counters.attempts > 0);
    let changes = one.handle().history().since(0);
    assert_eq!(changes.len(), 1, "it has started: {changes:?}");
}

/// The system may say so, or not answer either.
#[tokio::test]
async fn a_name_that_leads_nowhere_is_named() {
    let (listener, address) = ports(3).await.remove(0);
    let addresses = [address, "no-such-host.invalid:7002".into(), "127.0.0.1:1".into()];
    let one = alone(listener, &addresses);
    let said = problem_that(&one, |said| !said.contains("no answer yet")).await;
    names(&said, &["node 2 (no-such-host.invalid:7002): ", "node 3 (127.0.0.1:1): "]);
}

#[tokio::test]
async fn a_process_that_accepts_connections_and_says_nothing_is_named_as_silent() {
    let mut ports = ports(3).await;
    let addresses: Vec<_> = ports.iter().map(|(_, address)| address.clone()).collect();
    let (listener, _) = ports.remove(0);
    let one = alone(listener, &addresses);
    let silent = |at: usize| format!("node {} ({}): no answer", at + 1, addresses[at]);
    names(&problem(&one).await, &["1 of 3 voters", &silent(1), &silent(2)]);
}

#[tokio::test]
async fn a_node_of_another_cluster_is_named_with_what_it_says() {
    let nodes = join(ports(3).await, &["orders", "invoices", "invoices"], false);
    let said = problem(&nodes[0]).await;
    names(&said, &["node 2 (", "it refuses this node: it belongs to cluster `invoices`"]);
}

#[tokio::test]
async fn frozen_nodes_say_so_and_are_suspected_by_the_others() {
    let nodes = join(ports(3).await, &["orders"; 3], false);
    for node in &nodes[1..] {
        node.handle().step_down(LIMIT * 10).await.expect("it can");
    }
    nodes[0].handle().set_healthy(false).await.expect("it can");
    let unfit = "this node is not fit to lead: its program says so";
    assert_eq!(problem(&nodes[0]).await, unfit, "at once");
    let said = problem_that(&nodes[0], |said| said.contains("3 of 3 voters")).await;
    names(&said, &["not fit to lead", "others may be kept from leading"]);
    let said = problem(&nodes[2]).await;
    names(&said, &["this node was asked not to lead", "does not stand for election for another"]);
    assert_eq!(nodes[2].handle().status().leader, None);
    nodes[0].handle().set_healthy(true).await.expect("it can");
    let mut leadership = nodes[2].leadership();
    let leads = leadership.wait_for(|now| now.leader == Some(id(1)));
    assert!(tokio::time::timeout(LIMIT, leads).await.expect("in time").is_some());
    assert_eq!(nodes[2].handle().status().problem, None);
}

#[tokio::test]
async fn a_node_that_could_not_prepare_itself_says_so() {
    let mut nodes = Vec::new();
    for node in join(ports(3).await, &["orders"; 3], true) {
        let handle = node.handle();
        nodes.push(node);
        tokio::spawn(async move {
            while let Some(approach) = handle.approach().await {
                approach.refuse(LIMIT * 10).await;
            }
        });
    }
    let failed = "`before_leading` has failed, and does not stand for election for another";
    let said = problem_that(&nodes[2], |said| said.contains(failed)).await;
    names(&said, &["3 of 3 voters", "this node was elected"]);
}

/// Ten minutes in which no other node answers.
#[tokio::test(start_paused = true)]
async fn ten_minutes_without_a_majority_are_one_change_and_many_attempts() {
    let mut leader = leader().await;
    let mut reader = leader.leadership.clone();
    let before = reader.seen();
    let (mut woken, mut roles) = (0, Vec::new());
    for _ in 0..3_000 {
        leader.clock.sleep(ms(200));
        leader.actor.step(Input::Wake).await.expect("it is in memory");
        leader.actor.save_all().await.expect("it is in memory");
        woken += usize::from(reader.changed().now_or_never().is_some());
        roles.push(reader.now().role);
        tokio::task::yield_now().await;
    }
    let changes = leader.actor.publisher.history.since(before.seq);
    let told: Vec<_> = changes.iter().map(|change| (change.leader, change.reason.name())).collect();
    assert_eq!(told, [(None, "lease_over")]);
    assert_eq!((woken, reader.now().seq), (1, before.seq + 1));
    let attempts = reader.now().attempts - before.attempts;
    assert!(attempts > 500, "it goes on: {attempts}");
    assert!(roles.contains(&Role::Candidate) && roles.contains(&Role::Follower), "all are seen");
}
