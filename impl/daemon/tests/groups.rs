//! Real daemons with groups: each group has a leader of its own, and hooks of its own.

use super::common::{Cluster, free_address, get, wait_until};

const GROUPS: &str = "\
[quorum]
preemption = \"at-once\"
[groups]
names = [\"west\", \"north\", \"south\"]
";

/// Which node leads each group, in the order of the names, if this one knows all.
fn leaders(cluster: &Cluster, node: u16) -> Option<Vec<u64>> {
    let status = cluster.status(node)?;
    status["groups"].as_array()?.iter().map(|group| group["leader"].as_u64()).collect()
}

fn waits_for(cluster: &Cluster, node: u16, expected: [u64; 3]) {
    let led = || leaders(cluster, node).is_some_and(|leaders| leaders == expected);
    let explain = || format!("{:?}\n{}", cluster.status(node), cluster.log_of(&node.to_string()));
    wait_until(&format!("node {node} knows the leaders {expected:?}"), led, explain);
}

#[test]
fn a_killed_daemon_loses_its_groups_and_the_others_keep_theirs() {
    let mut cluster = Cluster::running(3, "quorum", GROUPS);
    let http = free_address();
    let _one = cluster.run("1", 1, &["--http", &http]);
    cluster.start_all(2..=3);
    (1..=3).for_each(|node| waits_for(&cluster, node, [3, 2, 1]));
    let text = |more: &[&str]| {
        let output = cluster.ask(1, more);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let all = text(&[]);
    assert!(all.starts_with("node 1 of cluster test, protocol quorum, leads 1 of 3 groups\n"));
    for line in ["north  node 3, epoch ", "south  node 2, epoch ", "west   this node, epoch "] {
        assert!(all.lines().any(|told| told.starts_with(line)), "{line} is missing:\n{all}");
    }
    assert!(text(&["--group", "west"]).contains("leader    this node"), "{all}");
    for (group, code) in [("west", 200), ("north", 503)] {
        let told = get(&format!("http://{http}/groups/{group}/leader"));
        assert_eq!(told.map(|told| told.0), Some(code), "{group}");
    }
    let unknown = cluster.ask(1, &["--group", "east"]);
    let told = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(!unknown.status.success() && told.contains("it has no group `east`"), "{told}");

    cluster.take(3).kill();
    (1..=2).for_each(|node| waits_for(&cluster, node, [2, 2, 1]));
    cluster.start(3);
    (1..=3).for_each(|node| waits_for(&cluster, node, [3, 2, 1]));
}

#[test]
fn the_hooks_of_a_group_are_told_which_it_is() {
    let mut cluster = Cluster::running(1, "quorum", GROUPS);
    let tell = "echo \"$1 $BELLWETHER_GROUP $BELLWETHER_ROLE\" >> told";
    cluster.hook(&[("before_leading", tell), ("on_change", tell)], "");
    cluster.start(1);
    for name in ["north", "south", "west"] {
        cluster.waits_for("told", &format!("before_leading {name} leader\n"));
        cluster.waits_for("told", &format!("on_change {name} leader\n"));
    }
    assert!(cluster.log_of("1").contains("election{group=north}"), "{}", cluster.log_of("1"));
    cluster.end(1);
    let told = cluster.text_of("told");
    assert!(told.contains("on_change west not_started\n"), "{told}");
}
