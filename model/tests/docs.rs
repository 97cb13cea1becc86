//! The documents are true: every command of the checker that one of them shows is run, and what it
//! prints is compared with what stands under it.

mod examples;

use crate::prove::has_a_solver;
use assert_cmd::Command;
use examples::{Example, compare, examples};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

const PROMPT: &str = "$ cargo run --release -- ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn documents() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    for folder in ["docs", "docs/protocols"] {
        let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
        let paths = entries.map(|entry| entry.expect("the entry can be read").path());
        found.extend(paths.filter(|path| path.extension().is_some_and(|e| e == "md")));
    }
    found.sort();
    found
}

/// Runs what a document shows; how many commands that were.
fn run(document: &Path) -> usize {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let examples = examples(document, PROMPT);
    // `explore` never ends; tests/explorer.rs tries it.
    let ends = |example: &&Example| !example.args.starts_with("explore");
    // Proofs need a solver.
    let solver = !examples.iter().any(|one| one.args.starts_with("prove")) || has_a_solver();
    let ends = |one: &&Example| ends(one) && (solver || !one.args.starts_with("prove"));
    for example in examples.iter().filter(ends) {
        let mut command = Command::cargo_bin("bellwether-model").expect("the checker is built");
        // A shell would take the quotes away.
        let args = example.args.split(' ').map(|arg| arg.trim_matches('\''));
        let output = command.args(args).env_remove("COLUMNS").current_dir(&folder).output();
        let output = output.expect("the checker runs");
        let status = output.status.code();
        // A limit that a document shows is reached.
        let limited = status == Some(3) && example.args.contains(" --max-");
        assert!(
            matches!(status, Some(0 | 1 | 4)) || limited,
            "{}: exit status {status:?}: {}",
            example.place,
            String::from_utf8_lossy(&output.stderr)
        );
        compare(example, &String::from_utf8_lossy(&output.stdout));
    }
    examples.iter().filter(ends).count()
}

#[test]
fn every_command_that_a_document_shows_prints_what_stands_under_it() {
    let documents = documents();
    let commands: usize = thread::scope(|scope| {
        let running: Vec<_> =
            documents.iter().map(|document| scope.spawn(|| run(document))).collect();
        running.into_iter().map(|one| one.join().expect("a document is not true")).sum()
    });
    assert!(commands >= 12, "only {commands} commands were found in the documents");
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
    let protocols = protocols.as_array().expect("a list");
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
    let blocks = readme.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let shown: Vec<&str> =
        blocks.flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty()).collect();
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
    let kept = root().join("docs/images").join(name);
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        fs::write(&kept, &drawn).expect("the picture can be written");
    }
    let kept = fs::read_to_string(&kept).expect("the picture is there");
    assert!(kept == drawn, "docs/images/{name} is old: run the tests with UPDATE_PICTURES=1");
}
