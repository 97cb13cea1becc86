//! The command line, from the outside.

use std::process;

use assert_cmd::Command;
use bellwether_docs_runner::{object_of, other_statuses, without_verdict};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

fn sim(args: &str) -> Command {
    let mut command = Command::cargo_bin("bellwether-sim").expect("it is built");
    command.args(args.split(' '));
    command
}

#[test]
fn the_short_help_of_every_command_is_one_screen_and_the_manual_has_a_page_for_it() {
    let wrong = bellwether_docs_runner::not_one_screen(program, &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing = bellwether_docs_runner::not_in_the_manual(program);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn runs_that_break_nothing_succeed() {
    let done =
        sim("run --runs 20 --nodes 3 --seed 77 --faults losses+crashes --threads 2").assert();
    done.success()
        .stdout(contains("20 of 20 runs from seed 00000077"))
        .stdout(contains("no invariant was broken"));
}

#[test]
fn a_store_is_part_of_the_name_of_the_protocol() {
    let done = sim("run --protocol lease --store etcd --runs 2 --faults losses").assert();
    done.success().stdout(contains("lease-etcd: 5 nodes, faults: losses"));
    let trace = sim("replay lease:3:none:00000002 --trace").assert();
    trace.success().stdout(contains("the store is redis"));
}

#[test]
fn a_run_that_fails_is_told_with_the_command_that_repeats_it() {
    let output = sim("run --runs 500 --faults pauses --wrong clock-stops --trace").assert().code(1);
    let output = String::from_utf8(output.get_output().stdout.clone()).expect("text");
    assert!(output.contains("at-most-one-leader is broken at"), "{output}");
    let (_, command) = output.split_once("repeat it: bellwether-sim ").expect("a command");
    let command = command.trim().replace('\'', "");
    sim(&command).assert().code(1).stdout(contains("at-most-one-leader is broken at"));
}

#[test]
fn json_says_what_the_text_says() {
    let output = sim("run --runs 500 --faults pauses --wrong clock-stops --json").assert().code(1);
    let json = object_of("bellwether-sim-run", &output.get_output().stdout);
    assert_eq!(json["failed"]["invariant"], "at-most-one-leader");
    let shrunk = json["failed"]["shrunk"].as_str().expect("a code");
    let replay = sim(&format!("replay {shrunk} --json")).assert().code(1);
    let replay = object_of("bellwether-sim-replay", &replay.get_output().stdout);
    assert_eq!(replay["broken"]["invariant"], "at-most-one-leader");
    let costs = sim("failover --protocol bully --nodes 3 --json").assert().success();
    let costs = object_of("bellwether-sim-failover", &costs.get_output().stdout);
    assert_eq!(costs["costs"][0]["protocol"], "bully");
}

#[test]
fn an_error_is_json_where_json_is_asked_for() {
    for (args, message) in [
        ("run --nodes 1 --json", "invalid value '1' for '--nodes <NODES>'"),
        ("run --protocol bully --faults members --json", "members"),
    ] {
        let refused = sim(args).assert().code(2).stderr("");
        let told = object_of("error", &refused.get_output().stdout);
        let says = told["error"]["message"].as_str().expect("a message");
        assert!(says.contains(message), "{told}");
        assert_eq!(told["status"], 2);
    }
}

#[test]
fn a_batch_that_is_cut_short_claims_nothing() {
    let done = sim("run --runs 1000000 --max-seconds 0").assert().code(3);
    done.stdout(contains("stopped early: nothing is claimed of the other runs"))
        .stdout(contains("no invariant was broken").not());
}

#[test]
fn wrong_arguments_are_refused_with_what_is_right() {
    for (args, says) in [
        ("run --protocol paxos", "use one of quorum"),
        ("run --nodes 1", "2 to 5000"),
        ("run --runs 0", "a whole number of runs, at least 1"),
        ("run --runs all", "a whole number of runs, at least 1"),
        ("run --faults floods", "losses+crashes"),
        ("run --protocol bully --faults members", "the protocol quorum"),
        ("run --protocol bully --faults twins", "the protocol lease"),
        ("run --protocol lease --store paper", "`lease-paper` is not simulated"),
        ("run --seed xyz", "hexadecimal"),
        ("run --wrong tired", "use one of forgets"),
        ("replay quorum:5:all", "PROTOCOL:NODES:FAULTS:SEED"),
    ] {
        sim(args).assert().code(2).stderr(contains(says));
    }
}

const FAILS: &str = "run --runs 500 --faults pauses --wrong clock-stops";

/// Lines and their statuses: what was found, whatever becomes of what is printed and saved.
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

fn program() -> process::Command {
    process::Command::new(env!("CARGO_BIN_EXE_bellwether-sim"))
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
