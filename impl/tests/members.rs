//! The members of a cluster are changed by a request to its leader, in a program that embeds nodes.

use bellwether::MemberChange;
use bellwether::StatusReport;
use bellwether::{Config, Election, MembersError, RequestError};
use bellwether_testbed::ports::free_port;
use tokio::time::timeout;

use super::{LIMIT, PATIENT, find, id, join, until};

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

    /// The configuration of a node, with members 1 to 3, or up to that node.
    fn config(&self, node: u16) -> Config {
        let members = (1..).zip(&self.addresses[..usize::from(node.max(3))]);
        let config = Config::new("members", node, members).expect("valid");
        let config = config.with_section(PATIENT).expect("valid");
        config.with_directory(self.directory.path().join(node.to_string()))
    }

    async fn start(&mut self, config: Config) {
        let election = join(&config).await;
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
        let agreed = || {
            let all: Vec<_> = self.running.iter().map(|(_, node)| node.handle().status()).collect();
            let leader = all[0].leader?;
            let same = |status: &StatusReport| {
                status.leader == Some(leader) && status.config_epoch == config_epoch
            };
            all.iter().all(same).then_some(leader.get())
        };
        find("they agree", agreed).await
    }

    async fn change(&self, leader: u16, change: MemberChange) -> Result<u64, MembersError> {
        timeout(LIMIT, self.node(leader).handle().change_members(&change)).await.expect("an answer")
    }

    /// Waits until this holds for the status of a node.
    async fn wait_for(&self, node: u16, holds: impl Fn(&StatusReport) -> bool) {
        until("its status says so", || holds(&self.node(node).handle().status())).await;
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
    let epoch = cluster.node(leader).handle().status().epoch;
    let other = leader % 3 + 1;
    let answer = cluster.change(other, cluster.add(4)).await;
    let not = MembersError::Request(RequestError::NotLeading { node: id(other) });
    assert_eq!(answer, Err(not));
    assert_eq!(cluster.change(leader, cluster.add(4)).await, Ok(2));
    let (list, next) = cluster.node(leader).handle().lists();
    assert_eq!((list.config_epoch, list.members.len(), next), (2, 4, None));
    assert!(list.awaited.iter().eq(&[id(4)]), "the leader has not met it: {list:?}");
    cluster.start(cluster.config(4)).await;
    assert_eq!(cluster.leader(3).await, leader, "it leads on, and has let it in");
    assert!(cluster.node(leader).handle().lists().0.awaited.is_empty());
    let status = cluster.node(leader).handle().status();
    assert_eq!((status.epoch, status.members.len()), (epoch, 3));

    let leave = MemberChange::Remove(id(leader));
    match cluster.change(leader, leave.clone()).await {
        Err(MembersError::HandsOver { node, .. }) => assert_eq!(node, id(leader)),
        other => panic!("{other:?}"),
    }
    let second = cluster.leader(3).await;
    assert_ne!(second, leader);
    assert_eq!(cluster.change(second, leave).await, Ok(4));
    let removed = |problem: &String| problem.contains("no member of list 4 any more: stop it");
    cluster.wait_for(leader, |status| status.problem.as_ref().is_some_and(removed)).await;
    cluster.stop(leader).await;
    assert_eq!(cluster.leader(4).await, second);

    // Its configuration still has the first list, and its directory counts.
    let restarted = (1..=3).find(|&node| node != leader).expect("one stays");
    let config = cluster.stop(restarted).await;
    assert_eq!(config.config_epoch(), 1);
    cluster.start(config).await;
    cluster.leader(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_needs_a_majority_and_those_that_were_away_learn_of_it() {
    let mut cluster = Cluster::new().await;
    let leader = cluster.leader(1).await;
    let address = cluster.addresses[3].parse().expect("an address");
    let change = MemberChange::AddObserver(id(4), address);
    assert_eq!(cluster.change(leader, change).await, Ok(2));
    cluster.start(cluster.config(4)).await;
    assert_eq!(cluster.leader(2).await, leader);

    // Without the other voter, one of two would be left.
    let gone = leader % 3 + 1;
    let other = 6 - leader - gone;
    cluster.stop(gone).await;
    let hears = |status: &StatusReport| {
        status.members.iter().any(|member| member.node == id(gone) && member.fit.is_some())
    };
    cluster.wait_for(leader, |status| !hears(status)).await;
    match cluster.change(leader, MemberChange::Remove(id(other))).await {
        Err(MembersError::Missing { missing }) => {
            assert_eq!(missing.into_keys().collect::<Vec<_>>(), [id(gone)]);
        }
        other => panic!("{other:?}"),
    }
    // A voter that does not run is in no majority.
    assert_eq!(cluster.change(leader, cluster.add(5)).await, Ok(3));
    let observer = cluster.stop(4).await;
    assert_eq!(cluster.change(leader, MemberChange::Remove(id(gone))).await, Ok(4));
    cluster.start(observer).await;
    assert_eq!(cluster.leader(4).await, leader);
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
    cluster.node(leader).handle().set_maintenance(true).await.expect("it can be asked");
    let leave = MemberChange::Remove(id(leader));
    let refused = cluster.change(leader, leave).await.expect_err("in maintenance");
    assert!(refused.to_string().contains("end the maintenance first"), "{refused}");
    assert_eq!(cluster.node(leader).handle().lists().1, None);
}
