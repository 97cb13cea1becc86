//! Members that join and leave by configuration, one at a time, while the cluster works. The steps
//! are those of `docs/daemon.md`.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::bad_input::{logs, refuses};
use super::common::{Cluster, wait_until};

/// Five nodes are configured somewhere, of which so many are members at first.
struct Changing {
    cluster: Cluster,
    all: String,
}

impl Changing {
    fn new(members: u16) -> Self {
        let cluster = Cluster::running(5, "quorum", "");
        let all = fs::read_to_string(cluster.config()).expect("ours");
        let mut changing = Self { cluster, all };
        changing.write(1, members);
        (1..=members).for_each(|node| changing.cluster.start(node));
        changing.cluster.wait_for_any_leader();
        changing
    }

    /// Nodes `1..=members` are the list with this number.
    fn write(&self, config_epoch: u64, members: u16) {
        self.write_list(config_epoch, &(1..=members).collect::<Vec<_>>());
    }

    /// These nodes are the list with this number.
    fn write_list(&self, config_epoch: u64, members: &[u16]) {
        let is_member = |line: &&str| {
            let node = line.split(" = \"127").next().and_then(|id| id.parse::<u16>().ok());
            node.is_none_or(|node| members.contains(&node))
        };
        let lines: Vec<_> = self.all.lines().filter(is_member).collect();
        let text = lines.join("\n");
        let text = text.replace("[members]", &format!("config_epoch = {config_epoch}\n[members]"));
        fs::write(self.cluster.config(), text).expect("ours");
    }

    /// SIGTERM, and a new start with the file as it is now.
    fn restart(&mut self, node: u16) {
        let mut process = self.cluster.take(node);
        process.ask_to_end();
        assert!(process.ended().success(), "{}", self.cluster.log_of(&node.to_string()));
        self.cluster.start(node);
        self.cluster.wait_for(node, "it is up", |_| true);
    }

    /// All members have this list, and one of them leads with a higher epoch than before.
    fn agree(&self, config_epoch: u64, members: u16, before: u64) -> u64 {
        let leader = self.cluster.wait_for_any_leader();
        for node in 1..=members {
            self.cluster
                .wait_for(node, "the list", |status| status["config_epoch"] == config_epoch);
        }
        let status = self.cluster.status(leader).expect("it runs");
        let epoch = status["epoch"].as_u64().expect("it leads");
        assert!(epoch > before, "{epoch} after {before}");
        epoch
    }
}

/// An operator's error: half of the nodes get another list with the same number. No node leads,
/// and the steps of the page repair it.
#[test]
fn two_lists_with_one_number_have_no_leader_and_can_be_repaired() {
    let mut changing = Changing::new(4);
    for node in 1..=4 {
        changing.write_list(2, if node % 2 == 1 { &[1, 2, 3] } else { &[1, 2, 4] });
        changing.restart(node);
    }
    // Each is asked at its address, by whichever list.
    fs::write(changing.cluster.config(), &changing.all).expect("ours");
    let until = Instant::now() + Duration::from_secs(4);
    while Instant::now() < until {
        for node in 1..=4 {
            let status = changing.cluster.status(node).expect("it runs");
            assert!(status["lease_ms"].is_null() && status["leader"].is_null(), "{status}");
        }
    }
    let other = |status: &Value| status["members"].to_string().contains("it has other members");
    changing.cluster.wait_for(1, "it says that node 2 has another list", other);

    for node in 1..=4 {
        let mut process = changing.cluster.take(node);
        process.ask_to_end();
        assert!(process.ended().success());
    }
    changing.write_list(2, &[1, 2, 3]);
    let directory = changing.cluster.directory.path().join("quorum-2");
    fs::remove_dir_all(directory).expect("it is there");
    (1..=3).for_each(|node| changing.cluster.start(node));
    changing.agree(2, 3, 1);
}

#[test]
fn a_cluster_of_three_grows_to_five_and_shrinks_back() {
    let mut changing = Changing::new(3);
    let mut epoch = 0;
    for (config_epoch, members) in [(2, 4), (3, 5)] {
        changing.write(config_epoch, members);
        changing.cluster.start(members);
        (1..members).for_each(|node| changing.restart(node));
        epoch = changing.agree(config_epoch, members, epoch);
    }
    for (config_epoch, members) in [(4, 4), (5, 3)] {
        changing.write(config_epoch, members);
        (1..=members).for_each(|node| changing.restart(node));
        let removed = members + 1;
        let says = || changing.cluster.log_of(&removed.to_string()).contains("it has config_epoch");
        wait_until("the node that has left is refused", says, String::new);
        let mut process = changing.cluster.take(removed);
        process.ask_to_end();
        assert!(process.ended().success());
        epoch = changing.agree(config_epoch, members, epoch);
    }
}

#[test]
fn a_node_does_not_go_back_to_an_older_list_nor_skip_a_change() {
    let mut changing = Changing::new(3);
    changing.write(2, 4);
    changing.cluster.start(4);
    (1..=3).for_each(|node| changing.restart(node));
    changing.agree(2, 4, 0);
    let mut process = changing.cluster.take(1);
    process.ask_to_end();
    assert!(process.ended().success());

    let config = changing.cluster.config();
    let arguments = ["run", "--config", config.to_str().expect("plain text"), "--node", "1"];
    let refused = |wrong: &str| {
        let lists = "this node has taken part with config_epoch 2 (voters 1, 2, 3, 4)";
        refuses(&[&arguments[..], &["--log-level", "off"]].concat(), 1, &[lists, wrong]);
    };
    changing.write(1, 3);
    refused("a list of members is never taken back");
    changing.write(2, 5);
    refused("set config_epoch = 3");
    changing.write(3, 2);
    refused("one voter may join or leave with each config_epoch");
    changing.write(2, 4);
    changing.cluster.start(1);
    changing.cluster.wait_for_any_leader();
}

/// Alone, a new node has no part in anything, whatever its file says.
#[test]
fn a_new_node_waits_until_it_hears_a_member() {
    let mut changing = Changing::new(3);
    changing.write(2, 4);
    changing.cluster.start(4);
    changing.cluster.wait_for(4, "it waits", |status| status["reason"] == "joins");
    let leader = changing.cluster.status(4).expect("it runs")["leader"].clone();
    assert!(leader.is_null(), "{leader}");
}

/// A protocol without a quorum remembers no list: the lists keep nodes apart while they differ, and
/// those of each list have a leader.
#[test]
fn other_protocols_remember_no_list() {
    let mut cluster = Cluster::new(2);
    (1..=2).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(2);
    let first = fs::read_to_string(cluster.config()).expect("ours");
    let second = first.replace("[members]", "config_epoch = 2\n[members]");
    let restart = |cluster: &mut Cluster, text: &str| {
        fs::write(cluster.config(), text).expect("ours");
        let mut process = cluster.take(1);
        process.ask_to_end();
        assert!(process.ended().success());
        cluster.start(1);
    };
    restart(&mut cluster, &second);
    cluster.wait_for(1, "it leads its own list", |status| status["leader"] == 1);
    cluster.wait_for(2, "the other one is refused", |status| status["leader"] == 2);
    logs(&cluster, "2", &["has config_epoch 2"]);
    restart(&mut cluster, &first);
    cluster.wait_for_leader(2);
}
