//! What nodes tell each other of themselves: which of them is to lead, and whether the cluster is
//! in maintenance.

use std::time::{Duration, Instant};

use bellwether::{Config, Election, NodeId, RequestError};
use bellwether_core::protocol::bully::{self, Bully};
use bellwether_core::protocol::quorum::{Preemption, Timing};
use bellwether_testbed::ports::free_port;
use tokio::time::sleep;

use super::{LIMIT, PATIENT, id, join, until};

/// How long a node must be preferred here.
const DELAY: Duration = Duration::from_millis(300);

/// Longer than a promise and an election after it.
const LONG: Duration = Duration::from_secs(7);

/// Three nodes, each with a priority and a directory, of which not all need to run.
struct Three {
    addresses: [String; 3],
    priorities: [u8; 3],
    directory: tempfile::TempDir,
    running: [Option<Election>; 3],
}

impl Three {
    /// Starts all of them.
    async fn new(priorities: [u8; 3]) -> Self {
        let mut three = Self::stopped(priorities);
        for node in 1..=3 {
            three.start(node).await;
        }
        three
    }

    fn stopped(priorities: [u8; 3]) -> Self {
        let addresses = [(); 3].map(|()| format!("127.0.0.1:{}", free_port()));
        let directory = tempfile::tempdir().expect("a directory");
        Self { addresses, priorities, directory, running: [None, None, None] }
    }

    async fn start(&mut self, node: usize) {
        let number = u16::try_from(node).expect("small");
        let config = Config::new("standing", number, (1..).zip(&self.addresses)).expect("valid");
        let config = config.with_section(PATIENT).expect("valid");
        let config = config.with_priority(self.priorities[node - 1], DELAY).expect("valid");
        let path = self.directory.path().join(node.to_string());
        // Not all need to start.
        let config = if path.exists() { config } else { config.with_new_cluster().expect("new") };
        self.running[node - 1] = Some(join(&config.with_directory(path)).await);
    }

    fn node(&self, node: usize) -> &Election {
        self.running[node - 1].as_ref().expect("it runs")
    }

    async fn stop(&mut self, node: usize) {
        self.running[node - 1].take().expect("it runs").leave().await.expect("it leaves");
    }

    /// Waits until all that run follow this node, or none if it is 0.
    async fn led_by(&self, leader: u16) {
        let follows = |node: &Election| node.leadership().now().leader == NodeId::new(leader);
        let all = || self.running.iter().flatten().all(follows);
        until(&format!("all that run follow {leader}"), all).await;
    }

    /// Nothing else is so for longer than an election takes.
    async fn stays_led_by(&self, leader: u16) {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            for node in self.running.iter().flatten() {
                let now = node.leadership().now();
                assert_eq!(now.leader, NodeId::new(leader), "{now:?}");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_hands_over_to_the_node_with_the_highest_priority_and_that_can_change() {
    let three = Three::new([200, 150, 100]).await;
    three.led_by(1).await;
    let seen = three.node(3).handle().status();
    let said: Vec<_> = seen.members.iter().map(|member| (member.priority, member.fit)).collect();
    assert_eq!(said, [(Some(200), Some(true)), (Some(150), Some(true))]);
    assert_eq!(seen.priority, 100);
    three.stays_led_by(1).await;
    three.node(1).handle().set_priority(10);
    three.led_by(2).await;
    assert_eq!(three.node(1).handle().priority(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_priority_0_leads_if_no_other_can_and_no_longer() {
    let three = Three::new([100, 100, 0]).await;
    three.led_by(2).await;
    for node in [1, 2] {
        three.node(node).handle().set_unfit("the disk is full").await.expect("it can be told");
    }
    three.led_by(3).await;
    // The one that is preferred is not fit.
    three.stays_led_by(3).await;
    three.node(1).handle().set_healthy(true).await.expect("it can be told");
    three.led_by(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_not_fit_or_was_asked_not_to_run_is_not_asked_to_lead() {
    let three = Three::new([100; 3]).await;
    three.led_by(3).await;
    three.node(2).handle().set_unfit("the disk is full").await.expect("it can be told");
    three.node(1).handle().freeze(LIMIT).await.expect("it can be asked");
    let told = |node: &Election| {
        node.handle().status().members.iter().all(|member| member.fit == Some(false))
    };
    until("it is told", || told(three.node(3))).await;
    let before = Instant::now();
    let answer = three.node(3).handle().transfer(id(2)).await;
    // A node that is asked has five rounds for its answer.
    assert!(before.elapsed() < PATIENT.round * 4, "{:?}", before.elapsed());
    assert_eq!(three.node(3).leadership().now().leader, Some(id(3)));
    let Err(RequestError::Unreachable { to, problem, .. }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(to, id(2));
    assert_eq!(
        problem,
        "it says that it is not fit to lead, or was asked not to stand for election"
    );
    let answer = three.node(3).handle().transfer(id(1)).await;
    assert!(matches!(answer, Err(RequestError::Unreachable { .. })), "{answer:?}");
    three.node(2).handle().set_healthy(true).await.expect("it can be told");
    let fits = |node: &Election| node.handle().status().members[1].fit == Some(true);
    until("it is told", || fits(three.node(3))).await;
    three.node(3).handle().transfer(id(2)).await.expect("it is fit again");
    three.led_by(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_node_takes_over_in_maintenance_before_it_is_ended() {
    let mut three = Three::stopped([100; 3]);
    for node in [2, 3] {
        three.start(node).await;
    }
    three.led_by(3).await;
    let report = three.node(2).handle().set_maintenance(true).await.expect("it can be asked");
    assert!(report.maintenance);
    assert_eq!((report.known, report.missing), (vec![id(2), id(3)], vec![id(1)]));
    assert!(three.node(3).handle().in_maintenance());
    // The leader leads on; one that was down learns of it, and does not run.
    three.start(1).await;
    three.led_by(3).await;
    three.stays_led_by(3).await;
    assert!(three.node(1).handle().in_maintenance());
    let status = three.node(1).handle().status();
    assert!(status.maintenance);
    let problem = status.problem.expect("it is told");
    assert!(problem.contains("the cluster is in maintenance"), "{problem}");

    three.stop(3).await;
    three.led_by(0).await;
    three.stays_led_by(0).await;
    // All of them remember it, whatever else they are asked.
    for node in [1, 2] {
        three.stop(node).await;
    }
    for node in 1..=3 {
        three.start(node).await;
        assert!(three.node(node).handle().in_maintenance(), "{node}");
        until("it is frozen", || three.node(node).handle().measurements().frozen >= LIMIT).await;
        three.node(node).handle().freeze(Duration::from_millis(1)).await.expect("it can be asked");
        let frozen = three.node(node).handle().measurements().frozen;
        assert!(frozen > LIMIT, "however short the time is: {frozen:?}");
    }
    three.stays_led_by(0).await;
    let report = three.node(1).handle().set_maintenance(false).await.expect("it can be asked");
    assert_eq!((report.maintenance, report.missing), (false, vec![]));
    three.led_by(3).await;
    assert_eq!(three.node(3).handle().status().problem, None);
}

/// A decision that was made on one side of a cut reaches the other with the connection.
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_decision_counts_wherever_it_was_made() {
    let mut three = Three::new([100; 3]).await;
    three.led_by(3).await;
    three.node(3).handle().set_maintenance(true).await.expect("it can be asked");
    three.stop(1).await;
    three.node(2).handle().set_maintenance(false).await.expect("it can be asked");
    three.start(1).await;
    until("it learns", || !three.node(1).handle().in_maintenance()).await;
    assert!(!three.node(3).handle().in_maintenance());
    three.stop(3).await;
    three.led_by(2).await;
}

#[test]
fn a_priority_without_effect_is_refused() {
    let members = || (1..=3).map(|node| (node, format!("127.0.0.1:700{node}")));
    let config = |timing| {
        let config = Config::new("standing", 1, members()).expect("valid");
        config.with_section(timing).expect("valid")
    };
    let at_once = Timing { preemption: Preemption::AtOnce, ..Timing::DEFAULT };
    let refused = config(at_once).with_priority(200, DELAY).expect_err("both");
    assert!(refused.to_string().contains("preemption = \"never\""), "{refused}");
    config(at_once).with_priority(100, DELAY).expect("nothing is asked for");
    let late = config(Timing::DEFAULT).with_priority(200, Duration::from_secs(86_401));
    assert!(late.expect_err("too long").to_string().contains("24h"));
    let timing = bully::Timing::DEFAULT;
    let bully = Config::<Bully>::for_protocol("standing", 1, members(), timing).expect("valid");
    let refused = bully.with_priority(0, DELAY).expect_err("no successor");
    assert!(refused.to_string().contains("protocol bully"), "{refused}");
}
