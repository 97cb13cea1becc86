//! A few faults of each kind, as the program strikes them. The daemon is a program of another
//! package: where cargo has not built it, each test says so, and does no more.

use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use bellwether_testbed::process::{beside, daemon};
use serde_json::{Value, json};

/// How many faults on each network.
const FAULTS: usize = 5;

/// Says what a test leaves out. Cargo shows what a macro prints of failed tests only.
fn skip(why: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Runs the program, if the daemon is built. The program measures, so one run goes on at a time.
fn ran(line: &str) -> Option<Output> {
    static ALONE: Mutex<()> = Mutex::new(());
    if daemon().is_none() {
        skip("the daemon is not built");
        return None;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-soak"));
    Some(command.args(line.split(' ')).arg("--json").output().expect("the program starts"))
}

/// The report that the program prints.
#[track_caller]
fn report(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout);
    let report: Value = report.unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(output.status.success(), "{}\n{report:#}\n{said}", output.status);
    report
}

/// The soak with a few faults, half of the usual times, and clocks that are as wrong as may be.
#[track_caller]
fn is_good_soak(output: &Output) -> Value {
    let report = report(output);
    assert_eq!(report["violations"], json!([]), "{report:#}");
    assert_eq!(report["faults"], FAULTS, "{report:#}");
    assert!(report["writes_accepted"].as_u64() > Some(100), "{report:#}");
    report
}

#[test]
fn a_few_faults_on_relays() {
    let line = format!("soak --faults {FAULTS} --seed 1 --network relays --security secret");
    let Some(output) = ran(&line) else { return };
    let report = is_good_soak(&output);
    assert_eq!(report["pieces_slow"], 0, "{report:#}");
}

/// Where namespaces cannot be made, this is the soak with certificates.
#[test]
fn a_few_faults_on_relays_with_certificates() {
    let line = format!("soak --faults {FAULTS} --seed 3 --network relays --slow-trips 3");
    let Some(output) = ran(&line) else { return };
    let report = is_good_soak(&output);
    assert!(report["pieces_slow"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn a_few_faults_in_namespaces() {
    let line = format!("soak --faults {FAULTS} --seed 2 --network namespaces");
    let Some(output) = ran(&line) else { return };
    if String::from_utf8_lossy(&output.stderr).contains("cannot make network namespaces here") {
        skip("network namespaces cannot be made here");
        return;
    }
    is_good_soak(&output);
}

fn a_few_faults_with_a_store(store: &str, pace: f64) {
    let line = format!("stores {store} --faults 6 --seed 1 --pace {pace}");
    let Some(output) = ran(&line) else { return };
    let report = report(&output);
    assert_eq!(report["violations"], json!([]), "{report:#}");
    assert_eq!(report["faults"], 6, "{report:#}");
    assert!(report["writes_accepted"].as_u64() > Some(100), "{report:#}");
}

/// A file needs no server.
#[test]
fn a_few_faults_with_a_store_that_is_a_file() {
    a_few_faults_with_a_store("sqlite", 0.4);
}

/// The stand-in for Kubernetes is here.
#[test]
fn a_few_faults_with_a_store_that_only_compares() {
    a_few_faults_with_a_store("kubernetes", 0.5);
}

/// The daemon of today makes no mistake.
#[test]
fn a_command_ends_with_its_node_and_its_keeper() {
    let Some(output) = ran("killed-together --rounds 2 --pace 0.5") else { return };
    let report = report(&output);
    assert_eq!(report["violations"], json!([]), "{report:#}");
    let rounds = report["rounds"].as_array().expect("a list").iter();
    assert!(rounds.map(|round| round["commands_left"].as_u64()).eq([Some(0); 2]), "{report:#}");
}

/// A few groups, of which a killed daemon led a third.
#[test]
fn a_killed_daemon_is_replaced_in_each_group() {
    let Some(output) = ran("groups --groups 30 --nodes 3 --single 0 --time 2s") else { return };
    let report = report(&output);
    let led = report["led"].as_object().expect("the nodes that lead");
    assert_eq!(led.values().filter_map(Value::as_u64).sum::<u64>(), 30, "{report:#}");
    assert_eq!(report["failover"]["groups"], led["3"], "{report:#}");
    assert!(report["failover"]["longest_ms"].as_f64() > Some(0.0), "{report:#}");
    assert!(report["quiescent"][0]["messages"].as_f64() > Some(10.0), "{report:#}");
}

/// The program that judges is of another package, too.
#[test]
fn the_model_accepts_what_a_few_clusters_did() {
    if beside("bellwether-conformance").is_none() {
        skip("bellwether-conformance is not built, so no trace is judged");
        return;
    }
    let Some(output) = ran("recorded --runs 4 --at-once 2 --time-limit 10min") else { return };
    let report = report(&output);
    assert_eq!(report["accepted"], 4, "{report:#}");
    let count = |name: &str| report["judged"][name].as_u64();
    let (received, starts) = (count("received"), count("incarnations"));
    assert!(received > Some(100) && starts >= Some(20), "{report:#}");
}
