//! The documents are true: every command of the checker that one of them shows is run, and what it
//! prints is compared with what stands under it.

use crate::prove::has_a_solver;
use assert_cmd::Command;
use bellwether_docs_runner::{Console, blocks, is_shown, pages, root};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Runs what is shown in slow blocks, or in all others; how many commands that were.
fn run(pages: &BTreeMap<String, String>, slow: bool) -> usize {
    // Proofs need a solver.
    let solver = has_a_solver();
    let statuses = |args: &str| -> &'static [i32] {
        match args.split(' ').next() {
            // It never ends, unless it writes a file; tests/explorer.rs tries it.
            Some("explore") if !args.contains(" --export ") => &[],
            Some("prove") if !solver => &[],
            // A limit that a document shows is reached.
            _ if args.contains(" --max-") => &[0, 1, 3, 4],
            _ => &[0, 1, 4],
        }
    };
    let program = env!("CARGO_BIN_EXE_bellwether-model");
    let console = Console { program, prompt: "cargo run --release -- ", statuses: &statuses };
    console.run(pages, slow)
}

#[test]
fn every_command_that_a_document_shows_prints_what_stands_under_it() {
    let commands = run(&pages(), false);
    assert!(commands >= 200, "only {commands} commands were found in the documents");
}

#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn every_slow_command_that_a_document_shows_prints_what_stands_under_it() {
    let commands = run(&pages(), true);
    assert!(commands >= 12, "only {commands} slow commands were found in the documents");
}

#[test]
#[should_panic(expected = "page.md:3: not printed (here):\nno protocol")]
fn a_document_that_shows_something_else_is_not_true() {
    let page = "\n```console\n$ cargo run --release -- list\n...\nno protocol\n```\n";
    run(&BTreeMap::from([("page.md".to_owned(), page.to_owned())]), false);
}

/// The page on the checker names every property that `list` names, with its formula.
#[test]
fn every_property_stands_in_the_page_on_the_checker() {
    let page = fs::read_to_string(root().join("docs/model.md")).expect("it can be read");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let list = |args: &[&str]| {
        let mut command = Command::cargo_bin("bellwether-model").expect("the checker is built");
        let output = command.arg("list").args(args).arg("--json").output().expect("it runs");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let protocols = list(&[]);
    let protocols = protocols["protocols"].as_array().expect("a list");
    assert!(protocols.len() > 10);
    for protocol in protocols {
        let protocol = protocol["name"].as_str().expect("a name");
        for property in list(&[protocol])["properties"].as_array().expect("properties") {
            let text = |field: &str| property[field].as_str().expect("text").to_owned();
            let (name, formula) = (text("name"), text("formula").replace('|', "\\|"));
            let stands = |row: &&str| row.starts_with(&format!("| `{name}` |"));
            let row = rows.iter().find(|row| stands(row) && row.contains(&formula));
            assert!(row.is_some(), "{protocol}'s {name} is not in docs/model.md: {formula}");
        }
    }
}

/// The README's Rust code is that of the library's documentation, which the compiler checks.
#[test]
fn the_rust_code_in_the_readme_is_compiled_elsewhere() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("it can be read");
    let (readme, library) = (read("README.md"), read("impl/src/lib.rs"));
    let compiled: Vec<&str> = library
        .lines()
        .filter_map(|line| line.strip_prefix("//! "))
        .filter(|line| !line.starts_with('#'))
        .map(str::trim)
        .collect();
    let blocks = blocks(&readme, "rust");
    let shown = blocks.iter().flat_map(|block| block.text.lines()).map(str::trim);
    let shown: Vec<&str> = shown.filter(|line| !line.is_empty()).collect();
    assert!(!shown.is_empty(), "the README shows no Rust code");
    let mut rest = compiled.iter();
    for line in shown {
        assert!(rest.any(|known| *known == line), "not in the library's documentation: {line}");
    }
}

/// The pictures in the documents, and the command that draws each.
const PICTURES: &str = include_str!("pictures.txt");

/// The pictures in the documents are what the checker draws today.
#[test]
fn the_pictures_are_what_the_checker_draws() {
    for line in PICTURES.lines().filter(|line| !line.is_empty()) {
        let (name, args) = line.split_once(": ").expect("a name and a command");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::cargo_bin("bellwether-model").expect("the checker is built");
        let out = ["--out", "."];
        command.args(args.split(' ')).args(out).current_dir(&folder).assert().code(1);
        let drawn = fs::read_dir(&folder).expect("the folder can be read");
        let drawn = drawn.map(|entry| entry.expect("the entry can be read").path());
        let drawn = drawn.into_iter().find(|p| p.extension().is_some_and(|e| e == "svg"));
        is_kept(name, &drawn.expect("a picture was saved"));
    }
}

/// So is the one of an execution that costs the most.
#[test]
fn the_picture_of_the_herd_is_what_the_checker_draws() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::cargo_bin("bellwether-model").expect("the checker is built");
    let args = ["bounds", "queue", "--variant", "herd", "--nodes", "4", "--out", "."];
    command.args(args).current_dir(&folder).assert().code(0);
    is_kept("queue-herd.svg", &folder.path().join("queue-messages.svg"));
}

/// Compares a picture of the documents with one that was drawn just now.
fn is_kept(name: &str, drawn: &Path) {
    let drawn = fs::read_to_string(drawn).expect("it is text");
    is_shown(&format!("docs/images/{name}"), None, |_| drawn);
}
