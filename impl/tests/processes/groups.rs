//! Real daemons with groups: each group has a leader of its own, and hooks of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::bad_input::refuses;
use super::common::{Cluster, free_port, wait_until};
use super::http::get;

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
    let http = format!("127.0.0.1:{}", free_port());
    let _one = cluster.run("1", 1, &["--http", &http]);
    (2..=3).for_each(|node| cluster.start(node));
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
    assert_eq!(get(&format!("http://{http}/groups/west/leader")).map(|told| told.0), Some(200));
    assert_eq!(get(&format!("http://{http}/groups/north/leader")).map(|told| told.0), Some(503));
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
    let cluster = Cluster::running(1, "quorum", GROUPS);
    let path = |name: &str| cluster.folder().join(name);
    let script = format!(
        "#!/bin/sh\necho \"$1 $BELLWETHER_GROUP $BELLWETHER_ROLE\" >> {}\n",
        path("told").display()
    );
    fs::write(path("hook"), script).expect("writable");
    fs::set_permissions(path("hook"), fs::Permissions::from_mode(0o700)).expect("its own");
    let hook = path("hook").display().to_string();
    let hooks = format!(
        "[hooks]\nbefore_leading = [\"{hook}\", \"before\"]\non_change = [\"{hook}\", \"after\"]\n"
    );
    fs::write(cluster.config(), cluster.text("test") + &hooks).expect("writable");
    let mut process = cluster.run("1", 1, &[]);
    let told = || fs::read_to_string(path("told")).unwrap_or_default();
    for name in ["north", "south", "west"] {
        for line in [format!("before {name} leader\n"), format!("after {name} leader\n")] {
            let explain = || format!("{}\n{}", told(), cluster.log_of("1"));
            wait_until(&format!("it is told: {line}"), || told().contains(&line), explain);
        }
    }
    assert!(cluster.log_of("1").contains("election{group=north}"), "{}", cluster.log_of("1"));
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
    assert!(told().contains("after west not_started\n"), "{}", told());
}

#[test]
fn groups_that_cannot_be_are_refused() {
    let refused = |protocol: &str, sections: &str, command: &[&str], parts: &[&str]| {
        let cluster = Cluster::running(2, protocol, sections);
        let config = cluster.config();
        let file = config.to_str().expect("plain text");
        let (first, rest) = command.split_first().expect("a command");
        let all = [&[*first, "--config", file, "--node", "1"][..], rest].concat();
        refuses(&all, 2, parts);
    };
    refused("quorum", GROUPS, &["exec", "--", "true"], &["exec", "remove [groups]"]);
    let twice = "[groups]\nnames = [\"a\", \"a\"]\n";
    refused("quorum", twice, &["run"], &["`groups`", "two groups are named `a`", "line "]);
    let both = "[groups]\nnames = [\"a\"]\ncount = 2\n";
    refused("quorum", both, &["run"], &["`names` and `count`", "use one"]);
    let many = "[groups]\ncount = 2049\n";
    refused("quorum", many, &["run"], &["more than 2048 groups"]);
    let wrong = "[groups]\nname = [\"a\"]\n";
    refused("quorum", wrong, &["run"], &["unknown key `name` in [groups]", "is `names`"]);
    let bully = "[groups]\ncount = 2\n";
    refused("bully", bully, &["run"], &["protocol bully has no groups", "quorum"]);
}
