//! Tells the program from which commit it is built, if that is known.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A package from a registry has this file; the repository around it is that of another program.
    let packaged = std::fs::read_to_string(".cargo_vcs_info.json").ok();
    let commit = match &packaged {
        Some(info) => packaged_commit(info),
        None => checked_out_commit(),
    };
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=BELLWETHER_COMMIT={commit}");
}

/// Returns the short hash in what Cargo has written down of the repository.
fn packaged_commit(info: &str) -> Option<String> {
    let (_, hash) = info.split_once("\"sha1\":")?;
    Some(hash.split('"').nth(1)?.chars().take(8).collect())
}

/// Returns the short hash and the date of the commit that is checked out.
fn checked_out_commit() -> Option<String> {
    for file in ["HEAD", "logs/HEAD"] {
        // A file that is not there would have the program built anew each time.
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["log", "-1", "--abbrev=8", "--format=%h %cs"])
}

/// Returns what Git prints; nothing if there is no Git, or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
