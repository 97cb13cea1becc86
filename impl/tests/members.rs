//! The members of a cluster are changed by a request to its leader, in a program that embeds nodes.

use std::time::Duration;

use bellwether::config::{MemberChange, MemberList};
use bellwether::protocol::bully::{self, Bully};
use bellwether::{Config, Election, JoinError, MembersError, NodeId, RequestError};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::processes::common::free_port;

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// Nodes with directories, each with the configuration that it was given at first.
struct Cluster {
    addresses: Vec<String>,
    directory: tempfile::TempDir,
    running: Vec<(Config, Election)>,
}

impl Cluster {
    /// Nodes 1 to 3, and addresses for a few more.
    async fn new() -> Self {
        let addresses = (0..6).map(|_| format!("127.0.0.1:{}", free_port())).collect();
        let directory = tempfile::tempdir().expect("a directory");
        let mut cluster = Self { addresses, directory, running: Vec::new() };
        for node in 1..=3 {
            let config = cluster.config(node);
            cluster.start(config).await;
        }
        cluster
    }

    /// The configuration that is written for three nodes.
    fn config(&self, node: u16) -> Config {
        let members = (1..).zip(&self.addresses[..3]);
        let config = Config::new("members", node, members).expect("valid");
        config.with_directory(self.directory.path().join(node.to_string()))
    }

    /// The configuration of a new node, from a list.
    fn newcomer(&self, node: u16, list: &MemberList) -> Config {
        let members: Vec<_> =
            list.members.iter().map(|(id, address)| (id.get(), address.as_str())).collect();
        let config = Config::new("members", node, members).expect("valid");
        let config = config.with_list(list.clone()).expect("it is a member");
        config.with_directory(self.directory.path().join(node.to_string()))
    }

    async fn start(&mut self, config: Config) {
        // For a moment, a process that another test has just forked has the listener open as well.
        let joins = async {
            loop {
                match Election::join(config.clone()).await {
                    Err(JoinError::Listen { .. }) => sleep(Duration::from_millis(10)).await,
                    joined => return joined.expect("it can join"),
                }
            }
        };
        let election = timeout(LIMIT, joins).await.expect("its port is free");
        self.running.push((config, election));
    }

    async fn stop(&mut self, node: u16) -> Config {
        let at = self.running.iter().position(|(config, _)| config.node() == id(node));
        let (config, election) = self.running.remove(at.expect("it runs"));
        election.leave().await.expect("it leaves");
        config
    }

    fn node(&self, node: u16) -> &Election {
        let found = self.running.iter().find(|(config, _)| config.node() == id(node));
        &found.expect("it runs").1
    }

    /// Waits until all that run follow one of them with this list.
    async fn leader(&self, config_epoch: u64) -> u16 {
        let agree = async {
            loop {
                let all: Vec<_> = self.running.iter().map(|(_, node)| node.status()).collect();
                let leader = all[0].leader;
                let same = |status: &bellwether::status::StatusReport| {
                    status.leader == leader && status.config_epoch == config_epoch
                };
                if let Some(leader) = leader.filter(|_| all.iter().all(same)) {
                    return leader.get();
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(LIMIT, agree).await.expect("they agree")
    }

    async fn change(&self, leader: u16, change: MemberChange) -> Result<u64, MembersError> {
        timeout(LIMIT, self.node(leader).change_members(&change)).await.expect("an answer")
    }

    /// The nodes that are to start anew do, as a program does.
    async fn start_anew(&mut self, nodes: &[u16], config_epoch: u64) {
        for &node in nodes {
            let superseded = self.node(node).superseded();
            assert_eq!(timeout(LIMIT, superseded).await.expect("it is told"), config_epoch);
        }
        for &node in nodes {
            let config = self.stop(node).await;
            self.start(config).await;
        }
    }

    fn add(&self, node: u16) -> MemberChange {
        let address = self.addresses[usize::from(node) - 1].parse().expect("an address");
        MemberChange::Add(id(node), address)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_joins_and_the_leader_leaves() {
    let mut cluster = Cluster::new().await;
    let leader = cluster.leader(1).await;
    let other = leader % 3 + 1;
    let answer = cluster.change(other, cluster.add(4)).await;
    let not = MembersError::Request(RequestError::NotLeading { node: id(other) });
    assert_eq!(answer, Err(not));
    assert_eq!(cluster.change(leader, cluster.add(4)).await, Ok(2));
    let (running, next) = cluster.node(leader).lists();
    let (list, missing) = next.expect("there is one");
    assert_eq!((running.config_epoch, list.config_epoch, missing), (1, 2, vec![]));
    let again = cluster.change(leader, cluster.add(5)).await;
    assert_eq!(again, Err(MembersError::UnderWay { config_epoch: 2 }));

    cluster.start_anew(&[1, 2, 3], 2).await;
    let newcomer = cluster.newcomer(4, &list);
    cluster.start(newcomer).await;
    let leader = cluster.leader(2).await;
    assert!(cluster.node(leader).status().members.len() == 3, "four voters");

    assert_eq!(cluster.change(leader, MemberChange::Remove(id(leader))).await, Ok(3));
    let rest: Vec<_> = (1..=4).filter(|&node| node != leader).collect();
    cluster.start_anew(&rest, 3).await;
    let removed = "this node is no member of list 3 any more: stop it".to_owned();
    let told = async {
        while cluster.node(leader).status().problem.as_ref() != Some(&removed) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, told).await.expect("it is told");
    cluster.stop(leader).await;
    cluster.leader(3).await;
    // The files still have the first list, and the directories count.
    let configs: Vec<_> = cluster.running.iter().map(|(config, _)| config.config_epoch()).collect();
    assert!(configs.contains(&1), "{configs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_waits_for_every_voter_and_an_observer_that_was_away_learns_of_it() {
    let mut cluster = Cluster::new().await;
    let leader = cluster.leader(1).await;
    let address = cluster.addresses[3].parse().expect("an address");
    let change = MemberChange::AddObserver(id(4), address);
    assert_eq!(cluster.change(leader, change).await, Ok(2));
    cluster.start_anew(&[1, 2, 3], 2).await;
    let (list, _) = cluster.node(1).lists();
    let newcomer = cluster.newcomer(4, &list);
    cluster.start(newcomer).await;
    let leader = cluster.leader(2).await;

    // Without a voter nothing changes. It can be removed, in place of a change that waits for it.
    let gone = leader % 3 + 1;
    let lost = cluster.stop(gone).await;
    let refused = cluster.change(leader, cluster.add(5)).await.expect_err("one is missing");
    match refused {
        MembersError::Missing { missing } | MembersError::Undecided { missing, .. } => {
            assert_eq!(missing, [id(gone)]);
        }
        other => panic!("{other}"),
    }
    let observer = cluster.stop(4).await;
    assert_eq!(cluster.change(leader, MemberChange::Remove(id(gone))).await, Ok(3));
    let rest: Vec<_> = (1..=3).filter(|&node| node != gone).collect();
    cluster.start_anew(&rest, 3).await;
    cluster.leader(3).await;
    // It starts with the list that it had, is refused, and asks.
    cluster.start(observer).await;
    cluster.start_anew(&[4], 3).await;
    cluster.leader(3).await;
    // So does the one that is no member any more.
    cluster.start(lost).await;
    let told = async {
        while !cluster.node(gone).status().problem.is_some_and(|p| p.contains("no member of list"))
        {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, told).await.expect("it is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_make_no_sense_are_refused() {
    let cluster = Cluster::new().await;
    let leader = cluster.leader(1).await;
    for (change, part) in [
        (cluster.add(2), "is a member already"),
        (MemberChange::Remove(id(9)), "is no member"),
        (MemberChange::Vote(id(1)), "votes already"),
        // Nothing protects these nodes, so they stay on one machine.
        (
            MemberChange::Add(id(4), "10.0.0.4:7000".parse().expect("valid")),
            "of this machine alone",
        ),
    ] {
        let refused = cluster.change(leader, change).await.expect_err("no sense");
        assert!(refused.to_string().contains(part), "{refused}");
    }
    cluster.node(leader).set_maintenance(true).await.expect("it can be asked");
    let refused = cluster.change(leader, cluster.add(4)).await.expect_err("in maintenance");
    assert!(refused.to_string().contains("end the maintenance first"), "{refused}");
    assert_eq!(cluster.node(leader).lists().1, None);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002")];
    let timing = bully::Timing::DEFAULT;
    let config = Config::<Bully>::for_protocol("members", 1, members, timing).expect("valid");
    let node = Election::join_on(config, listener).expect("it can join");
    let refused = node.change_members(&MemberChange::Remove(id(2))).await.expect_err("no lists");
    assert!(refused.to_string().contains("the protocol or a node with groups cannot"), "{refused}");
}
