//! The program as a whole: its texts, its exit statuses, and the pages that show its commands.

use bellwether_docs_runner::script::run_scripts;
use bellwether_docs_runner::{Console, other_statuses, pages, root};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The program, without what the environment says about its output.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-literature"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

/// What a run printed and returned.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run_args(dir: &Path, args: &[&str]) -> Ran {
    let output = program().env("CARGO", "cargo").current_dir(dir).args(args).output();
    let output = output.expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let status = output.status.code().expect("it ends by itself");
    Ran { status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

pub(crate) fn run_in(dir: &Path, line: &str) -> Ran {
    run_args(dir, &line.split_whitespace().collect::<Vec<_>>())
}

pub(crate) fn run(line: &str) -> Ran {
    run_in(Path::new("."), line)
}

/// `UPDATE=1 cargo test -p bellwether-literature scripts` writes anew what is printed.
#[test]
fn the_scripts_tell_what_is_printed() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    run_scripts(&package.join("tests/lines"), || {
        // As if it were installed.
        let mut command = program();
        command.env_remove("CARGO").env("LITERATURE", package);
        command
    });
}

/// Every command of the program that a page shows is run.
#[test]
fn every_command_that_a_page_shows_prints_what_stands_under_it() {
    let console = Console {
        program: env!("CARGO_BIN_EXE_bellwether-literature"),
        prompt: "cargo run --release -p bellwether-literature -- ",
        statuses: &|_| &[0],
    };
    let commands = console.run(&pages(), false);
    assert!(commands >= 3, "only {commands} commands");
}

/// Each command with each exit status that it has.
const LINES: &[(&str, i32)] = &[
    ("claims --programs", 0),
    ("claims 59", 0),
    ("claims 59 --ledger wrong", 1),
    ("claims 59 --ledger wrong --json", 1),
    ("claims 59 --ledger wrong --markdown", 1),
    ("claims 9999", 2),
    ("claims 59 --max-states 1", 3),
    ("history leader-for-life", 0),
    ("history nothing", 2),
    ("history leader-for-life --max-states 1", 3),
    ("history leader-for-life --max-states 1 --json", 3),
    ("history leader-for-life --file wrong/bugs.toml", 1),
    ("gallery leader-for-life", 0),
    ("gallery nothing", 2),
    ("gallery leader-for-life --max-states 1", 3),
    ("gallery leader-for-life --file wrong/executions.toml", 1),
    ("like keepalived", 0),
    ("like ectd", 2),
    ("like keepalived --max-states 1", 3),
];

/// The files that the lines name.
fn folder() -> TempDir {
    let dir = TempDir::new().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("wrong")).expect("a folder");
    let literature = root().join("model/literature");
    for file in fs::read_dir(literature.join("claims")).expect("the ledger") {
        let file = file.expect("a file").path();
        let text = fs::read_to_string(&file).expect("text");
        // The ledger says the opposite of what is found.
        let text = text.replace("demands = \"violated\"", "demands = \"holds\"");
        fs::write(at("wrong").join(file.file_name().expect("a name")), text).expect("writable");
    }
    for (folder, name) in [("history", "bugs.toml"), ("gallery", "executions.toml")] {
        let text = fs::read_to_string(literature.join(folder).join(name)).expect("text");
        // The entry says that it takes a step more than it does.
        let text = text.replace("violated in 1 step\"", "violated in 2 steps\"");
        fs::write(at("wrong").join(name), text).expect("writable");
    }
    fs::create_dir(at("full")).expect("a folder");
    symlink("/dev/full", at("full").join("leader-for-life.html")).expect("a link");
    dir
}

#[test]
fn no_reader_and_no_room_makes_another_status() {
    let dir = folder();
    let run = || {
        let mut command = program();
        command.env_remove("CARGO").current_dir(dir.path());
        command
    };
    let wrong: Vec<String> = LINES.iter().flat_map(|&line| other_statuses(run, line, 2)).collect();
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_page_that_cannot_be_written_is_told() {
    let dir = folder();
    let Ran { status, stdout, stderr } = run_in(dir.path(), "gallery leader-for-life --out full");
    assert_eq!(status, 2, "{stderr}");
    for says in ["full/leader-for-life.html", "; give --out", "No space left on device"] {
        assert!(stderr.contains(says), "'{says}' in: {stderr}");
    }
    assert!(!stdout.is_empty(), "what was found is printed all the same");
}

/// Its lines say of what was not run that it was stopped, as they do where a search is too large.
#[test]
fn a_page_that_a_signal_ends_early_is_no_success() {
    let mut child = program()
        .args("claims --markdown larger --threads 1 --quiet".split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.any(|line| line.expect("text").starts_with("| [")), "a first line");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    lines.for_each(drop);
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
}
