//! Command lines that cannot be run: each message names what is wrong, where, and what to do.

use assert_cmd::Command;
use std::fmt::Write as _;

const LINES: &[&str] = &[
    "check",
    "check raft",
    "check buly",
    "check bully --variant",
    "check bully --variant coulours",
    "check bully --rule",
    "check bully --rule t_coord",
    "check bully --rule t_cord=false",
    "check bully --rule t_coord=maybe",
    "check bully --rule answer_lower=",
    "check bully --nodes 1",
    "check bully --nodes 99",
    "check bully --nodes three",
    "check bully --nodes -1",
    "check bully --crashes 300",
    "check bully --crashes many",
    "check bully --losses lots",
    "check bully --network tcp",
    "check bully --timing exact",
    "check bully --timing timed",
    "check bully --timing timed --delay x",
    "check bully --delay 1..",
    "check bully --delay 3..1 --t-elec 1 --t-coord 1 --t-detect 1",
    "check bully --t-elec 0 --timing timed --delay 1",
    "check bully --t-lease 3 --timing timed --delay 1",
    "check bully --t-elec 3",
    "check bully --timing perfect --delay 1",
    "check bully --start warm",
    "check bully --without 1-9",
    "check bully --without 1",
    "check bully --without 1-1",
    "check bully --duplicates 1 --network set",
    "check bully --suspicions 1 --timing asynchronous",
    "check bully --pauses 1",
    "check bully --drift 1/5",
    "check bully --losses unbounded",
    "check bully --capacity 0",
    "check bully --heals must",
    "check bully --heals sometimes",
    "check bully --fairness strong",
    "check bully --recoveries 1 --crashes 0",
    "check bully --property nothing",
    "check bully --property at-most-one-leadr",
    "check bully --engine tlc",
    "check bully --seed 4",
    "check bully --engine simulation --seed x",
    "check bully --threads 0",
    "check bully --max-states 0",
    "check bully --max-seconds -1",
    "check bully --memory lots",
    "check bully --out /proc/nowhere",
    "check bully --jsn",
    "check bully bully",
    "tune bully",
    "tune bully --delay 1..40",
    "tune bully --delay 0",
    "tune bully --find t-nothing --delay 1",
    "tune lease --delay 1 --t-holder 5 --t-grant 9 --t-renew 3 --t-retry 2",
    "bounds bully --until agreement",
    "bounds bully --show nothing",
    "bounds bully --until nothing",
    "explore bully --address nonsense",
    "explore bully --address 127.0.0.1:99999",
    "list nothing",
    "list bully extra",
    "trace nothing.ndjson",
    "trace /dev/null",
    "trace Cargo.toml",
    "survey --show bully",
    "survey --show bully nowhere",
    "survey --show nothing crash-stop",
    "claims 999",
    "claims --nothing",
    "frobnicate",
    "check bully --t-grant 3 --timing timed --delay 1",
    "check bully --rule accept=none",
    "check queue --recoveries 2 --crashes 0",
    "check bully --drift 2/1 --timing timed --delay 1",
    "list --json --variant",
    "trace Cargo.toml --format gif",
    "claims --source novel",
];

#[test]
fn every_bad_command_line_is_told_what_is_wrong_and_what_to_do() {
    assert!(LINES.len() >= 60, "only {}", LINES.len());
    let mut told = String::new();
    for line in LINES {
        let mut command = Command::cargo_bin("bellwether-model").expect("it is built");
        let output = command.args(line.split_whitespace()).output().expect("it runs");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.starts_with("error: "), "{line}: {stderr}");
        assert!(output.stdout.is_empty(), "{line} prints something else");
        let message = stderr.trim_end().trim_end_matches("For more information, try '--help'.");
        let _ = writeln!(told, "$ bellwether-model {line}\n{}\n", message.trim_end());
    }
    insta::assert_snapshot!(told);
}
