//! Leaderships that are given up while a command runs: it has ended before that of the next leader
//! starts, although the lease of the old leader would last.

use std::process::{Command, Output};

use super::*;
use crate::processes::common::free_port;

/// Ends when it is asked to, but takes some time for it, which is less than it has.
const TIDY: &str = r#"
trap 'sleep 0.1; echo "end $ME" >> "$0"; exit 0' TERM
starts
while :; do echo "child $ME" >> "$0"; sleep 0.01; done
"#;

/// Three nodes that run a command, and where each can be asked to give up its leadership.
struct Handed {
    cluster: Cluster,
    nodes: [Process; 3],
    addresses: [String; 3],
    token: String,
    starts: usize,
}

impl Handed {
    fn new(more: &[&str], script: &str) -> Self {
        let cluster = Cluster::patient();
        let token = cluster.folder().join("token").display().to_string();
        let made = bellwether().args(["keys", "secret", &token]).output().expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let addresses = [1, 2, 3].map(|_| format!("127.0.0.1:{}", free_port()));
        let nodes = [1, 2, 3].map(|node: u16| {
            let http = ["--http", &addresses[usize::from(node) - 1], "--token-file", &token];
            cluster.exec(node, &[&http[..], more].concat(), script)
        });
        Self { cluster, nodes, addresses, token, starts: 0 }
    }

    /// Waits until the next command has started, and returns its epoch and its node.
    fn next(&mut self) -> (u64, u16) {
        self.starts += 1;
        self.cluster.wait_for_start(self.starts)
    }

    fn asked(&self, node: u16, what: &[&str]) -> Command {
        let mut command = bellwether();
        let address = &self.addresses[usize::from(node) - 1];
        command.arg(what[0]).args(["--http", address, "--token-file", &self.token]);
        command.args(&what[1..]);
        command
    }

    fn ask(&self, node: u16, what: &[&str]) {
        let Output { status, stdout, stderr } = self.asked(node, what).output().expect("it runs");
        let said = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(status.success(), "node {node}: {what:?}: {said:?}");
    }

    fn node(&mut self, node: u16) -> &mut Process {
        &mut self.nodes[usize::from(node) - 1]
    }

    /// Transfers so often, and does `before` to the leader each time.
    fn transfers(&mut self, rounds: usize, before: impl Fn(&Process)) {
        let (mut epoch, mut leader) = self.next();
        for _ in 0..rounds {
            let to = leader % 3 + 1;
            before(&self.nodes[usize::from(leader) - 1]);
            self.ask(leader, &["transfer", "--to", &to.to_string()]);
            let (later, next) = self.next();
            assert!(later > epoch, "epoch {later} of node {next} after {epoch} of node {leader}");
            (epoch, leader) = (later, next);
        }
        self.cluster.no_two_at_once();
    }

    /// Each command has ended by itself, and before the next has started.
    fn each_had_its_grace(&self) {
        let lines = self.cluster.lines();
        let told = lines.iter().filter(|words| ["start", "end"].contains(&words[0].as_str()));
        let told: Vec<&str> = told.map(|words| words[0].as_str()).collect();
        let (last, pairs) = told.split_last().expect("not none");
        assert_eq!(*last, "start");
        assert!(pairs.chunks(2).all(|pair| pair == ["start", "end"]), "{told:?}");
    }
}

/// How often, unless `BELLWETHER_ROUNDS` says so.
fn often(otherwise: usize) -> usize {
    if std::env::var_os("BELLWETHER_ROUNDS").is_some() { rounds() } else { otherwise }
}

#[test]
fn a_command_that_ignores_sigterm_is_dead_before_the_node_hands_over() {
    let mut handed = Handed::new(&[], STUBBORN);
    handed.transfers(often(10), |_| {});
    handed.cluster.both_work();
}

#[test]
fn a_command_has_its_grace_when_the_node_hands_over() {
    let mut handed = Handed::new(&["--grace", "3s"], TIDY);
    handed.transfers(often(5), |_| {});
    handed.each_had_its_grace();
}

#[test]
fn a_node_whose_keeper_stands_still_hands_over_once_it_has_killed_the_command() {
    let mut handed = Handed::new(&[], STUBBORN);
    handed.transfers(often(2), |node| signal(children(node.id())[0], Signal::STOP));
}

/// On a slow machine the node that steps down leads again before another has, once its time is
/// over; so many rounds are allowed for each one in which another comes to lead.
const TRIES: usize = 4;

#[test]
fn a_command_is_dead_before_its_node_steps_down() {
    let mut handed = Handed::new(&[], STUBBORN);
    let (mut epoch, mut leader) = handed.next();
    let (mut others, wanted) = (0, often(5));
    for _ in 0..TRIES * wanted {
        handed.ask(leader, &["step-down", "--for", "300ms"]);
        let (later, next) = handed.next();
        assert!(later > epoch, "{later} of {next}, {epoch} of {leader}");
        others += usize::from(next != leader);
        (epoch, leader) = (later, next);
        if others == wanted {
            break;
        }
    }
    assert_eq!(others, wanted);
    handed.cluster.no_two_at_once();
}

/// The highest node takes over as soon as it may.
#[test]
fn a_command_is_dead_before_its_node_makes_way_for_a_higher_one() {
    let mut handed = Handed::new(&["--set", "preemption=at-once", "--grace", "3s"], TIDY);
    while handed.next().1 != 3 {}
    let (mut made_way, wanted) = (0, often(5));
    for _ in 0..TRIES * wanted {
        handed.ask(3, &["step-down", "--for", "900ms"]);
        if handed.next().1 != 3 {
            made_way += 1;
            while handed.next().1 != 3 {}
        }
        if made_way == wanted {
            break;
        }
    }
    assert_eq!(made_way, wanted);
    handed.each_had_its_grace();
    handed.cluster.no_two_at_once();
}

#[test]
fn exec_once_ends_when_the_leadership_is_given_up() {
    let mut handed = Handed::new(&["--once"], TIDY);
    let (_, leader) = handed.next();
    // It may end before it hears the next leader, and so before it answers.
    let transfer = ["transfer", "--to", &(leader % 3 + 1).to_string()];
    handed.asked(leader, &transfer).output().expect("the program starts");
    assert_eq!(handed.node(leader).ended().code(), Some(75));
    assert_ne!(handed.next().1, leader);
    handed.cluster.no_two_at_once();
}
