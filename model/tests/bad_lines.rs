//! Command lines that cannot be run: each message names what is wrong, where, and what to do.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_bellwether-model");

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
    "check bully --nodes 200",
    "check stoller --nodes 8 --engine simulation",
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
    "check bully --t-elec 0 --timing timed --delay 1 --t-coord 8 --t-detect 1 --t-heartbeat 3",
    "check bully --t-lease 3 --timing timed --delay 1",
    "check bully --t-elec 3",
    "check bully --timing perfect --delay 1",
    "check bully --start warm",
    "check bully --without 1-9",
    "check bully --without 1-900",
    "check bully --without 1",
    "check bully --without 1-1",
    "check bully --duplicates 1 --network set",
    "check bully --suspicions 1 --timing asynchronous",
    "check bully --pauses 1",
    "check bully --jumps 1",
    "check bully --jump 2",
    "check bully --jump x",
    "check lease --nodes 2 --timing timed --delay 1 --t-holder 8 --t-grant 10 --t-renew 3 \
     --t-retry 2 --jumps 1",
    "check bully --drift 1/5",
    "check bully --losses unbounded",
    "check bully --capacity 0",
    "check bully --heals must",
    "check bully --heals sometimes",
    "check bully --fairness strong",
    "check bully --recoveries 1 --crashes 0",
    "check bully --recoveries must --crashes 0",
    "check bully --recoveries must:0",
    "check bully --recoveries must:2",
    "check bully --recoveries sometimes",
    "check bully --symmetry concrete",
    "check bully --resume",
    "check bully --disk /proc/nowhere",
    "check bully --disk . --resume",
    "check bully --disk . --engine bfs",
    "check bully --save-every 5",
    "check bully --disk . --save-every often",
    "trace /proc/nowhere --unchecked --format html",
    "check bully --property nothing",
    "check bully --property at-most-one-leadr",
    "check bully --engine tlc",
    "check bully --engine dataflow",
    "check bully --reduce heartbeats",
    "check quorum --reduce dead-messages",
    "check bully --reduce dead-messages --losses 1",
    "check bully --reduce dead-messages --property stabilises",
    "check bully --reduce dead-messages --engine bfs",
    "check bully --seed 4",
    "check bully --engine simulation --seed x",
    "check bully --depth 4",
    "check bully --engine simulation --depth 0",
    "check bully --threads 0",
    "check bully --max-states 0",
    "check bully --max-seconds -1",
    "check bully --memory lots",
    "check bully --out /proc/nowhere",
    "check bully --jsn",
    "check bully bully",
    "tune queue --variant pings",
    "tune queue --variant pings --delay 1..40",
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
    "survey --like ectd",
    "claims 999",
    "claims C1",
    "completions tcsh",
    "check bully --crashes 5",
    "claims --nothing",
    "frobnicate",
    "check bully --t-grant 3 --timing timed --delay 1",
    "check bully --rule accept=none",
    "check queue --recoveries 2 --crashes 0",
    "check bully --drift 2/1 --timing timed --delay 1",
    "list --json --variant",
    "trace Cargo.toml --format gif",
    "claims --source novel",
    "check nope --help",
    "help check nope",
    "check raft-election --rule logs=99",
    "check raft-election --rule logs=0001",
    "check raft-election --rule logs=equa",
    "check raft-election --rule logs=01234567",
    "check quorum --rule unhealthy=4",
    "check quorum --rule unhealthy=0",
    "check quorum --rule transfer=9",
    "check quorum --rule transfer=me",
    "check quorum --rule epochs=0",
    "check quorum --rule epochs=-1",
    "check quorum --rule epochs=70000",
    "check quorum --rule epochs=1.5",
    "check quorum --rule wiped=4",
    "check quorum --rule lists=join",
    "check stoller --rule query=lover",
    "check bully --variant baseline --variant",
    "tune queue --delay 1",
    "tune stoller",
    "tune raft-election",
    "tune bully --delay 1 --t-heartbeat 3 --t-elec 3 --t-coord 8",
    "tune bully --up-to 0",
    "tune bully --timing asynchronous",
    "tune bully --delay unbounded",
    "survey --nodes 9",
    "survey --show bully crash-stop --json",
    "survey --json --markdown",
    "prove",
    "prove nothing",
    "prove bully",
    "prove quorum --rule lists=joins",
    "prove raft-election --solver /nowhere/z3",
    "prove raft-election --solver nowhere",
    "prove raft-election --max-seconds -1",
    "prove raft-election --max-states 0",
    "trace",
    "trace .",
    "explore",
    "check bully --quiet --quiet",
    "check bully --variant baseline --variant lesson",
    "check bully --threads 1 --threads 2",
    "check bully -- --nodes",
    "--nodes 3 check bully",
    "help check bully extra",
    "check bully -nodes 3",
    "check quorum --timing timed",
    "check bully --timing timed --delay 1..3 --t-elec 3",
    "tune bully --delay 3..1",
    "check bully --rule guard=true --rule guard=false",
    "check bully --recoveries 3 --crashes 1",
    "check bully --losses 1 --fairness strong --property at-most-one-leader",
    "tune bully --losses 1 --fairness strong",
    "bounds bully --losses 1 --fairness strong",
    "check bully --timing timed --delay 1 --t-elec 3 --t-coord 8 --t-detect 1 --t-heartbeat 3 \
     --within 20 --property at-most-one-leader",
    "tune bully --delay 1 --t-heartbeat 3 --within 20",
    "bounds bully --timing timed --delay 1 --t-elec 3 --t-coord 8 --t-detect 1 --t-heartbeat 3 \
     --within 20",
    "bounds bully --until agreement --ascii",
    "check bully --memory lots --ascii",
    "check bully --never leeds(1)",
    "check bully --never leads(1",
    "check bully --never leads(9)",
    "check bully --never leads(1,2)",
    "check bully --never nodes",
    "check bully --never p1.rol==leader",
    "check bully --never role(1)==leadr",
    "check raft-election --always term(1)>0",
    "check bully --never armed(1,wach)",
    "check bully --property never(leads(1)&leads(2))",
    "check bully --show leader(p)",
    "check bully --all 0",
    "check bully --all 2 --engine bfs",
    "check bully --all 2 --first",
];

/// What a message proposes to do, or where it says what there is.
const REMEDIES: &[&str] = &[
    "there are: ",
    "give ",
    "leave ",
    "use ",
    "add ",
    "write ",
    "they are numbered ",
    " takes at least ",
    " shows ",
    " saves ",
    " is an id from ",
    " is true or false",
    " is equal, or ",
    " is a number from ",
    " ids are ",
    " is the id of ",
    " is 0 to 1/2",
    "a range is for 'tune'",
    "there are proofs of ",
    "a rule is given as ",
    " is asked of 1, ",
];

/// Whether a message says where the line is wrong: it names a word behind the command, or what is
/// missing there, or points at a place in it.
fn has_a_place(message: &str, line: &str) -> bool {
    let mut words = line.split([' ', '=']).filter(|word| word.len() > 1);
    let alone = words.clone().count() == 1;
    let named = words.any(|word| (alone || word != "check") && message.contains(word));
    let points = message.lines().any(|line| line.trim_start() == "^");
    named || points || message.replace("--help", "").contains("--")
}

/// What the checker says of a line that it refuses, as if it were installed.
#[track_caller]
fn refused(line: &str) -> String {
    let mut command = Command::new(PROGRAM);
    let (status, message) = bellwether_docs_runner::refused(command.env_remove("CARGO"), line);
    assert_eq!(status, 2, "{line}: {message}");
    assert!(!line.contains("--ascii") || message.is_ascii(), "{line}: {message}");
    message
}

#[test]
fn every_bad_command_line_is_told_what_is_wrong_and_what_to_do() {
    assert!(LINES.len() >= 60, "only {}", LINES.len());
    let mut told = String::new();
    for line in LINES {
        let message = refused(line);
        assert!(has_a_place(&message, line), "{line}: where? {message}");
        assert!(REMEDIES.iter().any(|does| message.contains(does)), "{line}: then? {message}");
        let sentence = message.trim_start_matches("error: ").split("; ").next().expect("one");
        assert_eq!(message.matches(sentence).count(), 1, "{line}: it is said twice: {message}");
        let _ = writeln!(told, "$ bellwether-model {line}\n{message}\n");
    }
    insta::assert_snapshot!(told);
}

/// Under cargo, what an error gives as the next command is one of cargo.
#[test]
fn the_remedy_of_an_error_is_one_of_cargo_where_cargo_runs_the_program() {
    for (line, next) in [
        ("check", "'cargo run --release -- list'"),
        ("check bully --jsn", "'cargo run --release -- check --help'"),
        ("trace /dev/null", "'cargo run --release -- check PROTOCOL --out DIR'"),
        ("tune queue", "'cargo run --release -- check queue --timing timed --delay TICKS"),
    ] {
        let mut command = Command::new(PROGRAM);
        let output = command.env("CARGO", "cargo").args(line.split_whitespace()).output();
        let stderr = String::from_utf8(output.expect("it runs").stderr).expect("UTF-8");
        assert!(stderr.contains(next), "{line}: {stderr}");
    }
}

/// A trace that was changed by hand, and what is said of it.
#[test]
fn every_bad_trace_is_told_its_line_its_key_and_what_should_stand_there() {
    let dir = TempDir::new().expect("a folder");
    let out = dir.path().to_str().expect("UTF-8");
    let line = format!("check bully --recoveries 1 --property at-most-one-leader --out {out}");
    let mut command = Command::new(PROGRAM);
    let found = command.args(line.split(' ')).output().expect("it runs");
    assert_eq!(found.status.code(), Some(1));
    let good = dir.path().join("bully-at-most-one-leader.ndjson");
    let good = fs::read_to_string(good).expect("it was saved");
    let file = dir.path().join("bad.ndjson");
    let mut told = String::new();
    let half = good.rfind("\"event\"").expect("there is a step");
    for (old, new) in [
        (&good[half + 12..], "\n"),
        ("\"seq\":2", "\"seq\":\"two\""),
        ("\"kind\":\"crash\"", "\"kind\":\"crush\""),
        ("\"node\":3", "\"node\":0"),
        ("\"variant\":\"recommended\"", "\"variant\":5"),
        ("\"t_coord\":true", "\"t_coord\":\"maybe\""),
        ("\"crashes\":1", "\"crashes\":-1"),
        ("\"protocol\":\"bully\"", "\"protocol\":\"bull\""),
        ("\"seq\":2", "\"seq\":7"),
        ("\"up\":true", "\"up\":1"),
        ("\"from\":3", "\"form\":3"),
        ("{\"seq\":1,", "{\"seq\":1,,"),
    ] {
        let bad = good.replacen(old, new, 1);
        assert_ne!(bad, good, "no {old} in {good}");
        fs::write(&file, bad).expect("it can be written");
        let message = refused(&format!("trace {}", file.display())).replace(out, "DIR");
        let new = if new == "\n" { "(the end is cut off)" } else { new };
        let _ = writeln!(told, "{new}\n{message}\n");
    }
    insta::assert_snapshot!(told);
}
