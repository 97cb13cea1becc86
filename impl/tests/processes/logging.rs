//! A log that cannot be written, or that no process reads, disturbs neither elections nor answers,
//! nor the end of the process.

use std::fs::File;
use std::io::{PipeReader, Read as _, Write as _, pipe};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::common::{Cluster, Process, wait_until};

/// How long an end may take. A process that waits for its log would take for ever.
const END: Duration = Duration::from_secs(10);

/// Lets two nodes lose their leader while their logs go to these places; then they elect, answer,
/// and end when they are asked to.
fn survives(log: impl Fn() -> Stdio) {
    let cluster = Cluster::new(3);
    let mut three = cluster.run("3", 3, &[]);
    // All there is to log.
    let mut nodes = [1, 2].map(|node| cluster.run_to(log(), node, &["--log-level", "trace"]));
    follow(&cluster, 3);
    three.kill();
    follow(&cluster, 2);
    for process in &mut nodes {
        ends(process);
    }
}

fn follow(cluster: &Cluster, leader: u16) {
    for node in [1, 2] {
        cluster.wait_for(node, "follows", |status| status["leader"] == leader);
    }
}

fn ends(process: &mut Process) {
    let before = Instant::now();
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
    assert!(before.elapsed() < END, "{:?}", before.elapsed());
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
    while filled.recv_timeout(Duration::from_millis(300)).is_ok() {}
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
    let before = Instant::now();
    let mut second = cluster.run_to(writer, 1, &[]);
    assert_eq!(second.ended().code(), Some(1));
    assert!(before.elapsed() < END, "{:?}", before.elapsed());
    drop(first);
}

#[test]
fn dropped_lines_are_counted_and_told_when_the_log_can_be_written_again() {
    let mut cluster = Cluster::new(2);
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let one = cluster.run_to(writer, 1, &["--log-format", "json"]);
    let dropped = |status: &serde_json::Value| status["counters"]["dropped_log_lines"].as_u64();
    cluster.wait_for(1, "leads", |status| status["leader"] == 1 && dropped(status) > Some(1));
    let text = cluster.ask(1, &[]).stdout;
    assert!(String::from_utf8_lossy(&text).contains("lines dropped"), "{text:?}");

    // The reader is there again.
    let mut reader = File::open(format!("/proc/{}/fd/2", one.id())).expect("Linux");
    cluster.start(2);
    cluster.wait_for(1, "follows", |status| status["leader"] == 2);
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
    let notice: serde_json::Value = serde_json::from_str(notice).expect("one object a line");
    assert!(notice["dropped"].as_u64() > Some(1), "{notice}");
}
