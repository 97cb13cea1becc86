//! The command: with files, also of a program in another language, and with logs that grow while
//! they are judged, where what is not allowed is told at once.

use super::{Faults, outside, quorums};
use bellwether_docs_runner::{object_of, root};
use predicates::prelude::*;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

fn command(logs: &[PathBuf]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::cargo_bin("bellwether-conformance").expect("built");
    command.env("NO_COLOR", "1").arg("validate").args(logs);
    command
}

fn write(folder: &Path, logs: &[String]) -> Vec<PathBuf> {
    let write = |(log, at): (&String, usize)| {
        let file = folder.join(format!("node-{at}.ndjson"));
        fs::write(&file, log).expect("ours");
        file
    };
    logs.iter().zip(1..).map(write).collect()
}

#[test]
fn the_kinds_of_steps_that_were_judged_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = quorums(1, Faults::NONE, 300);
    let files = write(folder.path(), &logs);
    let output = command(&files).arg("--json").output().expect("ran");
    let object = object_of("bellwether-conformance-validate", &output.stdout);
    let (judged, met) = (&object["judged"], object["judged"]["met"].as_array().expect("a list"));
    let count = |action: &str| -> u64 {
        let of_it = met.iter().filter(|met| met["action"] == action);
        of_it.filter_map(|met| met["transitions"].as_u64()).sum()
    };
    for (action, step) in [("deliver", "receive"), ("expire", "expire")] {
        let steps = judged["steps"][step].as_u64().expect("a number");
        assert!((1..=steps).contains(&count(action)), "{action}: {steps}, {met:?}");
    }
    let starts = count("start") + count("recover");
    assert!(starts > 0 && Some(starts) <= judged["incarnations"].as_u64(), "{met:?}");
}

#[test]
fn the_command_accepts_rejects_and_refuses() {
    let folder = tempfile::tempdir().expect("a folder");
    let says = |what: &'static str| predicate::str::contains(what);
    let logs = quorums(1, Faults::NONE, 300);
    let files = write(folder.path(), &logs);
    command(&files).assert().code(0).stderr("").stdout(
        says("quorum, recommended: logs and model\n\n3 logs of 3 members,")
            .and(says("The logs are accepted")),
    );
    let mut wrong = logs.clone();
    wrong[0] = wrong[0].replacen("\"Support\":1", "\"Support\":2", 1);
    let files = write(folder.path(), &wrong);
    command(&files).assert().code(1).stdout(says("The logs are rejected.").and(says("line ")));
    let output = command(&files).arg("--json").output().expect("ran");
    let object = object_of("bellwether-conformance-validate", &output.stdout);
    assert_eq!(object["verdict"], "rejected");
    assert!(object["rejection"]["line"].as_u64().is_some_and(|line| line > 1));
    let small = folder.path().join("small");
    let reduces = || {
        let mut command = command(&files);
        command.arg("--reduce").arg(&small);
        command
    };
    reduces().assert().code(1).stderr("").stdout(says("Saved: ").and(says(" lines of ")));
    let smaller = fs::read_dir(&small).expect("a folder");
    let smaller: Vec<_> = smaller.map(|file| file.expect("a file").path()).collect();
    command(&smaller).assert().code(1).stdout(says("The logs are rejected."));
    reduces().assert().code(1).stderr(says("cannot write"));
    let mut malformed = logs;
    malformed[1] = malformed[1].replacen("\"n\":5,", "\"n\":five,", 1);
    let files = write(folder.path(), &malformed);
    command(&files).assert().code(2).stdout(says("node-2.ndjson, line 6 (byte "));
    let none = [folder.path().join("none.ndjson")];
    command(&none).assert().code(2).stdout("").stderr(says("cannot read"));
}

/// The log of a program that does not say how long timers take.
fn untimed(log: &str) -> String {
    let line = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        if let Some(start) = line.get_mut("start").and_then(serde_json::Value::as_object_mut) {
            start.remove("durations");
        }
        format!("{line}\n")
    };
    log.lines().map(line).collect()
}

#[test]
fn what_is_not_judged_makes_the_verdict_unknown_unless_that_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs: Vec<_> = quorums(1, Faults::NONE, 300).iter().map(|log| untimed(log)).collect();
    let files = write(folder.path(), &logs);
    let says = |what: &'static str| predicate::str::contains(what);
    let why = says("steps that arm timers, in starts that do not say how long these take: have");
    command(&files).assert().code(3).stdout(why.and(says("The verdict is unknown")));
    let output = command(&files).arg("--json").output().expect("ran");
    assert_eq!(output.status.code(), Some(3));
    let object = object_of("bellwether-conformance-validate", &output.stdout);
    assert_eq!(object["verdict"], "unknown");
    let accepted = says("The logs are accepted");
    command(&files).arg("--allow-unjudged").assert().code(0).stdout(accepted);
}

#[test]
fn a_program_in_another_language_can_have_its_logs_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = root().join("examples/clients/bully_log.py");
    let ran = Command::new("python3").arg(&script).arg(folder.path()).output();
    let Ok(ran) = ran else { return };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let files: Vec<_> = (1..=3).map(|node| folder.path().join(format!("{node}.ndjson"))).collect();
    let accepted = predicate::str::contains("bully, recommended: logs and model")
        .and(predicate::str::contains("The logs are accepted"));
    command(&files).assert().code(0).stdout(accepted);
    let log = fs::read_to_string(&files[0]).expect("text");
    fs::write(&files[0], log.replace("\"to\": 2", "\"to\": 3")).expect("ours");
    command(&files).assert().code(1);
}

const SECOND: Duration = Duration::from_secs(1);
/// For what takes long only on a machine that has much else to do.
const LONG: Duration = Duration::from_secs(60);

/// `validate --follow --json`, and the lines that it prints.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn new(logs: &[PathBuf]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
        command.args(["validate", "--follow", "--json"]).args(logs);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let (queue, lines) = channel();
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|l| queue.send(l)));
        Follower { child, lines }
    }

    /// The next event of this name, before which only such come as tell how far it is.
    fn event(&self, name: &str, within: Duration) -> Option<serde_json::Value> {
        let until = Instant::now() + within;
        loop {
            let line = match self.lines.recv_timeout(until - Instant::now().min(until)) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => panic!("it has ended before {name}"),
            };
            let event = object_of("bellwether-conformance-validate-follow", &line);
            if event["event"] == name {
                return Some(event);
            }
            let tells = ["begun", "judged", "difference"];
            let known = tells.contains(&event["event"].as_str().expect("a name"));
            assert!(known, "{event}");
        }
    }

    /// Waits until so many lines are judged.
    fn judges(&self, lines: u64) -> serde_json::Value {
        loop {
            let event = self.event("judged", LONG).expect("it judges");
            if event["lines"].as_u64() >= Some(lines) {
                return event;
            }
        }
    }

    fn interrupt(&self) {
        let id = self.child.id().to_string();
        let killed = Command::new("kill").args(["-INT", &id]).status().expect("there is a kill");
        assert!(killed.success());
    }

    /// Interrupts it, and returns what it says then.
    fn interrupted(self, verdict: &str) -> serde_json::Value {
        self.interrupt();
        self.ends(verdict)
    }

    /// Returns what it says at its end: this verdict, with the status for it.
    fn ends(mut self, verdict: &str) -> serde_json::Value {
        let ended = self.event("ended", LONG).expect("it ends");
        assert_eq!(ended["verdict"], verdict);
        let status = self.child.wait().expect("ours");
        assert_eq!(status.code(), Some(i32::from(verdict != "accepted")));
        ended
    }
}

fn append(file: &Path, text: &str) {
    let mut file = File::options().append(true).open(file).expect("ours");
    file.write_all(text.as_bytes()).expect("ours");
}

fn count(logs: &[String]) -> u64 {
    logs.iter().map(|log| log.lines().count() as u64).sum()
}

/// Logs of which the first ends before a line in which a number can be wrong; and that line.
fn before_a_number() -> (Vec<String>, String) {
    let mut logs = quorums(1, Faults::NONE, 300);
    let at = logs[0].find("\"Support\":1").expect("a message");
    let begins = logs[0][..at].rfind('\n').expect("not the first line") + 1;
    let rest = logs[0].split_off(begins);
    let line = rest.split_inclusive('\n').next().expect("a line").to_owned();
    (logs, line)
}

#[test]
fn a_wrong_line_is_told_within_a_second() {
    // On a machine that does much else at the time, it is tried again.
    assert!((0..30).any(|_| is_told_within_a_second()), "no wrong line was told in time");
}

fn is_told_within_a_second() -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let (logs, line) = before_a_number();
    let files = write(folder.path(), &logs);
    let mut follower = Follower::new(&files);
    follower.judges(logs[0].lines().count() as u64);
    append(&files[0], &line.replacen("\"Support\":1", "\"Support\":2", 1));
    // The node that had the message before shows a difference as well.
    let until = Instant::now() + SECOND;
    let found = loop {
        let Some(found) = follower.event("difference", until - Instant::now().min(until)) else {
            follower.interrupt();
            follower.child.wait().expect("ours");
            return false;
        };
        if found["rejection"]["log"] == files[0].display().to_string() {
            break found;
        }
    };
    assert_eq!(found["rejection"]["line"], logs[0].lines().count() + 1);
    assert!(found["report"].as_array().is_some_and(|lines| lines.len() > 3), "{found}");
    let ended = follower.interrupted("rejected");
    assert!((1..=2).contains(&ended["differences"].as_u64().expect("a number")), "{ended}");
    true
}

#[test]
fn logs_that_grow_are_accepted_line_by_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = quorums(1, Faults::NONE, 300);
    // The first line of the last log has no end yet.
    let cut = |log: &String, at: usize| (log[..at].to_owned(), log[at..].to_owned());
    let [one, two, three] = [&logs[0], &logs[1], &logs[2]];
    let begun = [cut(one, one.len() / 2), cut(two, two.len() / 3), cut(three, 20)];
    let files = write(folder.path(), &begun.clone().map(|(begins, _)| begins));
    let follower = Follower::new(&files);
    thread::sleep(SECOND / 2);
    for (file, (_, rest)) in files.iter().zip(&begun) {
        let half = rest.len() / 2;
        append(file, &rest[..half]);
        thread::sleep(SECOND / 2);
        append(file, &rest[half..]);
    }
    follower.judges(count(&logs));
    assert_eq!(follower.interrupted("accepted")["judged"]["lines"], count(&logs));
}

#[test]
fn what_a_killed_node_did_not_write_is_believed_after_a_while() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut logs = quorums(1, Faults::NONE, 300);
    let half = logs[2].lines().count() / 2;
    logs[2] = logs[2].split_inclusive('\n').take(half).collect();
    let follower = Follower::new(&write(folder.path(), &logs));
    let event = follower.judges(count(&logs));
    assert!(event["believed"].as_u64() > Some(0), "{event}");
    follower.interrupted("accepted");
}

#[test]
fn what_follows_from_a_difference_is_not_told_again_and_the_next_start_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let (logs, line) = before_a_number();
    let files = write(folder.path(), &logs);
    let follower = Follower::new(&files[..1]);
    let wrong = line.replacen("\"Support\":1", "\"Support\":2", 1);
    append(&files[0], &wrong);
    assert!(follower.event("difference", LONG).is_some());
    // Its next start has the same, but another number.
    let again = format!("{}{wrong}", logs[0]);
    let start: serde_json::Value =
        serde_json::from_str(again.lines().next().expect("a start")).expect("JSON");
    let number = start["start"]["incarnation"].to_string();
    let incarnation = |number: &str| format!("\"incarnation\":{number},\"members\"");
    append(&files[0], &again.replacen(&incarnation(&number), &incarnation("77"), 1));
    let found = follower.event("difference", LONG).expect("the next start is judged");
    let before = again.lines().count() as u64;
    assert!(found["rejection"]["line"].as_u64() > Some(before), "{found}");
    assert_eq!(follower.interrupted("rejected")["differences"], 2);
}

#[test]
fn the_log_of_a_client_of_a_store_outside_of_the_cluster_is_no_false_alarm() {
    let log = outside::logs(&[1, 2, 3, 65_535], 1).swap_remove(1);
    let mut follower = Follower::new(&[PathBuf::from("-")]);
    let mut input = follower.child.stdin.take().expect("piped");
    input.write_all(log.as_bytes()).expect("it reads");
    let judged = follower.judges(log.lines().count() as u64);
    assert!(judged["believed"].as_u64() > Some(0), "{judged}");
    drop(input);
    assert_eq!(follower.ends("accepted")["judged"]["members"], 4);
}

#[test]
fn one_log_through_standard_input_is_judged_until_it_ends() {
    let logs = quorums(1, Faults::NONE, 300);
    let mut follower = Follower::new(&[PathBuf::from("-")]);
    let mut input = follower.child.stdin.take().expect("piped");
    input.write_all(logs[1].as_bytes()).expect("it reads");
    follower.judges(logs[1].lines().count() as u64);
    drop(input);
    assert_eq!(follower.ends("accepted")["judged"]["logs"], 1);
}
