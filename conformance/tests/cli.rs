//! The command line: what it prints, and what it says to bad input.

use assert_cmd::Command;
use bellwether_docs_runner::object_of;
use predicates::prelude::*;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

fn bellwether() -> Command {
    let mut command = Command::cargo_bin("bellwether-conformance").expect("built");
    command.env("NO_COLOR", "1");
    command
}

/// It is refused with status 2 and one clear message, without a panic.
#[track_caller]
fn refused(args: &[&str], says: &str) {
    bellwether()
        .args(args)
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains(says).and(predicate::str::contains("panicked").not()));
}

#[test]
fn the_short_help_of_every_command_is_one_screen_and_the_manual_has_a_page_for_it() {
    let file = assert_cmd::cargo::cargo_bin("bellwether-conformance");
    let program = || std::process::Command::new(&file);
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
        let says = predicate::str::contains("'bul\u{fffd}y' is not UTF-8");
        bellwether().args(line).arg(odd).assert().code(2).stdout("").stderr(says);
    }
    let says = predicate::str::contains("cannot open bul");
    bellwether().arg("replay").arg(odd).assert().code(2).stderr(says);
}

#[test]
fn lockstep_prints_its_assumptions_and_its_figures() {
    let says = |what: &'static str| predicate::str::contains(what);
    bellwether().args(["lockstep", "--recoveries", "1"]).assert().code(0).stderr("").stdout(
        says("bully, recommended: model and program\n3 nodes, converged start; faults: 1 crash")
            .and(says("transitions compared:"))
            .and(says("off-path probes:"))
            .and(says("The program conforms")),
    );
}

#[test]
fn lockstep_prints_one_json_object() {
    let output = bellwether().args(["lockstep", "bully", "--json"]).output().expect("ran");
    let object = object_of("bellwether-conformance-lockstep", &output.stdout);
    assert_eq!(object["verdict"], "conforms");
    assert_eq!(object["world"]["nodes"], 3);
    assert_eq!(object["divergence"], serde_json::Value::Null);
    let compared = &object["compared"];
    assert!(compared["transitions"].as_u64().expect("a number") > 0);
    let kinds = compared["kinds"].as_object().expect("an object");
    let sum: u64 = kinds.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(compared["transitions"], sum);
}

#[test]
fn a_walk_that_is_cut_short_claims_nothing() {
    bellwether()
        .args(["lockstep", "--nodes", "5", "--max-states", "2000"])
        .assert()
        .code(3)
        .stdout(predicate::str::contains("Cut short: the limit on states was reached"));
}

#[test]
fn a_walk_stops_at_its_memory() {
    bellwether()
        .args([
            "lockstep",
            "--nodes",
            "5",
            "--crashes",
            "2",
            "--recoveries",
            "2",
            "--memory",
            "64M",
        ])
        .assert()
        .code(3)
        .stdout(predicate::str::contains("Cut short: the limit on memory was reached"));
}

#[test]
fn list_shows_the_rules_of_the_program() {
    let rules = predicate::str::contains("variant 'recommended'")
        .and(predicate::str::contains("t_coord = true"));
    bellwether().arg("list").assert().code(0).stdout(rules);
    let output = bellwether().args(["list", "--json"]).output().expect("ran");
    let list = object_of("bellwether-conformance-list", &output.stdout);
    assert_eq!(list["protocols"][0]["protocol"], "bully");
}

#[test]
fn completions_are_printed() {
    let script = predicate::str::contains("bellwether-conformance");
    bellwether().args(["completions", "bash"]).assert().code(0).stdout(script);
}

#[test]
fn a_shell_completes_protocols_and_variants() {
    let program = Path::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
    let complete = |words: &[&str]| bellwether_docs_runner::completed(program, words);
    let Some(bully) = complete(&["lockstep", "bul"]) else { return };
    assert_eq!(bully, ["bully"]);
    let listed = bellwether().args(["list", "--json"]).output().expect("ran");
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let of_quorum = listed["protocols"].as_array().expect("a list").iter();
    let of_quorum = of_quorum.filter(|one| one["protocol"] == "quorum");
    let mut variants: Vec<_> =
        of_quorum.map(|one| one["variant"].as_str().expect("a name").to_owned()).collect();
    variants.sort_unstable();
    assert!(variants.len() > 1, "{variants:?}");
    assert_eq!(complete(&["suite", "quorum", "--variant", ""]), Some(variants));
}

#[test]
fn bad_worlds_are_refused() {
    refused(&["lockstep", "--nodes", "0"], "--nodes 0: give 2 to 7");
    refused(&["lockstep", "--nodes", "99"], "programs are compared with worlds of 2 to 7");
    refused(&["lockstep", "--nodes", "many"], "a whole number from 2 to 7");
    refused(&["lockstep", "--crashes", "-1"], "-1");
    refused(&["lockstep", "raft"], "no mapping for protocol 'raft'; there are: bully");
    refused(&["lockstep", "--network", "carrier-pigeon"], "there are: fifo, unordered, set");
    let contradiction = ["lockstep", "--network", "set", "--duplicates", "1"];
    refused(&contradiction, "use --network fifo or unordered");
    let contradiction = ["lockstep", "--timing", "asynchronous", "--suspicions", "1"];
    refused(&contradiction, "leave --suspicions out");
    let timed = "--timing timed --delay 1 --t-elec 3 --t-coord 8 --t-detect 1 --t-heartbeat 3";
    let timed: Vec<&str> = ["lockstep"].into_iter().chain(timed.split(' ')).collect();
    refused(&timed, "compare with --timing perfect or asynchronous");
    refused(&["lockstep", "--delay", "1"], "compare with --timing perfect or asynchronous");
    refused(&["lockstep", "--capacity", "0"], "give at least 1");
    refused(&["lockstep", "--max-states", "0"], "at least 1");
    refused(&["lockstep", "--max-seconds", "-1"], "give a number of seconds");
    refused(&["lockstep", "--memory", "lots"], "give a number of bytes, with K, M or G behind it");
    refused(
        &["lockstep", "--out", "/nowhere/at/all.ndjson"],
        "cannot write /nowhere/at/all.ndjson",
    );
}

/// The trace of a crash in three nodes, as the model records it.
fn saved(dir: &Path) -> PathBuf {
    use bellwether_conformance::mapping::{Mapping, bully::BullyMapping};
    use bellwether_model::trace::Trace;
    use bellwether_model::world::{Scenario, World};

    let scenario = Scenario::calm(3).with_crashes(1, 0);
    let world = World::new(BullyMapping::RULES, scenario).expect("possible");
    let (mut state, mut actions) = (world.initial(), Vec::new());
    for _ in 0..12 {
        let mut enabled = Vec::new();
        world.enabled(&state, &mut enabled);
        let Some(action) = enabled.last().copied() else { break };
        state = world.apply(&state, &action).state;
        actions.push(action);
    }
    let file = dir.join("trace.ndjson");
    let mut out = fs::File::create(&file).expect("writable");
    Trace::record(&world, &actions, None).write(&mut out).expect("written");
    file
}

#[test]
fn replay_follows_a_saved_trace() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = saved(dir.path());
    let conforms = predicate::str::contains("The program conforms to the trace");
    bellwether().arg("replay").arg(&file).assert().code(0).stdout(conforms);
    let output = bellwether().args(["replay", "--json"]).arg(&file).output().expect("ran");
    let object = object_of("bellwether-conformance-replay", &output.stdout);
    assert_eq!(object["verdict"], "conforms");
    assert!(object["steps"].as_u64().expect("a number") > 0);
}

#[test]
fn a_suite_is_found_saved_and_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let world = ["suite", "bully", "--recoveries", "1"];
    let says = |what: &'static str| predicate::str::contains(what);
    let saves = ["--limit", "3", "--out"];
    bellwether().args(world).args(saves).arg(dir.path()).assert().code(0).stderr("").stdout(
        says("bully, recommended: a suite for model and program\n3 nodes, converged start")
            .and(says("transitions: 1,841\n"))
            .and(says("deliver election"))
            .and(says("Saved: 3 executions in"))
            .and(says("The program conforms to each execution")),
    );
    let files = fs::read_dir(dir.path()).expect("readable");
    let files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let conforms = predicate::str::contains("The program conforms to the trace");
        bellwether().arg("replay").arg(file).assert().code(0).stdout(conforms);
    }
    let output = bellwether().args(world).args(["--no-run", "--json"]).output().expect("ran");
    let object = object_of("bellwether-conformance-suite", &output.stdout);
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

/// What each case of a file asks, of which some are not for the program.
const CASES: &str = r#"
[[case]]
protocol = "bully"
expect = { decided = "holds" }

[[case]]
protocol = "bully"
nodes = 4
recoveries = 1
max-states = 1000
expect = { decided = "holds" }

[[case]]
protocol = "bully"
variant = "baseline"
expect = { decided = "violated" }

[[case]]
protocol = "bully"
timing = "timed"
delay = 1
t-elec = 3
t-coord = 8
t-detect = 1
t-heartbeat = 3
expect = { decided = "holds" }
"#;

#[test]
fn cases_of_a_file_are_compared_where_a_program_implements_their_rules() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("cases.toml"), CASES).expect("writable");
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
    let output = run("--recoveries 1");
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    let says = "--recoveries has no effect: each case of a file has its own world";
    assert!(output.status.code() == Some(2) && told.contains(says), "{told}");
    for (flag, name) in [("--out x", "--out"), ("--through driver", "--through")] {
        let told = String::from_utf8(run(flag).stderr).expect("UTF-8");
        let says = format!("{name} has no effect: each case of a file is compared as 'lockstep'");
        assert!(told.contains(&says) && !told.contains("write it there"), "{told}");
    }
    refused(&["suite", "bully", "--junit", "x"], "--junit has no effect: no file of cases is run");
}

#[test]
#[cfg(not(feature = "driver"))]
fn a_program_without_the_driver_says_so() {
    refused(
        &["suite", "bully", "--through", "driver"],
        "this program was built without the driver",
    );
}

#[test]
fn bad_traces_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let good = fs::read_to_string(saved(dir.path())).expect("readable");
    let case = |name: &str, content: &str, says: &str| {
        let file = dir.path().join(name);
        fs::write(&file, content).expect("writable");
        refused(&["replay", file.to_str().expect("UTF-8")], says);
    };
    refused(&["replay", "/nowhere/at/all.ndjson"], "cannot open /nowhere/at/all.ndjson");
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
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
        command.env_remove("CARGO").env_remove("COLUMNS");
        command
    });
}
