//! The command line: what it prints, what it says to bad input, and its exit status. `diverges.rs`
//! tests the status of a program that differs.

use assert_cmd::Command;
use bellwether_docs_runner::{object_of, other_statuses, without_verdict};
use predicates::prelude::*;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process;

fn bellwether() -> Command {
    let mut command = Command::cargo_bin("bellwether-conformance").expect("built");
    command.env("NO_COLOR", "1");
    command
}

/// The line has this status, and says each of these on standard output; if it is refused, on
/// standard error, without a panic. A walk that takes long tells how far it is besides.
#[track_caller]
pub(crate) fn says(line: &str, status: i32, parts: &[&str]) {
    let output = bellwether().args(line.split(' ')).output().expect("ran");
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(output.status.code(), Some(status), "{line}: {out}{err}");
    let (said, silent) = if status == 2 { (err, out) } else { (out, err) };
    assert!(status == 3 || silent.is_empty(), "{line}: {silent}");
    assert!(!said.contains("panicked"), "{line}: {said}");
    for part in parts {
        assert!(said.contains(part), "{line}: {part:?} is not in:\n{said}");
    }
}

/// The object that the line prints with `--json`, of this kind.
#[track_caller]
pub(crate) fn json_of(line: &str, kind: &str) -> serde_json::Value {
    let output = bellwether().args(line.split(' ')).arg("--json").output().expect("ran");
    object_of(kind, &output.stdout)
}

#[test]
fn the_short_help_of_every_command_is_one_screen_and_the_manual_has_a_page_for_it() {
    let wrong = bellwether_docs_runner::not_one_screen(program, &["lockstep bully -h"]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing = bellwether_docs_runner::not_in_the_manual(program);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
#[cfg(unix)]
fn what_is_no_text_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let odd = OsStr::from_bytes(b"bul\xffy");
    for line in [&["lockstep"][..], &["lockstep", "--variant"], &["suite"]] {
        let says = predicate::str::contains("invalid UTF-8");
        bellwether().args(line).arg(odd).assert().code(2).stdout("").stderr(says);
    }
    let says = predicate::str::contains("cannot open bul");
    bellwether().arg("replay").arg(odd).assert().code(2).stderr(says);
}

#[test]
fn commands_print_what_they_have_found() {
    let parts = [
        "bully, recommended: model and program\n3 nodes, converged start; faults: 1 crash",
        "transitions compared:",
        "off-path probes:",
        "The program conforms",
    ];
    says("lockstep --recoveries 1", 0, &parts);
    says("list", 0, &["variant 'recommended'", "t_coord = true"]);
    says("completions bash", 0, &["bellwether-conformance"]);
    let short = "Cut short: the limit on states was reached";
    says("lockstep --nodes 5 --max-states 2000", 3, &[short]);
    let short = "Cut short: the limit on memory was reached";
    says("lockstep --nodes 5 --crashes 2 --recoveries 2 --memory 64M", 3, &[short]);
}

#[test]
fn lockstep_and_list_print_one_json_object() {
    let object = json_of("lockstep bully", "bellwether-conformance-lockstep");
    assert_eq!(object["verdict"], "conforms");
    assert_eq!(object["world"]["nodes"], 3);
    assert_eq!(object["divergence"], serde_json::Value::Null);
    let compared = &object["compared"];
    assert!(compared["transitions"].as_u64().expect("a number") > 0);
    let kinds = compared["kinds"].as_object().expect("an object");
    let sum: u64 = kinds.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(compared["transitions"], sum);
    let list = json_of("list", "bellwether-conformance-list");
    assert_eq!(list["protocols"][0]["protocol"], "bully");
}

#[test]
fn a_suite_is_found_saved_and_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let world = "suite bully --recoveries 1";
    let parts = [
        "bully, recommended: a suite for model and program\n3 nodes, converged start",
        "transitions: 1,841\n",
        "deliver election",
        "Saved: 3 executions in",
        "The program conforms to each execution",
    ];
    says(&format!("{world} --limit 3 --out {}", dir.path().display()), 0, &parts);
    let files = fs::read_dir(dir.path()).expect("readable");
    let files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let line = format!("replay {}", file.display());
        says(&line, 0, &["The program conforms to the trace"]);
        let object = json_of(&line, "bellwether-conformance-replay");
        assert_eq!(object["verdict"], "conforms");
        assert!(object["steps"].as_u64().expect("a number") > 0);
    }
    let object = json_of(&format!("{world} --no-run"), "bellwether-conformance-suite");
    assert_eq!(object["verdict"], "not run");
    assert!(object["ran"].is_null(), "{object}");
    let suite = &object["suite"];
    let met = suite["met"].as_array().expect("a list").iter();
    let met: u64 = met.filter_map(|met| met["transitions"].as_u64()).sum();
    assert_eq!(suite["transitions"], met);
    assert!(suite["bound"].as_u64() <= suite["steps"].as_u64());
}

#[test]
#[should_panic(expected = "error.error: the schema has no key 'surplus'")]
fn a_key_that_no_schema_names_is_found() {
    let error = json!({ "message": "m", "causes": [], "help": null, "surplus": 1 });
    object_of("error", json!({ "version": 1, "error": error, "status": 2 }).to_string());
}

#[test]
fn cases_of_a_file_are_compared_where_a_program_implements_their_rules() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("cases.toml"), include_str!("cases.toml")).expect("writable");
    let run = |flags: &str| {
        let mut command = bellwether();
        command.current_dir(dir.path()).args(["suite", "cases.toml"]);
        command.args(flags.split_whitespace());
        command.output().expect("ran")
    };
    let output = run("--json --junit junit.xml --markdown cases.md");
    assert_eq!(output.status.code(), Some(3), "the second case is cut short: {output:?}");
    let object = object_of("bellwether-model-suite", &output.stdout);
    let ends = ["as-expected", "unknown", "left-out", "left-out"];
    for (case, end) in object["cases"].as_array().expect("cases").iter().zip(ends) {
        assert_eq!(case["end"], end, "{case}");
    }
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|at| &object["cases"][at]);
    assert_eq!((&first["states"], &first["transitions"]), (&json!(96), &json!(227)));
    let command = second["command"].as_str().expect("a command");
    let words = "lockstep bully --variant recommended --nodes 4 --recoveries 1 --max-states 1000";
    assert!(command.ends_with(words), "{command}");
    for (case, why) in [(third, "no program implements 'baseline'"), (fourth, "is timed")] {
        assert!(case["left_out"].as_str().is_some_and(|told| told.contains(why)), "{case}");
    }
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect("written");
    let junit = read("junit.xml");
    assert!(junit.contains("failures=\"0\" errors=\"1\" skipped=\"2\""), "{junit}");
    assert!(read("cases.md").contains("4 cases: 1 as expected, 1 unknown, 2 left out"));
    let has_effect = |flags: &str, says: &str| {
        let output = run(flags);
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(output.status.code() == Some(2) && told.contains(says), "{told}");
        assert_eq!(told.contains("write it there"), flags == "--recoveries 1", "{told}");
    };
    let own = "--recoveries has no effect: each case of a file has its own world";
    has_effect("--recoveries 1", own);
    for (flag, name) in [("--out x", "--out"), ("--through processes", "--through")] {
        let as_lockstep = "no effect: each case of a file is compared as 'lockstep'";
        has_effect(flag, &format!("{name} has {as_lockstep}"));
    }
    let none = "--junit has no effect: no file of cases is run";
    says("suite bully --junit x", 2, &[none]);
}

#[test]
fn bad_traces_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let saves = format!("suite bully --recoveries 1 --limit 1 --out {}", dir.path().display());
    says(&saves, 0, &["Saved: "]);
    let mut saved = fs::read_dir(dir.path()).expect("readable");
    let saved = saved.next().expect("one").expect("a file").path();
    let good = fs::read_to_string(saved).expect("readable");
    let case = |name: &str, content: &str, part: &str| {
        let file = dir.path().join(name);
        fs::write(&file, content).expect("writable");
        says(&format!("replay {}", file.display()), 2, &[part]);
    };
    says("replay /nowhere/at/all.ndjson", 2, &["cannot open /nowhere/at/all.ndjson"]);
    case("empty", "", "the file is empty");
    case("garbage", "\u{0}\u{1}rubbish\n", "its first line should say");
    case("other", "{\"format\":\"pcap\"}\n", "this is not a trace");
    case("truncated", &good[..good.len() - 10], "has no end");
    let lines: Vec<&str> = good.lines().collect();
    case("gap", &format!("{}\n{}\n", lines[0], lines[2]), "a line is missing or doubled");
    case("no-steps", &format!("{}\n", lines[0]), "the file was cut off");
    let raft = good.replacen("\"bully\"", "\"raft\"", 1);
    case("raft", &raft, "no mapping for protocol 'raft'");
    let unguarded = good.replacen("\"guard\":true", "\"guard\":false", 1);
    case("unguarded", &unguarded, "the program implements 'recommended'");
    case("many", &good.replacen("\"nodes\":3", "\"nodes\":777", 1), "2 to 128");
}

/// `UPDATE=1 cargo test -p bellwether-conformance scripts` writes anew what is printed.
#[test]
fn the_scripts_tell_what_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lines");
    bellwether_docs_runner::script::run_scripts(&folder, || {
        // As if it were installed.
        let mut command = program();
        command.env_remove("CARGO").env_remove("COLUMNS");
        command
    });
}

/// Lines with their statuses: what was found, whatever becomes of what is printed.
const LINES: &[(&str, i32)] = &[
    ("lockstep bully", 0),
    ("lockstep bully --json", 0),
    ("lockstep buly", 2),
    ("lockstep bully --nodes 4 --recoveries 1 --max-states 1000", 3),
    ("lockstep bully --nodes 4 --recoveries 1 --max-states 1000 --json", 3),
    ("replay nothing", 2),
    ("validate nothing", 2),
    ("suite bully", 0),
    ("suite bully --no-run --json", 0),
    ("suite buly", 2),
    ("suite bully --nodes 4 --recoveries 1 --max-states 1000", 3),
    ("suite bully --nodes 4 --recoveries 1 --max-states 1000 --json", 3),
    ("list", 0),
    ("list --json", 0),
    ("list bully", 2),
    ("completions bash", 0),
    ("completions abacus", 2),
    ("man", 0),
    ("man --out /proc/nothing", 2),
    ("help lockstep", 0),
    ("help lockstp", 2),
];

fn program() -> process::Command {
    process::Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"))
}

#[test]
fn no_reader_and_no_room_makes_another_status() {
    let wrong = LINES.iter().flat_map(|&line| other_statuses(program, line, 2));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // `diverges.rs` tests the verdict of `replay`, for the right program follows what the model has
    // saved; `validate/command.rs` tests that of `validate`.
    let without = without_verdict(&mut program(), LINES);
    assert_eq!(without, ["replay", "validate", "list", "completions", "man", "help"]);
}
