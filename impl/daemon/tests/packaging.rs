//! What is shipped beside the program: units, containers, a proxy, a package, and clients of the
//! HTTP API. All of it is compared with the program, and run where the tools for it are installed.

mod clients;
mod containers;
mod units;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::common::{bellwether, keys, told};

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
            let output = command.output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{path}: {said}");
        }
    }
}

/// What the program writes itself before the package is made.
const MADE: &str = "../../target/packaging/";

/// The files of the Debian package, which is not made here: where each is, and where it goes.
fn assets() -> Vec<(String, String)> {
    let manifest: toml::Table = read("impl/daemon/Cargo.toml").parse().expect("TOML");
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().expect("a list");
    let text = |value: &toml::Value| value.as_str().expect("a text").to_owned();
    let assets = assets.iter().map(|asset| asset.as_array().expect("a list"));
    assets.map(|asset| (text(&asset[0]), text(&asset[1]))).collect()
}

#[test]
fn every_file_of_the_package_is_there_or_is_made_by_the_program() {
    let mut made = BTreeSet::new();
    for (from, to) in assets() {
        assert!(!to.starts_with('/'), "{to}");
        if let Some(name) = from.strip_prefix(MADE) {
            made.insert(name.to_owned());
        } else if from != "target/release/bellwether" {
            assert!(shipped("impl/daemon").join(&from).is_file(), "{from}");
        }
    }
    let shells = ["bash", "fish", "zsh"];
    let mut wanted: BTreeSet<String> =
        shells.iter().map(|shell| format!("bellwether.{shell}")).collect();
    wanted.insert("man/*.1".to_owned());
    assert_eq!(made, wanted);

    let build = read("packaging/debian/build");
    assert!(build.contains(&format!("for shell in {};", shells.join(" "))), "{build}");
    assert!(build.contains("made=target/packaging\n") && build.contains("man --out"), "{build}");
    for shell in shells {
        let (status, said) = told(bellwether().args(["completions", shell]));
        assert!(status == Some(0) && said.contains("check-config"), "{shell}: {said}");
        assert!(!said.contains("demo-node"), "{shell}: a hidden command");
    }
}

/// The files that others name are where the package puts them.
#[test]
fn what_the_units_name_is_in_the_package() {
    let places: BTreeSet<String> = assets()
        .into_iter()
        .map(|(from, to)| match to.strip_suffix('/') {
            Some(folder) => format!("/{folder}/{}", from.rsplit('/').next().expect("a name")),
            None => format!("/{to}"),
        })
        .collect();
    let added = read("packaging/systemd/floating-address.conf");
    let command = added.lines().find_map(|line| line.strip_prefix("#   COMMAND="));
    let command = command.and_then(|line| line.split(' ').next()).expect("a command");
    let postinst = read("packaging/debian/scripts/postinst");
    let users = format!("/usr/lib/sysusers.d/{}", after(&postinst, "systemd-sysusers "));
    for place in [command, &users, "/usr/bin/bellwether", "/etc/bellwether/example.toml"] {
        assert!(places.contains(place), "no {place} in {places:?}");
    }
}

#[test]
fn a_shell_can_read_the_scripts() {
    if !has("sh") {
        return;
    }
    let scripts = ["scripts/postinst", "scripts/prerm", "scripts/postrm"];
    let scripts = scripts.map(|name| format!("packaging/debian/{name}"));
    for script in scripts.iter().map(String::as_str).chain(["packaging/floating-address"]) {
        assert!(read(script).starts_with("#!/bin/sh\n"), "{script}");
        let (status, said) = told(Command::new("sh").arg("-n").arg(shipped(script)));
        assert_eq!(status, Some(0), "{script}: {said}");
    }
}
