//! The node and its keeper are killed together: the kernel ends the command. What it has started
//! ends with the next start of the node, if the node can have a cgroup.

use std::io::Write as _;
use std::time::{Duration, Instant};

use super::*;
use crate::common::is_alive;

/// How long the kernel may take.
const SOON: Duration = Duration::from_secs(30);

/// Kills a node and its keeper. Neither has a moment to act between the end of the one and that of
/// the other. Returns the number of the command.
fn kill_with_its_keeper(node: &mut Process) -> u32 {
    let keeper = keeper(node);
    let [command] = children(keeper)[..] else { panic!("one child: the command") };
    for process in [node.id(), keeper] {
        signal(process, Signal::STOP);
    }
    for process in [keeper, node.id()] {
        signal(process, Signal::KILL);
    }
    node.kill();
    command
}

/// Whether a process ends in time; one that does not is killed.
fn ends(process: u32) -> bool {
    let start = Instant::now();
    while is_alive(process) && start.elapsed() < SOON {
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = !is_alive(process);
    if !ended {
        signal(process, Signal::KILL);
    }
    ended
}

#[test]
fn a_command_ends_when_its_node_and_its_keeper_are_killed_together() {
    let cluster = Cluster::quorum();
    let script = ["trap '' TERM HUP; ", PLAIN].concat();
    let mut nodes = cluster.exec_all(&[], &script);
    let (epoch, leader) = cluster.wait_for_start(1);
    let command = kill_with_its_keeper(&mut nodes[usize::from(leader) - 1]);
    assert!(ends(command), "the command lives on");
    assert!(cluster.wait_for_start(2).0 > epoch);
    cluster.no_two_at_once();
    // What is covered and what is not is in the log of each.
    for node in ["1", "2", "3"] {
        let log = cluster.log_of(node);
        assert_eq!(log.matches("descendants are covered by a cgroup: ").count(), 1, "{log}");
    }
}

/// Starts a process in a session of its own, and names it and its cgroup.
const DETACHED: &str = r#"starts
setsid sh -c 'trap "" TERM HUP; echo "detached $$" >> "$0"; while :; do sleep 0.1; done' "$0" &
echo "group $(grep '^0::' /proc/self/cgroup)" >> "$0"
while :; do sleep 0.1; done
"#;

#[test]
fn what_a_command_has_started_ends_with_the_next_start_of_a_node_that_has_a_cgroup() {
    if !cgroups_can_be_made() {
        // Not by a macro: what those print is shown of failed tests only.
        let notice = "SKIPPED: no cgroup of version 2 can be made here, so it is not tested that \
                      one ends what a command has started\n";
        let _ = std::io::stderr().write_all(notice.as_bytes());
        return;
    }
    let cluster = Cluster::quorum();
    let word = |word: &str, count| cluster.waits_for_word(word, count)[count - 1][0].clone();
    // The others have no command. They come to lead later than node 3.
    let mut others = cluster.voters();
    let mut three = cluster.exec(3, &[], DETACHED);
    let detached: u32 = word("detached", 1).parse().expect("a number");
    let group = word("group", 1);
    assert!(group.contains("bellwether@test@3@"), "{group}: {}", cluster.log_of("3"));
    let covered = "descendants are covered by a cgroup: yes";
    assert!(cluster.log_of("3").contains(covered), "{}", cluster.log_of("3"));

    let command = kill_with_its_keeper(&mut three);
    assert!(ends(command), "the command lives on");
    assert!(is_alive(detached), "it has ended by itself");
    others.iter_mut().for_each(Process::kill);
    let mut three = cluster.exec(3, &[], DETACHED);
    let parts = || cluster.log_of("3").matches("taking part").count() >= 2;
    wait_until("it takes part again", parts, || cluster.log_of("3"));
    let ended = !is_alive(detached);
    assert!(ends(detached) && ended, "it lives on: {}", cluster.log_of("3"));
    assert!(cluster.log_of("3").contains("has left in"), "{}", cluster.log_of("3"));

    // A node that ends as it should leaves nothing.
    let _others = cluster.voters();
    let again: u32 = word("detached", 2).parse().expect("a number");
    three.ask_to_end();
    three.ended();
    assert!(!is_alive(again));
    let path = folder(&group).expect("it was there");
    assert!(!path.exists(), "{} is left", path.display());
}

/// The folder of the cgroup that is called so in `/proc/PROCESS/cgroup`.
fn folder(group: &str) -> Option<PathBuf> {
    let asked = ["-n", "-l", "-t", "cgroup2", "-o", "TARGET,FSROOT"];
    let mounted = Command::new("findmnt").args(asked).output().ok()?;
    let text = String::from_utf8(mounted.stdout).ok()?;
    let (target, root) = text.lines().next()?.split_once(' ')?;
    let below = Path::new(group.strip_prefix("0::")?).strip_prefix(root.trim()).ok()?;
    Some(Path::new(target).join(below))
}

/// Whether this process can make a cgroup below its own, and end what is in it.
fn cgroups_can_be_made() -> bool {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find(|line| line.starts_with("0::") && !line.contains(".."));
    let Some(own) = own.and_then(folder) else { return false };
    let made = own.join(format!("bellwether-test-{}", std::process::id()));
    let can = fs::create_dir(&made).is_ok() && made.join("cgroup.kill").exists();
    let _ = fs::remove_dir(made);
    can
}
