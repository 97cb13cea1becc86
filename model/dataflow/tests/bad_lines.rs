//! Command lines that cannot be run: each message names what is wrong, where, and what to do.

use bellwether_docs_runner::refused;
use std::process::Command;

/// Each line, and what is said of it.
const LINES: &[(&str, &str)] = &[
    (
        "check bully --property stabilises",
        "a dataflow does not decide liveness, and nothing else is asked; use bellwether-model for \
         it, or ask for other properties too",
    ),
    (
        "check bully --hosts hosts",
        "bellwether-dataflow check needs --process N; 'bellwether-dataflow check --help' shows \
         what there is",
    ),
    (
        "check bully --process 1",
        "bellwether-dataflow check needs --hosts FILE; 'bellwether-dataflow check --help' shows \
         what there is",
    ),
    (
        "check bully --hosts hosts --process one",
        "--process cannot be 'one': give the number of a host, the first is 0",
    ),
    (
        "check bully --hosts /proc/nowhere --process 0",
        "cannot read /proc/nowhere: No such file or directory (os error 2); give --hosts a file \
         that says HOST:PORT of each process, one a line",
    ),
    (
        "check bully --hosts /dev/null --process 0",
        "/dev/null names no host; write HOST:PORT for each process, one a line",
    ),
    (
        "check bully --hosts /proc/self/comm --process 0",
        "/proc/self/comm:1: 'bellwether-data' is no HOST:PORT; write one on each line, such as \
         node-0:2101",
    ),
    (
        "check bully --disk . --resume --property agreement",
        "no search was saved in ./process-0; leave --resume out to begin one",
    ),
    (
        "check bully --nodes 8",
        "--nodes 8: an exhaustive search takes 2 to 7; ask for fewer, or use 'check --engine \
         simulation', which walks at random in worlds of up to 128 and proves nothing",
    ),
    (
        "check bully --engine exact",
        "bellwether-dataflow check has no flag '--engine'; 'bellwether-dataflow check --help' \
         shows what there is",
    ),
];

#[test]
fn every_bad_command_line_is_told_what_is_wrong_and_what_to_do() {
    for (line, told) in LINES {
        // As if it were installed.
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-dataflow"));
        let (status, said) = refused(command.env_remove("CARGO"), line);
        assert_eq!((status, said), (2, format!("error: {told}")), "{line}");
    }
}

/// Under cargo, what is given as the next command is one of cargo that runs this program.
#[test]
fn the_next_command_is_one_of_cargo_where_cargo_runs_the_program() {
    let cargo = "cargo run --release -p bellwether-dataflow --";
    let run = |line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-dataflow"));
        let output = command
            .env("CARGO", "cargo")
            .env_remove("COLUMNS")
            .args(line.split_whitespace())
            .output();
        output.expect("it runs")
    };
    let refused = String::from_utf8(run("check").stderr).expect("UTF-8");
    assert!(refused.contains(&format!("'{cargo} list' shows the protocols")), "{refused}");
    let help = String::from_utf8(run("check --help").stdout).expect("UTF-8");
    assert!(help.contains(&format!("  {cargo} check bully --property agreement")), "{help}");
    let found = run("check bully --recoveries 1 --threads 1");
    let text = String::from_utf8(found.stdout).expect("UTF-8");
    assert!(text.contains(&format!("Browse it: {cargo} explore bully --nodes 3")), "{text}");
}
