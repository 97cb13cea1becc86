//! `bellwether exec`: the command of an old leader has ended before that of the next one starts,
//! whatever happens to the processes around it.
//!
//! `BELLWETHER_ROUNDS` says how many rounds each fault is tried; without it they are few.

mod environment;
mod handover;
mod hanging;
mod health;
mod killed;
mod upgrade;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use bellwether_testbed::process::{children, send};

use super::bad_input::refuses;
use super::common::{Cluster, Process, Signal, bellwether, wait_until};

/// What a command says when it starts, and a lock that it and all that it starts hold for as long
/// as one of them lives.
const STARTS: &str = r#"
starts() {
    export ME=$$
    echo "start $ME $BELLWETHER_EPOCH $BELLWETHER_LEADER" >> "$0"
    exec 9>> "$0.lock"
    flock --nonblock 9 || echo "overlap $ME" >> "$0"
}
"#;

/// Ends when it is asked to.
const PLAIN: &str = r#"starts; while :; do echo "child $ME" >> "$0"; sleep 0.01; done"#;

/// Takes no notice of SIGTERM, has left its group by a grandchild that does neither, and writes
/// down what it does.
const STUBBORN: &str = r#"
trap '' TERM
starts
setsid sh -c 'trap "" TERM HUP; while :; do echo "grandchild $ME" >> "$0"; sleep 0.01; done' "$0" &
while :; do echo "child $ME" >> "$0"; sleep 0.01; done
"#;

impl Cluster {
    fn quorum() -> Self {
        Self::running(3, "quorum", "")
    }

    /// The same with a lease that leaves a machine that has much to do its time.
    fn patient() -> Self {
        let timing = "[quorum]\nround = \"1s\"\nlease = \"5s\"\npromise = \"6s\"\n";
        Self::running(3, "quorum", timing)
    }

    /// `bellwether exec` for one node; the command gets the path of the journal as its `$0`.
    fn exec(&self, node: u16, more: &[&str], script: &str) -> Process {
        self.exec_by(bellwether(), node, more, script)
    }

    /// The same, by a daemon in another file.
    fn exec_by(&self, daemon: Command, node: u16, more: &[&str], script: &str) -> Process {
        let path = self.folder().join(format!("{node}.log"));
        let log = File::options().create(true).append(true).open(path).expect("writable");
        let mut command = self.command_by(daemon, node, more);
        command.args(["--", "sh", "-c", &[STARTS, script].concat()]).arg(self.journal());
        Process::start(command.stderr(log))
    }

    fn command(&self, node: u16, more: &[&str]) -> Command {
        self.command_by(bellwether(), node, more)
    }

    fn command_by(&self, mut daemon: Command, node: u16, more: &[&str]) -> Command {
        daemon.arg("exec").arg("--config").arg(self.config()).args(["--node", &node.to_string()]);
        daemon.args(more);
        daemon
    }

    /// A file with this text and these permissions.
    fn program(&self, text: &str, mode: u32) -> String {
        let path = self.folder().join("program");
        fs::write(&path, text).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        path.display().to_string()
    }

    fn journal(&self) -> PathBuf {
        self.folder().join("journal")
    }

    fn lines(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.journal()).unwrap_or_default();
        text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }

    /// The epochs and the nodes of the commands that were started.
    fn starts(&self) -> Vec<(u64, u16)> {
        let lines = self.lines();
        let starts = lines.iter().filter(|words| words[0] == "start");
        let number = |word: &String| word.parse::<u64>().expect("a number");
        starts.map(|words| (number(&words[2]), number(&words[3]) as u16)).collect()
    }

    fn wait_for_start(&self, count: usize) -> (u64, u16) {
        let logs = || [1, 2, 3].map(|node| self.log_of(&node.to_string())).concat();
        wait_until("a command starts", || self.starts().len() >= count, logs);
        self.starts()[count - 1]
    }

    /// No process of a command did anything, or was there at all, after the next had started.
    fn no_two_at_once(&self) {
        let mut latest = String::new();
        for words in self.lines() {
            if words[0] == "start" {
                latest.clone_from(&words[1]);
            }
            assert_eq!(words[1], latest, "{words:?}, after process {latest} had started");
            assert_ne!(words[0], "overlap", "the command before {latest} was there still");
        }
    }

    /// Both kinds of processes have done something.
    fn both_work(&self) {
        let text = fs::read_to_string(self.journal()).expect("written");
        assert!(text.contains("grandchild ") && text.contains("\nchild "), "{text}");
    }
}

fn rounds() -> usize {
    std::env::var("BELLWETHER_ROUNDS").map_or(2, |text| text.parse().expect("BELLWETHER_ROUNDS"))
}

#[track_caller]
fn signal(process: u32, signal: Signal) {
    send(process, signal).expect("the process is there");
}

/// Does this to the leader each round, and `after` once another leads.
fn each_round(
    script: &str,
    fault: impl Fn(&mut Process),
    after: impl Fn(&Cluster, u16, &mut Process),
) {
    let cluster = Cluster::quorum();
    let mut nodes = [1, 2, 3].map(|node| cluster.exec(node, &[], script));
    let (mut epoch, mut leader) = cluster.wait_for_start(1);
    let last = if script == STUBBORN { "grandchild" } else { "child" };
    for round in 1..=rounds() {
        let works = || cluster.lines().iter().rev().take(10).any(|words| words[0] == last);
        wait_until(&format!("the {last} works"), works, String::new);
        let node = &mut nodes[usize::from(leader) - 1];
        fault(node);
        let (next, other) = cluster.wait_for_start(round + 1);
        assert!(next > epoch || (next, other) == (epoch, leader), "{next} after {epoch}");
        after(&cluster, leader, node);
        (epoch, leader) = (next, other);
    }
    cluster.no_two_at_once();
}

#[test]
fn a_command_ends_although_its_node_stands_still() {
    for script in [PLAIN, STUBBORN] {
        each_round(script, |node| node.send(Signal::STOP), |_, _, node| node.send(Signal::CONT));
    }
}

#[test]
fn a_command_ends_with_its_node() {
    let starts = |cluster: &Cluster, id, node: &mut Process| {
        *node = cluster.exec(id, &[], STUBBORN);
    };
    each_round(STUBBORN, Process::kill, starts);
}

#[test]
fn a_command_ends_with_its_keeper() {
    let keeper = |node: &Process| {
        let [keeper] = children(node.id())[..] else { panic!("one child: the keeper") };
        keeper
    };
    each_round(STUBBORN, |node| signal(keeper(node), Signal::KILL), |_, _, _| {});
}

#[test]
fn a_command_ends_although_its_keeper_stands_still() {
    // The node is asked to end, and the keeper does not do its work.
    let cluster = Cluster::quorum();
    let mut nodes =
        [1, 2, 3].map(|node| cluster.exec(node, &["--stop-timeout", "100ms"], STUBBORN));
    let (_, leader) = cluster.wait_for_start(1);
    let node = &mut nodes[usize::from(leader) - 1];
    signal(children(node.id())[0], Signal::STOP);
    node.ask_to_end();
    node.ended();
    cluster.wait_for_start(2);
    cluster.no_two_at_once();
    cluster.both_work();
}

#[test]
fn the_exit_status_is_passed_on() {
    let cluster = Cluster::quorum();
    let mut others = [1, 2].map(|node| cluster.run(&node.to_string(), node, &[]));
    let ends_with = |script: &str| cluster.exec(3, &[], script).ended().code();
    assert_eq!(lead(&cluster, &mut others, || ends_with("exit 7")), Some(7));
    assert_eq!(lead(&cluster, &mut others, || ends_with("kill -9 $$")), Some(128 + 9));
    let script = cluster.program("#!/no/such/interpreter\n", 0o755);
    let missing = || {
        let mut command = cluster.command(3, &["--log-level", "off"]);
        Process::start(command.args(["--", &script])).ended().code()
    };
    assert_eq!(lead(&cluster, &mut others, missing), Some(127));
}

/// A node alone does not lead: what is wrong with its command is known before it does.
#[test]
fn a_command_that_cannot_be_run_is_told_at_the_start() {
    let cluster = Cluster::quorum();
    let config = cluster.config().display().to_string();
    let plain = cluster.program("#!/bin/sh\n", 0o644);
    for (program, status, why) in [
        ("/no/such/command", 127, "No such file"),
        ("no-such-command", 127, "No such file"),
        (plain.as_str(), 126, "Permission denied"),
        ("/", 126, "Permission denied"),
    ] {
        let line = ["exec", "--config", &config, "--node", "1", "--", program];
        refuses(&line, status, &["cannot run", program, why, "name a program"]);
    }
}

/// Runs node 3 so that it leads: the others are there to grant it that, and lead not for long.
fn lead<T>(cluster: &Cluster, others: &mut [Process; 2], run: impl FnOnce() -> T) -> T {
    for other in others.iter_mut() {
        other.kill();
    }
    *others = [1, 2].map(|node| cluster.run(&node.to_string(), node, &["--set", "skew=20s"]));
    run()
}

#[test]
fn signals_are_forwarded_also_while_it_waits() {
    let cluster = Cluster::quorum();
    let mut alone = cluster.exec(3, &[], "exit 0");
    wait_until("it takes part", || cluster.log_of("3").contains("taking part"), String::new);
    alone.ask_to_end();
    assert_eq!(alone.ended().code(), Some(128 + 15));

    let script = r#"trap 'echo "hup 0" >> "$0"' HUP; trap 'exit 5' TERM
        starts
        while :; do sleep 0.01; done"#;
    let mut nodes = [1, 2, 3].map(|node| cluster.exec(node, &[], script));
    let (_, leader) = cluster.wait_for_start(1);
    let node = &mut nodes[usize::from(leader) - 1];
    node.send(Signal::HUP);
    let hup = ["hup".to_owned(), "0".to_owned()];
    wait_until("it hears SIGHUP", || cluster.lines().contains(&hup.to_vec()), String::new);
    node.ask_to_end();
    assert_eq!(node.ended().code(), Some(5));
}

/// A signal for a command is for one that runs: it would end the next one before it can hear it.
#[test]
fn a_signal_for_a_command_is_not_kept_for_the_next_one() {
    let cluster = Cluster::quorum();
    let mut three = cluster.exec(3, &["--new-cluster"], "starts; sleep 0.5; exit 7");
    wait_until("it takes part", || cluster.log_of("3").contains("taking part"), String::new);
    for signal in [Signal::USR1, Signal::USR2] {
        three.send(signal);
    }
    // With it there is a majority.
    let _other = cluster.run("1", 1, &["--set", "skew=20s", "--new-cluster"]);
    cluster.wait_for_start(1);
    assert_eq!(three.ended().code(), Some(7));
}

/// How often a node has read its configuration again, with this result.
fn reloads(cluster: &Cluster, node: u16, result: &str) -> usize {
    let log = cluster.log_of(&node.to_string());
    let told = log.lines().filter(|line| line.contains("the configuration was read again"));
    told.filter(|line| line.contains(result)).count()
}

#[test]
fn sighup_reloads_whether_the_node_leads_or_not_and_is_then_forwarded() {
    let script = r#"trap 'echo "hup $BELLWETHER_LEADER" >> "$0"' HUP
        trap 'echo "usr1 $BELLWETHER_LEADER" >> "$0"' USR1; trap 'exit 5' TERM
        starts
        while :; do sleep 0.01; done"#;
    for kept in [&[][..], &["--no-forward", "HUP"]] {
        let cluster = Cluster::quorum();
        let mut nodes = [1, 2, 3].map(|node| cluster.exec(node, kept, script));
        let (_, leader) = cluster.wait_for_start(1);
        let file = fs::read_to_string(cluster.config()).expect("ours");
        let level = |level: &str| {
            let text = format!("{file}[log]\nlevel = \"{level}\"\n");
            fs::write(cluster.config(), text).expect("ours");
        };
        let logs = || [1, 2, 3].map(|node| cluster.log_of(&node.to_string())).concat();
        level("debug");
        nodes.iter().for_each(|node| node.send(Signal::HUP));
        let all = || (1..=3).all(|node| reloads(&cluster, node, "log.level") == 1);
        wait_until("all have read it again", all, logs);
        level("nonsense");
        nodes.iter().for_each(|node| node.send(Signal::HUP));
        let all = || (1..=3).all(|node| reloads(&cluster, node, "nothing of it is used") == 1);
        wait_until("all refuse it", all, logs);

        // What comes later has come after what came before.
        let heard = |what: &str| {
            let words = [what.to_owned(), leader.to_string()].to_vec();
            cluster.lines().iter().filter(|line| **line == words).count()
        };
        nodes[usize::from(leader) - 1].send(Signal::USR1);
        wait_until("it hears SIGUSR1", || heard("usr1") == 1, logs);
        assert_eq!(heard("hup") > 0, kept.is_empty(), "{kept:?}: {:?}", cluster.lines());
        nodes.iter_mut().for_each(|node| node.ask_to_end());
        assert_eq!(nodes[usize::from(leader) - 1].ended().code(), Some(5));
    }
}

#[test]
fn a_command_that_fails_is_started_again() {
    let cluster = Cluster::quorum();
    let script = r#"starts; test "$(grep -c start "$0")" -ge 2"#;
    let mut nodes = [1, 2, 3].map(|node| cluster.exec(node, &["--restart", "on-failure"], script));
    let (_, leader) = cluster.wait_for_start(1);
    cluster.wait_for_start(2);
    assert_eq!(nodes[usize::from(leader) - 1].ended().code(), Some(0));
}

#[test]
fn what_cannot_work_is_refused() {
    let cluster = Cluster::quorum();
    let config = cluster.config();
    let config = config.to_str().expect("plain text");
    let exec = |more: &[&str], parts: &[&str]| {
        refuses(&[&["exec", "--config", config, "--node", "1"], more].concat(), 2, parts);
    };
    exec(&[], &["needs COMMAND", "its arguments"]);
    let bully = ["--protocol", "bully", "--", "true"];
    exec(&bully, &["with the protocol bully a leader has none", "quorum"]);
    let long = ["--grace", "900ms", "--", "true"];
    exec(&long, &["needs 1s of the lease", "only 800ms", "make `lease` and `promise` longer"]);
}
