//! Nodes that have lost their directories, at real processes: none of them votes before it can have
//! forgotten nothing that counts.

use std::time::{Duration, Instant};

use super::bad_input::refuses;
use super::common::wait_until;
use super::roles::Roles;

/// Longer than any promise, and an election after it.
const LONG: Duration = Duration::from_secs(4);

impl Roles {
    /// Nodes `1..=size` that have had a leader, and are down. Returns the epoch of that too.
    fn stopped(size: u16) -> (Self, u64) {
        let mut roles = Self::new(size, "");
        (1..=size).for_each(|node| roles.start(node));
        roles.all_vote(&(1..=size).collect::<Vec<_>>());
        let (_, epoch) = roles.leader();
        (1..=size).for_each(|node| roles.kill(node));
        (roles, epoch)
    }

    /// Waits until the problem of a node says this.
    fn says(&self, node: u16, part: &str) {
        let problem = || self.status(node)["problem"].as_str().unwrap_or_default().to_owned();
        let logs = || format!("{}\n{}", problem(), self.cluster.log_of(&node.to_string()));
        wait_until(&format!("node {node} says: {part}"), || problem().contains(part), logs);
    }

    /// No node leads for so long that one could.
    fn stays_without_leader(&self) {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            for &node in self.running.keys() {
                let status = self.status(node);
                assert!(status["leader"].is_null(), "{status}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The vote that node 1 had given may be one that node 3 counts on.
#[test]
fn one_of_three_that_has_forgotten_does_not_vote_before_a_leader_lets_it_in() {
    let (mut roles, epoch) = Roles::stopped(3);
    roles.wipe(1);
    (1..=2).for_each(|node| roles.start(node));
    roles.stays_without_leader();
    roles.says(1, "node 2 voted before, so a leader has to let it in");
    roles.says(2, "or have no vote: ask each for its status");
    roles.start(3);
    let (leader, next) = roles.leader();
    assert!(leader != 1 && next > epoch, "{leader} leads {next} after {epoch}");
    roles.all_vote(&[1, 2, 3]);
    let whole = || roles.status(1)["problem"].is_null() && roles.status(1)["config_epoch"] == 2;
    wait_until("it is let in", whole, || roles.cluster.log_of("1"));

    roles.kill(2);
    let (_, last) = roles.leader();
    assert!(last >= next, "1 and 3 are a majority: {last} after {next}");
    // What it has is kept like any other state.
    roles.kill(1);
    roles.start(1);
    let (_, after) = roles.leader();
    assert!(after >= last, "{after} after {last}");
}

/// No leader can let the two in: an operator says which state counts.
#[test]
fn two_of_three_that_have_forgotten_wait_for_an_operator() {
    let (mut roles, epoch) = Roles::stopped(3);
    (1..=2).for_each(|node| roles.wipe(node));
    (1..=3).for_each(|node| roles.start(node));
    roles.stays_without_leader();
    for node in 1..=2 {
        roles.says(node, "node 3 voted before, so a leader has to let it in");
        roles.says(node, "see `bellwether recover --help`");
    }
    roles.kill(3);
    let place = |(node, port): (&u16, &u16)| format!("{node}=127.0.0.1:{port}");
    let members: Vec<_> = roles.cluster.ports.iter().map(place).collect();
    let (status, said) = roles.recover(3, &members.join(","), &["--yes"]);
    assert!(
        status == Some(0)
            && said.contains("which leads alone at once")
            && said.contains("Not a member any more: no node."),
        "{said}"
    );
    roles.start(3);
    roles.all_vote(&[1, 2, 3]);
    let (_, next) = roles.leader();
    assert!(next > epoch + 1_000, "{next} after {epoch}");
}

/// Of three of five, two remember: with the third they would be a majority.
#[test]
fn one_of_five_that_has_forgotten_is_no_part_of_a_majority() {
    let (mut roles, epoch) = Roles::stopped(5);
    roles.wipe(2);
    (1..=3).for_each(|node| roles.start(node));
    roles.stays_without_leader();
    roles.start(4);
    let (leader, next) = roles.leader();
    assert!(leader != 2 && next > epoch, "{leader} leads {next} after {epoch}");
    roles.all_vote(&[1, 2, 3, 4]);
    // Now it is one.
    roles.kill(leader);
    let (_, last) = roles.leader();
    assert!(last > next, "{last} after {next}");
}

/// All have forgotten everything: that is a new cluster.
#[test]
fn all_that_have_forgotten_begin_anew_once_all_are_there() {
    let (mut roles, _) = Roles::stopped(3);
    (1..=3).for_each(|node| roles.wipe(node));
    (1..=2).for_each(|node| roles.start(node));
    roles.stays_without_leader();
    roles.says(1, "before each other voter has met it: start node 3");
    roles.start(3);
    roles.all_vote(&[1, 2, 3]);
    roles.leader();
}

#[test]
fn an_operator_starts_a_new_cluster_without_the_voters_that_are_away() {
    let mut roles = Roles::new(3, "");
    roles.start(1);
    roles.says(1, "start nodes 2, 3; or, if this cluster is new");
    // It has never voted.
    roles.kill(1);
    roles.found(1);
    roles.found(2);
    let led = roles.leader();
    roles.start(3);
    roles.all_vote(&[1, 2, 3]);
    assert_eq!(roles.leader(), led, "it is let in");

    roles.kill(1);
    let config = roles.cluster.config();
    let config = config.to_str().expect("plain text");
    let again = ["run", "--config", config, "--node", "1", "--new-cluster", "--log-level", "off"];
    let parts = ["node 1 has a state in ", "quorum-1", "start it without --new-cluster"];
    refuses(&again, 1, &parts);
    roles.start(1);
    roles.leader();
}
