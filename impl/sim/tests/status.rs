//! What was found is the exit status, whatever becomes of what is printed and saved.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use bellwether_docs_runner::{other_statuses, without_verdict};

const FAILS: &str = "run --runs 500 --faults pauses --wrong clock-stops";

const LINES: &[(&str, i32)] = &[
    ("run --runs 5 --nodes 3 --faults none --threads 1", 0),
    (FAILS, 1),
    ("run --runs 500 --faults pauses --wrong clock-stops --json", 1),
    ("run --nodes 1", 2),
    ("run --runs 1000000 --max-seconds 0", 3),
    ("run --runs 1000000 --max-seconds 0 --json", 3),
    ("failover --protocol bully --nodes 3", 0),
    ("failover --nodes 1", 2),
    ("man", 0),
    ("man --out /proc/nothing", 2),
    ("help run", 0),
    ("help rum", 2),
    ("--version", 0),
];

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bellwether-sim"))
}

/// The line that repeats the run that fails.
fn replay() -> String {
    let output = program().args(FAILS.split(' ')).arg("--json").output().expect("it runs");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    format!("replay {}", found["failed"]["shrunk"].as_str().expect("a code"))
}

#[test]
fn no_reader_and_no_room_makes_another_status() {
    let replay = replay();
    let json = format!("{replay} --json");
    let more = [(&*replay, 1), (&*json, 1), ("replay quorum:5:all", 2)];
    let lines: Vec<(&str, i32)> = LINES.iter().copied().chain(more).collect();
    let wrong = lines.iter().flat_map(|&line| other_statuses(program, line, 2));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What a failover costs is measured, and nothing is claimed.
    assert_eq!(without_verdict(&mut program(), &lines), ["failover", "man", "help"]);
}

#[test]
fn a_picture_that_cannot_be_written_is_told_and_hides_nothing() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failover");
    let picture = dir.join("failover.svg");
    let _ = fs::remove_file(&picture);
    fs::create_dir_all(&dir).and_then(|()| symlink("/dev/full", &picture)).expect("a link");
    let mut command = program();
    command.args(["failover", "--protocol", "bully", "--nodes", "3", "--out"]).arg(&dir);
    let output = command.output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    let says = ["failover.svg; give --out another folder", "No space left on device"];
    assert!(says.iter().all(|says| told.contains(says)), "{told}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("| `bully` |"),
        "the table is printed"
    );
    fs::remove_file(&picture).expect("it is a link");
    assert_eq!(command.output().expect("it runs").status.code(), Some(0));
}
