//! What is shipped beside the program: units, containers, a proxy, a package, and clients of the
//! HTTP API. All of it is compared with the program, and run where the tools for it are installed.

mod address;
mod clients;
mod containers;
mod debian;
mod proxy;
mod units;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::common::bellwether;
use super::security::keys;

/// Where a file of the repository is.
fn shipped(path: &str) -> PathBuf {
    bellwether_docs_runner::root().join(path)
}

/// What stands in a file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(shipped(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The word that follows, wherever that is.
fn after<'a>(text: &'a str, begin: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin:?} in {text}"));
    rest.split_whitespace().next().unwrap_or_else(|| panic!("nothing after {begin:?}"))
}

/// Says something that is seen although the test passes.
fn notice(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Whether a tool is installed. If it is not, that is said.
fn has(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let found = command.status().is_ok();
    if !found {
        notice(&format!("skipped: some of what is shipped is tried with {tool} only"));
    }
    found
}

#[test]
fn every_configuration_passes_its_check_without_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret").display().to_string();
    keys(&["secret", &secret]);
    for path in ["packaging/example.toml", "packaging/containers/bellwether.toml"] {
        for node in ["1", "2", "3"] {
            let mut command = bellwether();
            command.arg("check-config").arg(shipped(path)).args(["--node", node]);
            command.args(["--data-dir", "/var/lib/bellwether", "--secret-file", &secret]);
            let output = command.output();
            let output = output.expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{path}: {said}");
        }
    }
}
