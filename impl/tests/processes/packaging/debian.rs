//! The Debian package: its files are there, and its scripts can be read. It is not made here.

use std::collections::BTreeSet;
use std::process::Command;

use super::{has, read, shipped};
use crate::processes::common::bellwether;

/// What the program writes itself before the package is made.
const MADE: &str = "../target/packaging/";

/// The files of the package: where each is, and where it goes.
fn assets() -> Vec<(String, String)> {
    let manifest: toml::Table = read("impl/Cargo.toml").parse().expect("TOML");
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
            assert!(shipped("impl").join(&from).is_file(), "{from}");
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
        let output = bellwether().args(["completions", shell]).output().expect("it runs");
        assert!(output.status.success() && !output.stdout.is_empty(), "{shell}");
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
    let users = format!("/usr/lib/sysusers.d/{}", super::after(&postinst, "systemd-sysusers "));
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
        let output = Command::new("sh").arg("-n").arg(shipped(script)).output().expect("it runs");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
