//! `bellwether exec`: the command of an old leader has ended before that of the next one starts,
//! whatever happens to the processes around it.
//!
//! `BELLWETHER_ROUNDS` says how many rounds each fault is tried; without it they are few.

mod handover;
mod killed;
mod lease;
mod unlisted;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bellwether_testbed::process::{children, send};

use super::common::{Cluster, PROGRAM, Process, Signal, daemon, wait_until};
use super::hooks::{FILE, OFTEN};

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

    /// The words of a command: a script, whose `$0` is the path of the journal.
    fn script(&self, script: &str) -> [String; 4] {
        let journal = self.journal().display().to_string();
        ["sh".to_owned(), "-c".to_owned(), [STARTS, script].concat(), journal]
    }

    /// `bellwether exec` for one node.
    fn exec(&self, node: u16, more: &[&str], script: &str) -> Process {
        self.exec_by(self.command("exec", node).args(more), node, script)
    }

    /// The same, by a command to which that of the leader is appended.
    fn exec_by(&self, command: &mut Command, node: u16, script: &str) -> Process {
        command.arg("--").args(self.script(script));
        Process::start(command.stderr(self.log(&node.to_string())))
    }

    /// The same for all nodes.
    fn exec_all(&self, more: &[&str], script: &str) -> [Process; 3] {
        [1, 2, 3].map(|node| self.exec(node, more, script))
    }

    /// Nodes 1 and 2, which vote for node 3 before they would lead themselves.
    fn voters(&self) -> [Process; 2] {
        [1, 2].map(|node| self.run(&node.to_string(), node, &["--set", "skew=20s"]))
    }

    fn journal(&self) -> PathBuf {
        self.folder().join("journal")
    }

    fn lines(&self) -> Vec<Vec<String>> {
        let text = self.text_of("journal");
        text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }

    /// The words behind this one, each time that it was written.
    fn written(&self, word: &str) -> Vec<Vec<String>> {
        let lines = self.lines().into_iter().filter(|words| words[0] == word);
        lines.map(|words| words[1..].to_vec()).collect()
    }

    /// The same, once it was written so often.
    #[track_caller]
    fn waits_for_word(&self, word: &str, count: usize) -> Vec<Vec<String>> {
        let all = || self.written(word).len() >= count;
        wait_until(&format!("{count} times {word}"), all, || self.logs());
        self.written(word)
    }

    /// The epochs and the nodes of the commands that were started.
    fn starts(&self) -> Vec<(u64, u16)> {
        let number = |word: &String| word.parse::<u64>().expect("a number");
        let starts = self.written("start").into_iter();
        starts.map(|words| (number(&words[1]), number(&words[2]) as u16)).collect()
    }

    #[track_caller]
    fn wait_for_start(&self, count: usize) -> (u64, u16) {
        self.waits_for_word("start", count);
        self.starts()[count - 1]
    }

    /// No process of a command did anything, or was there at all, after the next had started.
    #[track_caller]
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
    #[track_caller]
    fn both_work(&self) {
        let text = self.text_of("journal");
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

/// The process that watches over the command of a node.
#[track_caller]
fn keeper(node: &Process) -> u32 {
    let [keeper] = children(node.id())[..] else { panic!("one child: the keeper") };
    keeper
}

/// Does this to the leader each round, and `after` once another leads.
fn each_round(
    script: &str,
    fault: impl Fn(&mut Process),
    after: impl Fn(&Cluster, u16, &mut Process),
) {
    let cluster = Cluster::quorum();
    let mut nodes = cluster.exec_all(&[], script);
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
    each_round(STUBBORN, |node| signal(keeper(node), Signal::KILL), |_, _, _| {});
}

#[test]
fn a_command_ends_although_its_keeper_stands_still() {
    // The node is asked to end, and the keeper does not do its work.
    let cluster = Cluster::quorum();
    let mut nodes = cluster.exec_all(&["--stop-timeout", "100ms"], STUBBORN);
    let (_, leader) = cluster.wait_for_start(1);
    let node = &mut nodes[usize::from(leader) - 1];
    signal(keeper(node), Signal::STOP);
    node.ask_to_end();
    node.ended();
    cluster.wait_for_start(2);
    cluster.no_two_at_once();
    cluster.both_work();
}

#[test]
fn signals_are_forwarded_also_while_it_waits() {
    let cluster = Cluster::quorum();
    let mut alone = cluster.exec(3, &[], "exit 0");
    cluster.logs_of("3", &["taking part"]);
    alone.ask_to_end();
    assert_eq!(alone.ended().code(), Some(128 + 15));

    let script = r#"trap 'echo "hup 0" >> "$0"' HUP; trap 'exit 5' TERM
        starts
        while :; do sleep 0.01; done"#;
    let mut nodes = cluster.exec_all(&[], script);
    let (_, leader) = cluster.wait_for_start(1);
    let node = &mut nodes[usize::from(leader) - 1];
    node.send(Signal::HUP);
    cluster.waits_for_word("hup", 1);
    node.ask_to_end();
    assert_eq!(node.ended().code(), Some(5));
}

/// A signal for a command is for one that runs: it would end the next one before it can hear it.
#[test]
fn a_signal_for_a_command_is_not_kept_for_the_next_one() {
    let cluster = Cluster::quorum();
    let mut three = cluster.exec(3, &[], "starts; sleep 0.5; exit 7");
    cluster.logs_of("3", &["taking part"]);
    for signal in [Signal::USR1, Signal::USR2] {
        three.send(signal);
    }
    let _others = cluster.voters();
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
        let mut nodes = cluster.exec_all(kept, script);
        let (_, leader) = cluster.wait_for_start(1);
        for (level, result) in [("debug", "log.level"), ("nonsense", "nothing of it is used")] {
            cluster.configure(&format!("[log]\nlevel = \"{level}\"\n"));
            nodes.iter().for_each(|node| node.send(Signal::HUP));
            let all = || (1..=3).all(|node| reloads(&cluster, node, result) == 1);
            wait_until(&format!("all have read it again: {level}"), all, || cluster.logs());
        }

        // What comes later has come after what came before.
        nodes[usize::from(leader) - 1].send(Signal::USR1);
        assert_eq!(cluster.waits_for_word("usr1", 1), [[leader.to_string()]]);
        let heard = cluster.written("hup");
        assert_eq!(!heard.is_empty(), kept.is_empty(), "{kept:?}: {heard:?}");
        nodes.iter_mut().for_each(|node| node.ask_to_end());
        assert_eq!(nodes[usize::from(leader) - 1].ended().code(), Some(5));
    }
}

/// Writes into the pipe that has replaced the configuration, once it is read.
fn answer(cluster: &Cluster, text: &str) {
    let write = "printf %s \"$0\" > \"$1\"";
    let mut command = Command::new("timeout");
    command.args(["30", "sh", "-c", write, text]).arg(cluster.config());
    assert!(command.status().is_ok_and(|status| status.success()), "it is not read");
}

/// A configuration that does not answer, such as one on a server that is gone: the command goes on,
/// and so does the node.
#[test]
fn a_command_goes_on_while_the_configuration_does_not_answer() {
    let cluster = Cluster::quorum();
    let nodes = cluster.exec_all(&["--no-forward", "HUP"], PLAIN);
    let (_, leader) = cluster.wait_for_start(1);
    let log = || cluster.log_of(&leader.to_string());
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

    for (level, count) in [("debug", 1), ("info", 2)] {
        answer(&cluster, &(cluster.text("test") + &format!("[log]\nlevel = \"{level}\"\n")));
        let is_read = || reloads(&cluster, leader, "log.level") == count;
        wait_until(&format!("it is read: {level}"), is_read, log);
    }
    assert_eq!(cluster.starts().len(), 1, "{}", log());
    cluster.no_two_at_once();
}

/// A command whose node is not fit to lead any more ends, and that of another node starts.
#[test]
fn a_command_runs_only_where_the_check_succeeds() {
    let cluster = Cluster::quorum();
    cluster.check(FILE, OFTEN);
    (1..=3).for_each(|node| cluster.set_fit(node, true));
    let _nodes = cluster.exec_all(&[], STUBBORN);
    let (epoch, first) = cluster.wait_for_start(1);
    cluster.set_fit(first, false);
    let (later, second) = cluster.wait_for_start(2);
    assert!(later > epoch && second != first, "{later} of {second}, {epoch} of {first}");

    // It is fit again, and no other is: the command comes to it.
    cluster.set_fit(first, true);
    (1..=3).filter(|&node| node != first).for_each(|node| cluster.set_fit(node, false));
    let runs = || cluster.starts().last().is_some_and(|&(_, node)| node == first);
    wait_until("the first runs it again", runs, || cluster.logs());
    cluster.no_two_at_once();
    cluster.both_work();
}

/// Another file has its name from now on.
fn replace(program: &Path) {
    let new = program.with_extension("new");
    fs::write(&new, "#!/bin/sh\nexit 1\n").expect("ours");
    fs::rename(new, program).expect("ours");
}

/// It is removed with its folder.
fn remove(program: &Path) {
    fs::remove_dir_all(program.parent().expect("a folder")).expect("ours");
}

/// The file of the program is replaced, or is gone, while nodes run that have not led yet: that is
/// what an upgrade does. They start their commands all the same.
#[test]
fn a_command_starts_although_the_program_was_replaced_or_removed_meanwhile() {
    for fault in [replace, remove] {
        let cluster = Cluster::quorum();
        let folder = cluster.folder().join("bin");
        fs::create_dir(&folder).expect("ours");
        let program = folder.join("bellwether");
        // By another process: one that this test forks meanwhile may still have the file open.
        let copied = Command::new("cp").arg(PROGRAM).arg(&program).status();
        assert!(copied.is_ok_and(|status| status.success()), "cp");
        let mut command = daemon(&program);
        command.args(cluster.command("exec", 3).get_args());
        let mut three = cluster.exec_by(&mut command, 3, "starts; exit 7");
        // It does not lead alone.
        cluster.logs_of("3", &["taking part"]);
        fault(&program);
        let _others = cluster.voters();
        assert_eq!(cluster.wait_for_start(1).1, 3);
        assert_eq!(three.ended().code(), Some(7), "{}", cluster.log_of("3"));
    }
}

/// In a list of processes the keeper has the name of the program.
#[test]
fn the_keeper_has_the_name_of_the_program() {
    let cluster = Cluster::quorum();
    let nodes = cluster.exec_all(&[], PLAIN);
    let (_, leader) = cluster.wait_for_start(1);
    let keeper = keeper(&nodes[usize::from(leader) - 1]);
    let name = fs::read_to_string(format!("/proc/{keeper}/comm")).expect("it runs");
    assert_eq!(name, "bellwether\n");
}
