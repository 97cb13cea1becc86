//! Processes that no file lists, and that share a lease in a file of SQLite.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use super::*;
use crate::common::{bellwether, for_so_long, told};

/// Writes down who works, and works on.
const WORKS: &str = r#"echo "$BELLWETHER_LEADER" >> "$0"; exec sleep 600"#;

/// The longest time from the death of a worker to the work of the next.
const SOON: Duration = Duration::from_secs(3);

/// The arguments that name the lease in this folder.
fn lease(folder: &Path) -> [String; 4] {
    let store = format!("sqlite:{}", folder.join("orders.db").display());
    ["--store".to_owned(), store, "--name".to_owned(), "orders".to_owned()]
}

fn worker(folder: &Path, label: &str, more: &[&str]) -> Process {
    let mut command = bellwether();
    command.arg("exec").args(lease(folder)).args(["--keep", "2s", "--label", label]);
    command.args(more).args(["--", "sh", "-c", WORKS]).arg(folder.join("journal"));
    let log = fs::File::options().create(true).append(true).open(folder.join("log"));
    Process::start(command.stderr(log.expect("ours")))
}

fn journal(folder: &Path) -> String {
    fs::read_to_string(folder.join("journal")).unwrap_or_default()
}

#[track_caller]
fn waits_for(folder: &Path, workers: &str) {
    let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    wait_until(workers, || journal(folder) == workers, log);
}

#[test]
fn one_of_several_works_and_the_next_soon_after_it_is_killed() {
    let place = tempfile::tempdir().expect("a directory");
    let folder = place.path();
    let mut first = worker(folder, "a", &[]);
    waits_for(folder, "a\n");
    let second = worker(folder, "b", &[]);
    for_so_long(Duration::from_secs(1), || assert_eq!(journal(folder), "a\n"));
    first.kill();
    let killed = Instant::now();
    waits_for(folder, "a\nb\n");
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());

    let _third = worker(folder, "b", &[]);
    for_so_long(Duration::from_secs(3), || assert_eq!(journal(folder), "a\nb\n"));
    let (status, shown) = told(bellwether().args(["store", "show"]).args(lease(folder)));
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.starts_with("lease orders: held by b, token 3, "), "{shown}");
    second.ask_to_end();
    let asked = Instant::now();
    waits_for(folder, "a\nb\nb\n");
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
}

#[test]
fn a_process_whose_check_fails_leaves_the_lease_to_another() {
    let place = tempfile::tempdir().expect("a directory");
    let folder = place.path();
    let check = folder.join("check");
    fs::write(&check, "#!/bin/sh\ntest -e \"${0%/*}/fit\"\n").expect("ours");
    fs::set_permissions(&check, fs::Permissions::from_mode(0o700)).expect("ours");
    let flags = ["--health-check", check.to_str().expect("plain text")];
    let _unfit = worker(folder, "a", &flags);
    let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    wait_until("a is not fit", || log().contains("not fit to lead"), log);
    let fit = worker(folder, "b", &[]);
    waits_for(folder, "b\n");
    fs::write(folder.join("fit"), "").expect("ours");
    fit.ask_to_end();
    waits_for(folder, "b\na\n");
}
