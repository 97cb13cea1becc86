//! The engine, and all that it needs, is compiled once, whichever package of the workspace is
//! built: each package asks for the same features of it. And the core of the program depends on no
//! package that acts. And the library has what its features bring, and no more, and so has what
//! checks a protocol in a repository of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// All that the core may depend on, itself included: durations as text, mathematics, data as
/// formats need it, and errors. Neither a runtime, nor a network, nor a clock, nor chance.
const CORE: &str = "bellwether-core humantime libm proc-macro2 quote serde serde_core serde_derive \
                    syn thiserror thiserror-impl unicode-ident";

/// Features of the library, and packages that only some of them bring. The first is none.
const BRINGS: [(&str, &[&str]); 5] = [
    ("", &[]),
    ("config-file", &["strsim", "toml"]),
    ("http", &["axum", "hyper"]),
    ("stores", &["hyper", "redis", "rusqlite", "rustls", "tokio-postgres", "tokio-rustls"]),
    ("tls", &["rustls", "tokio-rustls"]),
];

/// The packages that a build of these has, each with its features.
fn features(of: &[&str]) -> BTreeMap<String, String> {
    let tree = ["tree", "--locked", "--prefix", "none", "--format", "{p}\t{f}", "--edges"];
    let tree = tree.iter().chain(&["normal,build"]).chain(of);
    let tree = Command::new(env!("CARGO")).args(tree).output().expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).expect("text");
    // What stands there a second time is marked so.
    let lines = tree.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('\t'));
    lines.map(|(package, features)| (package.to_owned(), features.to_owned())).collect()
}

/// The names of the packages of a build.
fn names(build: &BTreeMap<String, String>) -> BTreeSet<&str> {
    build.keys().filter_map(|package| package.split(' ').next()).collect()
}

fn packages() -> BTreeSet<String> {
    let metadata = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
    let metadata = Command::new(env!("CARGO")).args(metadata).output().expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages.map(|package| package["name"].as_str().expect("a name").to_owned()).collect()
}

/// In what two builds differ, of what both have.
fn differences(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    let differs = |(name, features): (&String, &String)| {
        let others = other.get(name).filter(|others| *others != features)?;
        Some(format!("{name} has [{features}], and [{others}]"))
    };
    one.iter().filter_map(differs).collect()
}

#[test]
fn the_engine_has_the_same_features_in_every_build() {
    let whole = features(&["--workspace"]);
    for (base, at_least) in [("engine", 7), ("tool", 4)] {
        let engine = features(&["--package", &format!("bellwether-{base}")]);
        assert!(engine.len() > 30, "{engine:?}");
        let mut compared = 0;
        for package in packages() {
            let mut build = features(&["--package", &package]);
            build.retain(|name, _| engine.contains_key(name));
            if build.len() == engine.len() {
                compared += 1;
                let differ = differences(&build, &whole);
                let what = format!("add the features to model/{base}/Cargo.toml");
                assert!(differ.is_empty(), "-p {package} and --workspace: {differ:#?}\n{what}");
            }
        }
        assert!(compared >= at_least, "only {compared} packages have the {base}");
    }
}

/// What only some commands of the checker need, or only other packages of the workspace.
#[test]
fn a_protocol_of_its_own_depends_on_what_it_uses() {
    let build = features(&["--package", "own-protocol"]);
    let names = names(&build);
    for left_out in
        ["async-trait", "clap_complete", "clap_mangen", "stateright", "tiny_http", "toml"]
    {
        assert!(!names.contains(left_out), "it compiles {left_out}");
    }
    assert!(names.contains("bellwether-tool"), "{names:?}");
}

/// After a build of the workspace, nothing is left to compile for a comparison.
#[test]
fn the_comparison_has_the_same_features_in_every_build() {
    let conformance = features(&["--package", "bellwether-conformance"]);
    let differ = differences(&conformance, &features(&["--workspace"]));
    let what = "add the features to conformance/Cargo.toml";
    assert!(differ.is_empty(), "-p bellwether-conformance and --workspace: {differ:#?}\n{what}");
}

/// The comparison and the simulation depend on the core alone, and so they depend on nothing else
/// of the program either.
#[test]
fn the_core_depends_on_nothing_that_acts() {
    let core = features(&["--package", "bellwether-core"]);
    assert_eq!(names(&core), CORE.split(' ').collect::<BTreeSet<_>>());
    for package in ["bellwether-bridge", "bellwether-conformance", "bellwether-sim"] {
        let build = features(&["--package", package]);
        let names = names(&build);
        for acts in ["bellwether", "axum", "hyper", "rustls", "snow", "tokio"] {
            assert!(!names.contains(acts), "{package} depends on {acts}");
        }
        assert!(names.contains("bellwether-core"), "{package}: {names:?}");
    }
}

/// A program that embeds the library compiles neither TLS nor a parser of files nor a server for
/// HTTP, unless it asks for that.
#[test]
fn the_library_depends_on_what_its_features_bring() {
    let all = BRINGS.iter().flat_map(|(_, packages)| *packages);
    for (feature, brings) in BRINGS {
        let only = ["--features", feature];
        let build = features(&[&["--package", "bellwether"][..], &only].concat());
        let names = names(&build);
        for package in all.clone() {
            let (there, wanted) = (names.contains(package), brings.contains(package));
            assert_eq!(there, wanted, "{package}, with the features [{feature}]");
        }
        assert!(!feature.is_empty() || names.len() <= 95, "{} packages: {names:?}", names.len());
        for of_the_daemon in ["clap", "rcgen", "tracing-subscriber", "ureq"] {
            assert!(!names.contains(of_the_daemon), "{of_the_daemon}, with [{feature}]");
        }
        assert!(names.contains("tokio"), "[{feature}]: {names:?}");
    }
}
