//! The program as a whole: its texts, its exit statuses, the page that shows its commands, and what
//! it says when it is stopped, and as JSON.

use super::solvers;
use assert_cmd::Command;
use bellwether_docs_runner::script::run_scripts;
use bellwether_docs_runner::{Console, object_of, other_statuses, pages};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn prove(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("bellwether-prove").expect("it is built");
    command.args(["raft-election", "--max-states", "20", "--quiet"]).args(args);
    command
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A program that does this, whatever it is asked.
fn program(dir: &Path, does: &str) -> PathBuf {
    let path = dir.join("strange");
    fs::write(&path, format!("#!/bin/sh\n{does}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    path
}

/// A signal ends the solver too, and what was not proved by then is not claimed.
#[test]
fn a_signal_ends_the_solver() {
    let dir = TempDir::new().expect("a folder");
    let pid = dir.path().join("pid");
    let path = program(
        dir.path(),
        &format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", pid.display()),
    );
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("bellwether-prove"));
    command.args(["raft-election", "--max-states", "20", "--json", "--solver"]);
    let child = command.arg(&path).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let child = child.expect("it runs");
    let until = Instant::now() + Duration::from_secs(60);
    while !pid.exists() {
        assert!(Instant::now() < until, "the solver was not called");
        thread::sleep(Duration::from_millis(20));
    }
    let number = fs::read_to_string(&pid).expect("written whole").trim().parse().expect("a pid");
    let solver = Pid::from_raw(number).expect("a process");
    let own = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a process");
    kill_process(own, Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    assert!(test_kill_process(solver).is_err(), "the solver goes on");
    let told = object_of("bellwether-prove", &output.stdout);
    let properties = told["parts"][0]["properties"].as_array().expect("a list");
    assert!(properties.iter().all(|one| one["verdict"] == "unknown: interrupted"), "{told}");
}

#[test]
fn the_json_says_what_is_printed() {
    for solver in solvers().into_iter().take(1) {
        let name = solver.name();
        let wrong = ["--rule", "storage=forgets-vote", "--solver", &name];
        for (args, status) in [(&wrong[2..], 0), (&wrong[..], 1)] {
            let output = prove(args).arg("--json").output().expect("it runs");
            assert_eq!(output.status.code(), Some(status));
            let told = object_of("bellwether-prove", &output.stdout);
            let part = &told["parts"][0];
            assert_eq!(told["protocol"], "raft-election");
            assert!(part["model"]["transitions"].as_u64() > Some(100), "{part}");
            let obligations = part["obligations"].as_array().expect("a list");
            assert!(obligations.iter().all(|one| one["seconds"].is_f64()));
            let fails = |one: &&Value| one["verdict"] == "fails" && one["goal"] == "keeps";
            let shown: Vec<_> = obligations.iter().filter(fails).collect();
            assert_eq!(shown.is_empty(), status == 0);
            for one in shown {
                assert_eq!(one["action"], "forget-vote");
                assert!(
                    one["shown"]["step"].as_str().expect("a step").starts_with("forget-vote, p")
                );
            }
            let printed = text(&prove(args).output().expect("it runs")).0;
            let verdict = if status == 0 { "  proved " } else { "  not proved " };
            assert_eq!(printed.matches(verdict).count(), 4, "{printed}");
            assert_eq!(printed.contains("is broken when p recovers"), status == 1, "{printed}");
        }
    }
}

/// The program, without what the environment says about its output.
fn installed() -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bellwether-prove"));
    for name in ["CARGO", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

/// `UPDATE=1 cargo test -p bellwether-prove scripts` writes anew what is printed.
#[test]
fn the_scripts_tell_what_is_printed() {
    run_scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lines"), installed);
}

#[test]
fn no_reader_and_no_room_makes_another_status() {
    let dir = TempDir::new().expect("a folder");
    let agrees = program(dir.path(), "cat > /dev/null\necho unsat");
    let agrees = format!("lease --max-states 20 --solver {}", agrees.display());
    let lines = [(agrees.as_str(), 1), ("lease --solver ./none", 2)];
    let wrong = lines.iter().flat_map(|&line| other_statuses(installed, line, 2));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs what is shown in slow blocks, or in all others; how many commands that were.
fn run_pages(slow: bool) -> usize {
    let console = Console {
        program: env!("CARGO_BIN_EXE_bellwether-prove"),
        prompt: "cargo run --release -p bellwether-prove -- ",
        statuses: &|_| &[0, 1],
    };
    console.run(&pages(), slow)
}

#[test]
fn every_command_that_a_page_shows_prints_what_stands_under_it() {
    let commands = if solvers().is_empty() { 2 } else { run_pages(false) };
    assert!(commands >= 2, "only {commands} commands");
}

#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn every_slow_command_that_a_page_shows_prints_what_stands_under_it() {
    let commands = if solvers().is_empty() { 2 } else { run_pages(true) };
    assert!(commands >= 2, "only {commands} commands");
}
