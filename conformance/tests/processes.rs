//! Real processes, which show what they can of a suite. They are not there if only this package was
//! built.

use bellwether_docs_runner::object_of;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

fn ran(protocol: &str, folder: &Path) -> Option<Output> {
    let own = Path::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
    let program = own.with_file_name("bellwether");
    if !program.exists() {
        return None;
    }
    let mut command = Command::new(own);
    command.args(["suite", protocol, "--recoveries", "1", "--through", "processes"]);
    command.args(["--seconds", "15", "--json", "--out"]).arg(folder);
    Some(command.output().expect("it runs"))
}

/// The processes whose arguments name this folder.
fn left(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let arguments = processes.flatten().filter_map(|process| {
        let arguments = fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&arguments).into_owned())
    });
    arguments.filter(|arguments| arguments.contains(&folder)).collect()
}

fn shows_what_it_can(protocol: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(Output { status, stdout, stderr }) = ran(protocol, folder.path()) else { return };
    let said = String::from_utf8_lossy(&stderr);
    // Not each kind need come about in so little time.
    assert!(matches!(status.code(), Some(0 | 3)), "{protocol}: {status}: {said}");
    assert_eq!(left(folder.path()), Vec::<String>::new());
    let object = object_of("bellwether-conformance-suite-processes", &stdout);
    assert!(object["rejection"].is_null(), "{object:#}");
    let kinds = object["kinds"].as_u64().expect("a number");
    let missing = object["missing"].as_array().expect("a list");
    // With so little time, on a machine that does much else.
    assert!(missing.len() as u64 * 4 <= kinds * 3, "{protocol}: {missing:#?}");
    let done = &object["processes"];
    let count = |what: &str| done[what].as_u64().expect("a number");
    assert!(count("starts") > 3 && count("kills") > 0 && count("delivered") > 0, "{done}");
}

#[test]
fn real_processes_show_what_they_can_of_a_suite() {
    thread::scope(|scope| {
        for protocol in ["bully", "quorum"] {
            scope.spawn(move || shows_what_it_can(protocol));
        }
    });
}
