//! What a command is told of its lease, how much of it there is when the command starts, and how
//! the command is ended.

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use super::*;
use crate::common::bellwether;

/// Nanoseconds since the machine started, to the hundredth of a second.
fn uptime() -> u64 {
    let text = fs::read_to_string("/proc/uptime").expect("Linux");
    nanoseconds(text.split(' ').next().expect("two numbers"))
}

/// As many as so many seconds.
fn nanoseconds(seconds: &str) -> u64 {
    let seconds: f64 = seconds.parse().expect("a number");
    u64::try_from(Duration::from_secs_f64(seconds).as_nanos()).expect("fits")
}

/// What a shell reads at most of it.
const TICK: u64 = 10_000_000;

/// Each start says until when its lease lasts, and what time it is.
const TELLS: &str = r#"starts
read up rest < /proc/uptime
echo "lease $BELLWETHER_LEASE_UNTIL $up" >> "$0"; "#;

#[test]
fn a_command_knows_its_lease_and_never_starts_with_less_of_it_than_it_needs() {
    let cluster = Cluster::patient();
    // Between two rounds, 4 s are left at least. Most moments leave less than it needs.
    let flags = ["--min-lease", "3950ms", "--restart", "always"];
    let before = uptime();
    let mut nodes = cluster.exec_all(&flags, &[TELLS, "exit 0"].concat());
    let told = cluster.waits_for_word("lease", 4);
    assert_eq!(cluster.starts().iter().map(|start| start.0).max(), Some(cluster.starts()[0].0));
    for words in told {
        let (until, now) = (words[0].parse::<u64>().expect("a number"), nanoseconds(&words[1]));
        let left = until.saturating_sub(now) / 1_000_000;
        assert!(now >= before && until < uptime() + 5_000_000_000 + TICK, "{words:?}");
        // The shell itself takes its time after it has started.
        assert!((2_000..=5_010).contains(&left), "{left} ms of 5 s are left");
    }
    // A command that ends with status 0 is started again, until the program is asked to end.
    let leader = cluster.starts()[0].1;
    let node = &mut nodes[usize::from(leader) - 1];
    node.ask_to_end();
    assert!(node.ended().code().is_some_and(|code| code == 0 || code == 128 + 15));
}

/// The keeper, with a lease of which so much is left, and what it answers.
fn kept(left: u64, least: u64) -> (String, bool) {
    let cluster = Cluster::quorum();
    let (ours, theirs) = UnixStream::pair().expect("a socket");
    let mut command = bellwether();
    command.arg("exec-keeper").args(["--until", &(uptime() + left).to_string()]);
    command.args(["--least", &least.to_string(), "--grace", "0", "--margin", "0", "--"]);
    command.args(["sh", "-c", "echo started > \"$0\""]).arg(cluster.journal());
    let mut keeper = Process::start(command.stdin(Stdio::from(OwnedFd::from(theirs))));
    let mut answer = String::new();
    drop(command);
    BufReader::new(&ours).read_line(&mut answer).expect("it answers");
    keeper.ended();
    (answer, cluster.journal().exists())
}

/// However long it took until then: the keeper looks at the clock before it starts the command.
#[test]
fn a_keeper_starts_nothing_with_too_little_of_the_lease() {
    const SECOND: u64 = 1_000_000_000;
    assert_eq!(kept(20 * SECOND, 30 * SECOND), ("late 0\n".to_owned(), false));
    assert_eq!(kept(0, 0), ("late 0\n".to_owned(), false));
    assert_eq!(kept(40 * SECOND, 30 * SECOND), ("ended 0\n".to_owned(), true));
}

/// Says when it gets SIGTERM, and then all the time what time it is.
const WAITS: &str = r#"
say() { read up rest < /proc/uptime; echo "$1 $up $BELLWETHER_LEASE_UNTIL" >> "$0"; }
trap 'say term' TERM
starts
while :; do say lives; sleep 0.01; done"#;

#[test]
fn sigterm_comes_so_long_before_sigkill_as_the_grace_says() {
    for grace in [1_000, 3_000] {
        let cluster = Cluster::patient();
        let flags = ["--grace", &format!("{grace}ms"), "--margin", "500ms"];
        let mut nodes = cluster.exec_all(&flags, WAITS);
        let (_, leader) = cluster.wait_for_start(1);
        cluster.waits_for_word("lives", 3);
        // It renews its lease no longer.
        let node = &mut nodes[usize::from(leader) - 1];
        node.send(Signal::STOP);
        let term = cluster.waits_for_word("term", 1)[0].clone();
        cluster.wait_for_start(2);
        let lives = cluster.written("lives");
        let of_it = lives.iter().filter(|words| words[1] == term[1]);
        let last = of_it.map(|words| nanoseconds(&words[0])).max().expect("it has lived");
        let had = last.saturating_sub(nanoseconds(&term[0])) / 1_000_000;
        assert!((grace / 2..grace + 1_000).contains(&had), "{had} ms of {grace} ms");
        node.send(Signal::CONT);
    }
}

/// It is to end, and no node renews its lease: that is no reason to wait for another.
#[test]
fn a_program_that_is_asked_to_end_ends_although_the_lease_is_lost_meanwhile() {
    let cluster = Cluster::quorum();
    let mut nodes = cluster.exec_all(&[], STUBBORN);
    let (_, leader) = cluster.wait_for_start(1);
    for other in (1..=3).filter(|&node| node != leader) {
        nodes[usize::from(other) - 1].send(Signal::STOP);
    }
    let node = &mut nodes[usize::from(leader) - 1];
    node.ask_to_end();
    assert_eq!(node.ended().code(), Some(128 + 9));
    cluster.no_two_at_once();
}

/// The node waits for its scripts itself, and what ends with the command is not theirs.
#[test]
fn a_script_of_the_node_outlives_the_command() {
    let cluster = Cluster::quorum();
    let hook = "sleep 0.3; echo $BELLWETHER_SEQ >> told-$BELLWETHER_NODE";
    cluster.hook(&[("on_change", hook)], "");
    let _others = [1, 2].map(|node| cluster.exec(node, &["--set", "skew=20s"], "starts; sleep 60"));
    // Its command ends while a script runs.
    let mut node = cluster.exec(3, &[], "starts; exit 0");
    assert_eq!(node.ended().code(), Some(0));
    let log = cluster.log_of("3");
    assert!(!log.contains("the hook failed") && !log.contains("the hook cannot run"), "{log}");
    let numbers = cluster.text_of("told-3");
    let numbers: Vec<usize> = numbers.lines().map(|line| line.parse().expect("a number")).collect();
    assert!(numbers.len() >= 3, "{numbers:?}: {log}");
    assert!(numbers.iter().copied().eq(1..=numbers.len()), "{numbers:?}: {log}");
}
