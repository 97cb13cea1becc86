//! Command lines that cannot be run: each message names what is wrong, where, and what to do.

use bellwether_docs_runner::refused;
use std::fmt::Write as _;
use std::process::Command;

const LINES: &[&str] = &[
    "frobnicate",
    "lockstep nothing",
    "lockstep buly",
    "lockstep raft-election",
    "lockstep bully bully",
    "lockstep bully --variant baselin",
    "lockstep bully --variant",
    "lockstep bully --rule accept=any",
    "lockstep bully --recovries 1",
    "lockstep bully --timing timed",
    "lockstep bully --timing timed --delay 1",
    "lockstep bully --timing exact",
    "lockstep bully --delay 1",
    "lockstep bully --within 5",
    "lockstep bully --t-elec 3",
    "lockstep bully --pauses 1",
    "lockstep bully --jumps 1",
    "lockstep bully --threads 4",
    "lockstep bully --heals must",
    "lockstep bully --fairness strong",
    "lockstep bully --recoveries 1 --crashes 0",
    "lockstep garcia-molina --symmetry concrete",
    "lockstep bully --nodes 9",
    "lockstep bully --nodes -1",
    "lockstep bully --losses unbounded",
    "lockstep bully --duplicates 1 --network set",
    "lockstep bully --suspicions 1 --timing asynchronous",
    "lockstep bully --capacity 0",
    "lockstep bully --start warm",
    "lockstep bully --max-seconds -1",
    "lockstep bully --memory lots",
    "lockstep bully --out /proc/nowhere",
    "lockstep nothing --help",
    "help lockstep nothing",
    "replay",
    "replay nothing.ndjson",
    "replay .",
    "replay /dev/null",
    "replay Cargo.toml",
    "replay Cargo.toml --jsn",
    "suite nothing",
    "suite bully --timing timed",
    "suite bully --limit 3",
    "suite bully --out executions --limit 0",
    "suite bully --out /proc/nowhere",
    "suite bully --no-runs",
    "suite bully --no-run --through driver",
    "suite bully --through wires",
    "suite bully --seconds 3",
    "suite bully --through processes --program nowhere",
    "validate",
    "validate nothing.ndjson",
    "validate .",
    "validate /dev/null",
    "validate Cargo.toml",
    "validate Cargo.toml --variant nothing",
    "list bully",
    "list bully --json",
    "completions abacus",
];

#[test]
fn every_bad_command_line_is_told_what_is_wrong_and_what_to_do() {
    assert!(LINES.len() >= 40, "only {}", LINES.len());
    let mut told = String::new();
    for line in LINES {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
        let (status, message) = refused(&mut command, line);
        assert_eq!(status, 2, "{line}: {message}");
        let _ = writeln!(told, "$ bellwether-conformance {line}\n{message}\n");
    }
    insta::assert_snapshot!(told);
}
