//! A log that cannot be written, or that no process reads, disturbs neither elections nor answers,
//! nor the end of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions};
use std::io::{PipeReader, Read as _, Write as _, pipe};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::geteuid;
use serde_json::{Map, Value};

use super::common::{Cluster, PROGRAM, Process, told, wait_until};

/// Lets two nodes lose their leader while their logs go to these places; then they elect, answer,
/// and end when they are asked to.
fn survives(log: impl Fn() -> Stdio) {
    let cluster = Cluster::new(3);
    let mut three = cluster.run("3", 3, &[]);
    // All there is to log.
    let mut nodes = [1, 2].map(|node| cluster.run_to(log(), node, &["--log-level", "trace"]));
    [1, 2].into_iter().for_each(|node| cluster.follows(node, 3));
    three.kill();
    [1, 2].into_iter().for_each(|node| cluster.follows(node, 2));
    for process in &mut nodes {
        process.ask_to_end();
        assert_eq!(process.ended().code(), Some(0));
    }
}

#[test]
fn a_reader_that_is_gone_disturbs_nothing() {
    survives(|| {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        writer.into()
    });
}

#[test]
fn a_full_disk_disturbs_nothing() {
    survives(|| File::options().write(true).open("/dev/full").expect("Linux").into());
}

/// A pipe with no room left. Its reader does not read.
fn stalled() -> (PipeReader, Stdio) {
    let (reader, writer) = pipe().expect("a pipe");
    let mut fills = writer.try_clone().expect("the same pipe");
    let (full, filled) = std::sync::mpsc::channel();
    // It blocks at some time, and is gone with the reader.
    thread::spawn(move || {
        while fills.write_all(&[b'x'; 4096]).is_ok() {
            let _ = full.send(());
        }
    });
    while filled.recv_timeout(Duration::from_secs(1)).is_ok() {}
    (reader, writer.into())
}

#[test]
fn a_reader_that_does_not_read_disturbs_nothing() {
    let readers = std::cell::RefCell::new(Vec::new());
    survives(|| {
        let (reader, writer) = stalled();
        readers.borrow_mut().push(reader);
        writer
    });
}

/// An error that ends the program is not waited for either.
#[test]
fn a_node_that_cannot_run_ends_although_no_process_reads_why() {
    let cluster = Cluster::new(2);
    let first = cluster.run("1", 1, &[]);
    cluster.wait_for(1, "runs", |_| true);
    let (_reader, writer) = stalled();
    let mut second = cluster.run_to(writer, 1, &[]);
    assert_eq!(second.ended().code(), Some(1));
    drop(first);
}

#[test]
fn dropped_lines_are_counted_and_told_when_the_log_can_be_written_again() {
    let mut cluster = Cluster::new(2);
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let one = cluster.run_to(writer, 1, &["--log-format", "json"]);
    let dropped = |status: &Value| status["counters"]["dropped_log_lines"].as_u64();
    cluster.wait_for(1, "leads", |status| status["leader"] == 1 && dropped(status) > Some(1));
    let text = cluster.ask(1, &[]).stdout;
    assert!(String::from_utf8_lossy(&text).contains("lines dropped"), "{text:?}");

    // The reader is there again.
    let mut reader = File::open(format!("/proc/{}/fd/2", one.id())).expect("Linux");
    cluster.start(2);
    cluster.follows(1, 2);
    let mut log = String::new();
    let mut bytes = [0; 4096];
    wait_until(
        "a notice in the log",
        || {
            let read = reader.read(&mut bytes).expect("a line");
            log.push_str(&String::from_utf8_lossy(&bytes[..read]));
            log.contains("lines of this log were dropped")
        },
        String::new,
    );
    let notice = log.lines().find(|line| line.contains("were dropped")).expect("seen above");
    let notice: Value = serde_json::from_str(notice).expect("one object a line");
    assert!(notice["dropped"].as_u64() > Some(1), "{notice}");
}

#[test]
fn every_change_of_role_is_one_line_with_its_number_and_reason() {
    let cluster = Cluster::new(2).led(2..=2);
    let mut one = cluster.run("json", 1, &["--log-format", "json"]);
    let follows = |change: &Value| change["role"] == "follower" && change["leader"] == 2;
    let says = |line: &str| serde_json::from_str(line).is_ok_and(|change| follows(&change));
    let look = || cluster.log_of("json").lines().any(says);
    wait_until("node 1 follows 2", look, || cluster.log_of("json"));
    one.kill();

    let log = cluster.log_of("json");
    let lines = log.lines().map(|line| serde_json::from_str(line).expect("one object a line"));
    let changes: Vec<Value> = lines.filter(|line: &Value| line.get("seq").is_some()).collect();
    for (position, change) in changes.iter().enumerate() {
        assert_eq!(change["seq"], position + 1, "{log}");
        assert_eq!(change["node"], 1, "{log}");
        assert_eq!(change["incarnation"], changes[0]["incarnation"], "{log}");
        for field in ["was", "role", "reason"] {
            assert!(change[field].is_string(), "{field} in {log}");
        }
    }
    assert_eq!(changes[0]["reason"], "booted", "{log}");
    assert!(changes.iter().any(follows), "{log}");
}

/// The table of the fields in `docs/daemon.md`: name and type.
fn listed() -> BTreeMap<String, String> {
    let page = include_str!("../../../docs/daemon.md");
    let (_, text) = page.split_once("\n## The log\n").expect("a heading");
    let text = text.split("\n## ").next().expect("there is a first part");
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', ""));
        Some((cells.next()?, cells.next()?))
    };
    text.lines().filter(|line| line.starts_with("| `")).filter_map(row).collect()
}

#[test]
fn json_has_one_schema_which_the_page_lists() {
    let mut cluster = Cluster::running(3, "quorum", "");
    // Not all are there at once.
    let json = ["--log-format", "json", "--log-level", "trace", "--new-cluster"];
    let mut two = cluster.run("2", 2, &json);
    let mut three = cluster.run("3", 3, &json);
    cluster.follows(2, 3);
    three.kill();
    // No node calls.
    let address = ("127.0.0.1", cluster.ports[&2]);
    let mut wrong = TcpStream::connect(address).expect("it listens");
    wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    cluster.found(1);
    cluster.wait_for(2, "leads", |status| status["role"] == "leader");
    two.ask_to_end();
    assert_eq!(two.ended().code(), Some(0));

    let (listed, log) = (listed(), cluster.log_of("2"));
    let mut seen = BTreeSet::new();
    for line in log.lines() {
        let line: Map<String, Value> = serde_json::from_str(line).expect("one object a line");
        assert_eq!(line["node"], 2, "{line:?}");
        for (name, value) in line {
            let found = if value.is_number() { "number" } else { "string" };
            assert_eq!(listed.get(&name).map(String::as_str), Some(found), "{name}: {value}");
            seen.insert(name);
        }
    }
    for name in ["seq", "was", "role", "leader", "epoch", "reason", "peer", "remote", "signal"] {
        assert!(seen.contains(name), "no line has {name}: {log}");
    }
}

/// Node 1 of this cluster, which may have so many files open.
fn with_few_files(cluster: &Cluster, limit: u32) -> Process {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\""), PROGRAM]);
    limited.args(cluster.command("run", 1).get_args()).stderr(cluster.log("few"));
    Process::start(&mut limited)
}

#[test]
fn strangers_get_no_file_that_the_node_needs() {
    let cluster = Cluster::running(1, "quorum", "");
    let mut fewer = with_few_files(&cluster, 30);
    assert_eq!(fewer.ended().code(), Some(1));
    cluster.logs_of("few", &["may have 30 files open, and the node needs 56", "ulimit -n 56"]);

    let _one = with_few_files(&cluster, 56);
    cluster.follows(1, 1);
    let call = |_| TcpStream::connect(("127.0.0.1", cluster.ports[&1])).expect("it listens");
    let connections: Vec<TcpStream> = (0..100).map(call).collect();
    cluster.logs_of("few", &["too many connections say nothing"]);
    // The leader writes to its disk meanwhile.
    thread::sleep(Duration::from_secs(3));
    let log = cluster.log_of("few");
    for problem in ["cannot accept a connection", "does not answer"] {
        assert!(!log.contains(problem), "{log}");
    }
    cluster.follows(1, 1);
    drop(connections);
}

/// Root has no such limit, so the node runs as another user.
#[test]
fn a_limit_on_threads_is_told() {
    let cluster = Cluster::new(2);
    let program = cluster.folder().join("bellwether");
    fs::copy(PROGRAM, &program).expect("ours");
    fs::set_permissions(cluster.folder(), Permissions::from_mode(0o755)).expect("ours");
    for limit in 1..=3 {
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--nproc={limit}")).arg(&program);
        limited.args(cluster.command("run", 1).get_args());
        if geteuid().is_root() {
            limited.uid(54_321);
        }
        let (status, said) = told(&mut limited);
        assert_eq!(status, Some(1), "{limit}: {said}");
        assert!(said.contains("`ulimit -u`") && !said.contains("panicked"), "{limit}: {said}");
    }
}
