//! What a process says about a storage that it cannot use, and that it stops rather than forget.

use std::fs;
use std::path::PathBuf;

use super::bad_input::{logs, refuses};
use super::common::{Cluster, wait_until};

/// Two nodes of Stoller's election, which remembers the number of its incarnation.
fn cluster() -> Cluster {
    Cluster::running(2, "stoller", "")
}

impl Cluster {
    fn data(&self, node: u16) -> PathBuf {
        self.folder().join(format!("stoller-{node}"))
    }

    /// `bellwether run` with further arguments ends with this status, and says all of this.
    fn refuses(&self, node: u16, more: &[&str], status: i32, parts: &[&str]) {
        let (config, node) = (self.config(), node.to_string());
        let config = config.to_str().expect("plain text");
        let arguments = ["run", "--config", config, "--node", &node, "--log-level", "off"];
        refuses(&[&arguments, more].concat(), status, parts);
    }
}

/// Lets node 2 save twice.
fn saved() -> Cluster {
    let mut cluster = cluster();
    for _ in 0..2 {
        cluster.start(2);
        cluster.wait_for_leader(2);
        cluster.take(2).kill();
    }
    cluster
}

#[test]
fn a_protocol_that_must_remember_says_where_to_tell_it() {
    let cluster = cluster();
    let text = fs::read_to_string(cluster.config()).expect("ours");
    let without: Vec<_> = text.lines().filter(|line| !line.contains("directory =")).collect();
    fs::write(cluster.config(), without.join("\n")).expect("ours");
    let parts = ["stoller", "`directory` under [storage]", "--data-dir", "BELLWETHER_DATA_DIR"];
    cluster.refuses(2, &[], 2, &parts);
}

/// The nodes are started in another folder than that of the configuration.
#[test]
fn a_relative_directory_is_that_beside_the_configuration() {
    let mut cluster = saved();
    cluster.start(2);
    cluster.wait_for_leader(2);
    let data = cluster.data(2);
    let data = data.to_str().expect("plain text");
    logs(&cluster, "2", &["taking part in elections", data]);
    cluster.take(2).kill();
    let text = fs::read_to_string(cluster.config()).expect("ours");
    fs::write(cluster.config(), text.replace("{protocol}-{node}", "stoller-2")).expect("ours");
    cluster.refuses(1, &[], 1, &[data, "belongs to node `2`, and this is node `1`"]);
}

#[test]
fn two_processes_on_one_directory_are_refused() {
    let mut cluster = cluster();
    cluster.start(2);
    cluster.wait_for_leader(2);
    let data = cluster.data(2);
    let data = data.to_str().expect("plain text");
    let parts = [data, "in use by another process", "--data-dir", "BELLWETHER_DATA_DIR"];
    cluster.refuses(1, &["--data-dir", data], 1, &parts);
    cluster.wait_for_leader(2);
}

#[test]
fn the_directory_of_another_node_is_refused() {
    let cluster = saved();
    let data = cluster.data(2);
    let data = data.to_str().expect("plain text");
    let parts = ["state.0", "belongs to node `2`, and this is node `1`", "{node}"];
    cluster.refuses(1, &["--data-dir", data], 1, &parts);
    let parts = ["belongs to protocol `stoller`, and this is protocol `invitation`"];
    cluster.refuses(2, &["--data-dir", data, "--protocol", "invitation"], 1, &parts);
}

#[test]
fn one_damaged_slot_is_told_and_survived_and_two_are_refused() {
    let mut cluster = saved();
    let [first, second] = ["state.0", "state.1"].map(|slot| cluster.data(2).join(slot));
    let whole = fs::read(&first).expect("it was saved");
    fs::write(&first, &whole[..whole.len() / 2]).expect("ours");
    cluster.start(2);
    cluster.wait_for_leader(2);
    logs(&cluster, "2", &["WARN", "state.0", "truncated", "the other has what was saved last"]);
    cluster.take(2).kill();

    fs::write(&first, &whole[..whole.len() / 2]).expect("ours");
    let mut changed = fs::read(&second).expect("it was saved");
    *changed.last_mut().expect("not empty") ^= 0x10;
    fs::write(&second, changed).expect("ours");
    let data = cluster.data(2);
    let parts = [
        data.to_str().expect("plain text"),
        "slot 0: truncated; slot 1: wrong checksum",
        "restore the directory",
        "another id",
    ];
    cluster.refuses(2, &[], 1, &parts);
}

#[test]
fn files_of_others_and_of_later_releases_are_left_alone() {
    let cluster = saved();
    let slot = cluster.data(2).join("state.1");
    let mut bytes = fs::read(&slot).expect("it was saved");
    bytes[9] = 9;
    fs::write(&slot, &bytes).expect("ours");
    cluster.refuses(2, &[], 1, &["state.1 has version 9", "run the newer release"]);
    fs::write(&slot, "my diary").expect("ours");
    cluster.refuses(2, &[], 1, &["state.1 is not a file of a bellwether storage", "move it away"]);
    assert_eq!(fs::read(&slot).expect("still there"), b"my diary");
}

#[test]
fn a_place_that_is_no_directory_is_refused() {
    let cluster = cluster();
    let file = cluster.config();
    let file = file.to_str().expect("plain text");
    let parts = [file, "cannot use the storage directory", "name a directory"];
    cluster.refuses(2, &["--data-dir", file], 1, &parts);
}

/// The disk is full when the node must remember: it stops, and has sent nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_node() {
    let cluster = cluster();
    fs::create_dir_all(cluster.data(2)).expect("ours");
    std::os::unix::fs::symlink("/dev/full", cluster.data(2).join("state.0")).expect("ours");
    let parts = ["cannot make the node's state durable", "state.0", "No space left", "make room"];
    cluster.refuses(2, &[], 1, &parts);
    let mut process = cluster.run("full", 2, &[]);
    assert_eq!(process.ended().code(), Some(1));
    logs(&cluster, "full", &["ERROR", "takes part no longer", "No space left"]);
}

/// A file that is written to find out whether the disk answers is a pipe without a reader: opening
/// it does not return.
#[test]
fn a_leader_whose_disk_does_not_answer_lets_another_lead() {
    let mut cluster = Cluster::running(3, "quorum", "");
    (1..=3).for_each(|node| cluster.start(node));
    let leader = cluster.wait_for_any_leader();
    let name = leader.to_string();
    let probe = cluster.folder().join(format!("quorum-{leader}/probe"));
    wait_until("it asks its disk", || probe.exists(), || cluster.log_of(&name));
    std::fs::remove_file(&probe).expect("ours");
    let made = std::process::Command::new("mkfifo").arg(&probe).status();
    assert!(made.expect("mkfifo").success());

    let others: Vec<u16> = (1..=3).filter(|&node| node != leader).collect();
    let next = || {
        let status = cluster.status(others[0]).unwrap_or_default();
        others.iter().any(|&other| status["leader"] == other)
    };
    wait_until("another leads", next, || cluster.log_of(&name));
    let log = cluster.log_of(&name);
    assert!(log.contains("its storage does not answer, or fails"), "{log}");
    assert!(!log.contains("no majority renewed the lease"), "it did not wait for that: {log}");

    // Now there is a reader, but a pipe cannot be synced. A file can.
    drop(std::fs::File::open(&probe).expect("the node waits for that"));
    std::fs::remove_file(&probe).expect("ours");
    let answers = || cluster.log_of(&name).contains("the storage answers again");
    wait_until("it is a disk again", answers, || cluster.log_of(&name));
    assert_ne!(cluster.wait_for_any_leader(), 0);
}
