//! A configuration that does not answer, such as one on a server that is gone: the command goes on,
//! and so does the node.

use super::*;

/// Writes into the pipe that has replaced the configuration, once it is read.
fn answer(cluster: &Cluster, text: &str) {
    let write = "printf %s \"$0\" > \"$1\"";
    let mut command = Command::new("timeout");
    command.args(["30", "sh", "-c", write, text]).arg(cluster.config());
    assert!(command.status().is_ok_and(|status| status.success()), "it is not read");
}

#[test]
fn a_command_goes_on_while_the_configuration_does_not_answer() {
    let cluster = Cluster::quorum();
    let flags = ["--no-forward", "HUP"];
    let nodes = [1, 2, 3].map(|node| cluster.exec(node, &flags, PLAIN));
    let (_, leader) = cluster.wait_for_start(1);
    let log = || cluster.log_of(&leader.to_string());
    let text = fs::read_to_string(cluster.config()).expect("ours");
    cluster.replace_by_pipe(&cluster.config());
    let node = &nodes[usize::from(leader) - 1];
    // The first is read at once, the others together after that.
    node.send(Signal::HUP);
    // That takes five seconds, and much longer than the lease lasts.
    wait_until("it is told", || log().contains("no answer within"), log);
    for _ in 0..2 {
        node.send(Signal::HUP);
    }
    let lines = || cluster.lines().len();
    let before = lines();
    wait_until("the command works", || lines() > before, log);
    assert_eq!(cluster.starts().len(), 1, "{}", log());
    assert_eq!(reloads(&cluster, leader, ""), 0, "{}", log());

    let level = |level: &str| answer(&cluster, &format!("{text}[log]\nlevel = \"{level}\"\n"));
    level("debug");
    wait_until("it is read", || reloads(&cluster, leader, "log.level") == 1, log);
    level("info");
    wait_until("it is read again", || reloads(&cluster, leader, "log.level") == 2, log);
    assert_eq!(cluster.starts().len(), 1, "{}", log());
    cluster.no_two_at_once();
}
