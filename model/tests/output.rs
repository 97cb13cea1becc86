//! What is printed fits the terminal, gives a pipe one line for each row, and is ASCII if that is
//! asked.

use crate::prove::has_a_solver;
use assert_cmd::Command;
use bellwether_docs_runner::object_of;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// What `line` prints on a terminal that is so wide, or into a pipe.
fn printed(dir: &Path, line: &str, columns: Option<usize>) -> String {
    let mut command = Command::cargo_bin("bellwether-model").expect("the binary is built");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.envs(columns.map(|columns| ("COLUMNS", columns.to_string())));
    let output = command.args(line.split_whitespace()).current_dir(dir).output();
    let output = output.expect("the binary runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3 | 4)), "{line}: {error}");
    assert!(error.is_ascii(), "{line}: {error}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The protocols.
fn protocols(dir: &Path) -> Vec<String> {
    let list = object_of("bellwether-model-list", printed(dir, "list --json", None));
    let names = list["protocols"].as_array().expect("a list").iter();
    names.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
}

/// Commands that print tables and sentences, and nothing that is drawn.
fn tables(dir: &Path) -> Vec<String> {
    let lines = [
        "list",
        "check bully",
        "check bully --recoveries 1 --max-states 50",
        "check raft-election --variant paper --nodes 4 --without 1-4 --without 2-4 -p votes-stand",
        "bounds bully --variant baseline",
        "tune bully --variant baseline --delay 1 --find t-coord --t-elec 9 --up-to 1",
        "survey bully ospf-dr --max-states 300",
        "survey --like keepalived",
        "claims --source chapter --max-states 1",
    ];
    let each = protocols(dir).into_iter().map(|name| format!("list {name}"));
    lines.into_iter().map(str::to_owned).chain(each).collect()
}

/// A command or an address, which is not broken: it is there to be copied.
fn is_copied(line: &str) -> bool {
    // It begins as this program was called, which is by cargo where cargo runs the tests.
    let called = ["bellwether-model ", "cargo run --release -- "];
    let is_command = line.starts_with("    ") && called.iter().any(|it| line.contains(it));
    is_command || ["Browse it: ", "       at: "].iter().any(|it| line.starts_with(it))
}

#[test]
fn tables_fit_a_terminal_and_break_no_word() {
    let dir = tempfile::tempdir().expect("a folder");
    for line in tables(dir.path()) {
        let words = |text: &str| -> HashSet<String> {
            text.split_whitespace().map(|word| word.trim_end_matches(':').to_owned()).collect()
        };
        let whole = words(&printed(dir.path(), &line, None));
        for columns in [60, 80, 120] {
            let text = printed(dir.path(), &line, Some(columns));
            let wide = text.lines().find(|line| line.chars().count() > columns && !is_copied(line));
            assert_eq!(wide, None, "{line} in {columns} columns: {text}");
            let is_measured = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
            let is_drawn = |word: &String| word.starts_with(['┌', '╞', '└']);
            let broken: Vec<_> = words(&text)
                .into_iter()
                .filter(|word| !whole.contains(word) && !is_measured(word) && !is_drawn(word))
                .collect();
            assert!(broken.is_empty(), "{line} in {columns} columns: {broken:?}");
        }
    }
}

#[test]
fn a_pipe_gets_one_line_for_each_row() {
    let dir = tempfile::tempdir().expect("a folder");
    let rows = |line: &str| {
        let text = printed(dir.path(), line, None);
        let table = text.lines().skip_while(|line| !line.starts_with('╞')).skip(1);
        table.take_while(|line| line.starts_with('│')).count()
    };
    assert_eq!(rows("list"), protocols(dir.path()).len());
    assert_eq!(rows("survey bully stoller --max-states 100"), 2);
    assert_eq!(rows("check bully --recoveries 1"), 7);
}

#[test]
fn drawings_fit_a_terminal() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = printed(dir.path(), "check bully --recoveries 1", Some(80));
    let lines = text.lines().filter(|line| !is_copied(line));
    let wide: Vec<_> = lines.filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

const TIMED: &str =
    "--variant baseline --timing timed --delay 1 --t-elec 3 --t-coord 5 --t-detect 2";

/// Commands with the flag, and every kind of what they print.
fn with_ascii(dir: &Path) -> Vec<String> {
    let case =
        "[[case]]\nprotocol = \"bully\"\nname = \"□\"\nexpect = { decided = \"violated\" }\n";
    fs::write(dir.join("bellwether.toml"), case).expect("writable");
    let lines = [
        "check bully --recoveries 1 --out out",
        "check bully --recoveries 1 --json",
        "check bully --recoveries 1 --first",
        "check bully --cuts 1 -p stabilises",
        "check bully --rule t_coord=false --crashes 2",
        "check bully --max-states 50",
        "check raft-election --variant paper --nodes 4 --without 1-4 --without 2-4 -p votes-stand",
        "bounds bully --variant baseline --show messages --until settles",
        "bounds bully --recoveries 1 --json",
        "tune bully --variant baseline --delay 1..2 --processing 0..1 --show",
        "tune bully --variant baseline --delay 1 --json",
        "suite",
        "suite --json",
        "survey bully quorum --max-states 300",
        "survey bully --max-states 300 --json",
        "survey bully --max-states 300 --markdown",
        "survey --show bully crash-recovery",
        "list",
        "list quorum",
        "list lease --json",
        "claims --max-states 1",
        "claims --max-states 1 --markdown",
        "claims --max-states 1 --json",
        "claims 59 --show",
        "history --max-states 1",
        "history --max-states 1 --markdown",
        "history expiry-ignored --show",
        "gallery --max-states 1",
        "gallery --max-states 1 --markdown",
        "gallery looked-then-took",
        "trace out/bully-at-most-one-leader.ndjson",
        "trace out/bully-at-most-one-leader.ndjson --format story",
        "trace out/bully-at-most-one-leader.ndjson --format diagram --output drawn.txt",
        "trace out/bully-at-most-one-leader.ndjson --format link",
        "trace out/bully-at-most-one-leader.ndjson --format mermaid",
        "trace out/bully-at-most-one-leader.ndjson --format plantuml",
        "trace out/bully-at-most-one-leader.ndjson --format itf",
    ];
    let timed = [
        format!("check bully {TIMED} --crashes 0 --pauses 1 --drift 1/5 --within 3"),
        format!("check bully {TIMED} --within 3 --slow 1>2=3 --json"),
    ];
    // All formulas there are.
    let each = protocols(dir)
        .into_iter()
        .map(|name| format!("check {name} --recoveries 1 --losses 1 --max-states 2000"));
    let proof = has_a_solver().then(|| "prove raft-election --max-states 20".to_owned());
    lines.into_iter().map(str::to_owned).chain(timed).chain(each).chain(proof).collect()
}

/// The name of the schema of what a line prints.
fn schema_of(line: &str) -> String {
    let command = line.split(' ').next().unwrap_or_default();
    let of_one = if line.starts_with("list lease") { "-protocol" } else { "" };
    format!("bellwether-model-{command}{of_one}")
}

#[test]
fn ascii_is_ascii_throughout() {
    let dir = tempfile::tempdir().expect("a folder");
    let lines = with_ascii(dir.path());
    for line in &lines {
        let text = printed(dir.path(), &format!("{line} --ascii"), None);
        let other = text.lines().find(|line| !line.is_ascii());
        assert_eq!(other, None, "{line}");
        if line.contains(" --json") {
            object_of(&schema_of(line), &text);
        }
        // What people have written may ask.
        let asks = ["--json", "claims", "history"].iter().any(|it| line.contains(it));
        let drawn = text.contains('?') && !asks;
        assert!(!drawn, "{line} has something without a sign in ASCII: {text}");
    }
    assert!(fs::read_to_string(dir.path().join("drawn.txt")).expect("it is drawn").is_ascii());
    // Every command that has the flag is among them.
    let help = printed(dir.path(), "--help", None);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let mut tried = 0;
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        if printed(dir.path(), &format!("help {command}"), None).contains("--ascii") {
            tried += 1;
            let without_solver = command == "prove" && !has_a_solver();
            let asked = lines.iter().any(|line| line.starts_with(command));
            assert!(asked || without_solver, "{command}");
        }
    }
    assert_eq!(tried, 11);
}
