//! The documents are true: every command of the checker that one of them shows is run, and what it
//! prints is compared with what stands under it. The page that takes a design from its first
//! version to a witness has its code from an example, whose commands are run too.

#[path = "../examples/real_design.rs"]
#[expect(dead_code, reason = "`main` is that of the example")]
mod design;

use crate::cli::{run, run_in};
use Verdict::{Holds, HoldsWithin, Violated};
use bellwether_docs_runner::{Console, blocks, is_shown, pages, root, words};
use bellwether_model::check::{Decision, Options, Report, Verdict, check, holds_within};
use bellwether_model::property::TIMEOUTS_ACCURATE;
use bellwether_model::report::story;
use bellwether_model::tune::{self, Question};
use bellwether_model::world::{Delay, Durations, Scenario, Timed};
use bellwether_tool::cli::{QuestionArgs, Tool, with_durations};
use clap::{Args, Command, FromArgMatches};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// Runs what is shown in slow blocks, or in all others; how many commands that were.
fn run_pages(pages: &BTreeMap<String, String>, slow: bool) -> usize {
    let statuses = |args: &str| -> &'static [i32] {
        match args.split(' ').next() {
            // It never ends, unless it writes a file; tests/explorer.rs tries it.
            Some("explore") if !args.contains(" --export ") => &[],
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
    let commands = run_pages(&pages(), false);
    assert!(commands >= 200, "only {commands} commands were found in the documents");
}

#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn every_slow_command_that_a_document_shows_prints_what_stands_under_it() {
    let commands = run_pages(&pages(), true);
    assert!(commands >= 12, "only {commands} slow commands were found in the documents");
}

#[test]
#[should_panic(expected = "page.md:3: not printed (here):\nno protocol")]
fn a_document_that_shows_something_else_is_not_true() {
    let page = "\n```console\n$ cargo run --release -- list\n...\nno protocol\n```\n";
    run_pages(&BTreeMap::from([("page.md".to_owned(), page.to_owned())]), false);
}

/// The page on the checker names every property that `list` names, with its formula.
#[test]
fn every_property_stands_in_the_page_on_the_checker() {
    let page = fs::read_to_string(root().join("docs/model.md")).expect("it can be read");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let list = |protocol: &str| {
        let printed = run(&format!("list {protocol} --json")).stdout;
        serde_json::from_str::<serde_json::Value>(&printed).expect("JSON")
    };
    let protocols = list("");
    let protocols = protocols["protocols"].as_array().expect("a list");
    assert!(protocols.len() > 10);
    for protocol in protocols {
        let protocol = protocol["name"].as_str().expect("a name");
        for property in list(protocol)["properties"].as_array().expect("properties") {
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

/// The pictures in the documents are what the checker draws today; so is the one of an execution
/// that costs the most.
#[test]
fn the_pictures_are_what_the_checker_draws() {
    let herd = "queue-herd.svg: bounds queue --variant herd --nodes 4";
    for line in PICTURES.lines().filter(|line| !line.is_empty()).chain([herd]) {
        let (name, args) = line.split_once(": ").expect("a name and a command");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ran = run_in(folder.path(), &format!("{args} --out ."));
        // A bound is no violation, and there is a picture for each thing that is counted.
        let (status, is_it) = if line == herd { (0, "messages.svg") } else { (1, ".svg") };
        assert_eq!(ran.status, status, "{line}: {}", ran.stderr);
        let saved = fs::read_dir(&folder).expect("the folder can be read");
        let mut saved = saved.map(|entry| entry.expect("the entry can be read").path());
        let drawn = saved.find(|path| path.to_string_lossy().ends_with(is_it));
        let drawn = fs::read_to_string(drawn.expect("a picture was saved")).expect("it is text");
        is_shown(&format!("docs/images/{name}"), None, |_| drawn);
    }
}

const PROMPT: &str = "$ cargo run --release --example real_design -- ";

/// What the commands of the page find, in its order.
const FOUND: [Verdict; 13] = [
    // The first version; with stable storage; two leaders of different terms.
    Violated, Holds, Violated,
    // Candidates that wait for ever, and those that ask again; some messages are lost.
    Violated, Holds, Holds,
    // Time-outs that are long enough; one tick less of the first, and of the second.
    Holds, Violated, Violated,
    // With a witness: of two properties, of a third, and if it has no disk.
    Holds, Holds, Holds, Violated,
];

/// What `check` finds with these arguments.
fn designed(line: &str) -> Report {
    let command = Command::new("ballot").no_binary_name(true);
    let command = command.subcommand(QuestionArgs::augment_args(Command::new("check")));
    let command = with_durations(command, design::REGISTRY);
    let matches = command.try_get_matches_from(words(line)).expect("flags");
    let (_, flags) = matches.subcommand().expect("a command");
    let question = QuestionArgs::from_arg_matches(flags).expect("its flags");
    let world = question.world(Tool::new("ballot", design::REGISTRY)).expect("a world");
    let properties = question.properties(&world).expect("the properties");
    check(&world, &properties, &question.options(), &mut |_| {}).expect("a report")
}

/// What is printed of this, as pages show it: verdicts, and the last `most` lines of each story.
fn shown(report: &Report, most: usize) -> String {
    let name = |decision: &Decision| decision.property.name;
    let width = report.decisions.iter().map(|one| name(one).chars().count()).max().unwrap_or(0);
    let mut out = "...\n".to_owned();
    for decision in &report.decisions {
        let verdict = match (decision.verdict, &decision.counterexample) {
            (Holds, _) => "holds".to_owned(),
            (HoldsWithin, _) => holds_within(&report.bounds_met),
            (Violated, Some(found)) => format!("violated ({} steps)", found.length()),
            (verdict, _) => panic!("{}: {verdict:?}: {:?}", name(decision), decision.reason),
        };
        let _ = writeln!(out, "│ {:<width$}   {verdict}...", name(decision));
    }
    out += "...\n";
    for decision in &report.decisions {
        let Some(found) = &decision.counterexample else { continue };
        let story = story::tell(&found.trace(&report.world, &decision.property));
        let lines: Vec<&str> = story.lines().collect();
        let _ = writeln!(out, "{}\n...", lines[lines.len().saturating_sub(most)..].join("\n"));
    }
    out
}

/// `UPDATE_DOCS=1 cargo test what_stands_under` writes what stands under each command anew. The
/// first execution is shown whole, of the others the end.
#[test]
fn what_stands_under_each_command_is_what_is_found() {
    let mut verdicts = Vec::new();
    is_shown("docs/real-design.md", None, |page| {
        let (mut out, mut console) = (String::new(), false);
        for line in page.lines() {
            let fence = line.starts_with("```");
            console = if fence { line == "```console" } else { console };
            let command = line.strip_prefix(PROMPT).filter(|_| console);
            if fence || !console || command.is_some() {
                let _ = writeln!(out, "{line}");
            }
            if let Some(command) = command {
                let report = designed(command);
                out += &shown(&report, if verdicts.is_empty() { 14 } else { 4 });
                verdicts.extend(report.decisions.iter().map(|decision| decision.verdict));
            }
        }
        out
    });
    assert_eq!(verdicts, FOUND);
}

#[test]
fn every_piece_of_code_on_the_page_stands_in_the_example() {
    let page = include_str!("../../docs/real-design.md");
    let example = include_str!("../examples/real_design.rs");
    let blocks = blocks(page, "rust");
    for block in &blocks {
        assert!(example.contains(block.text), "not in the example:\n{}", block.text);
    }
    assert!(blocks.len() >= 6, "only {} pieces of code", blocks.len());
}

/// The section on time-outs: with the one as it stands there, the other is the shortest, also the
/// one that only sets processes apart.
#[test]
fn tune_finds_each_duration_of_the_page() {
    let ballot = design::REGISTRY.find("ballot").expect("known");
    let rules = || ballot.rules(None, &[]).expect("the default ones");
    assert_eq!(tune::time_outs(&*rules()), ["t-election"]);
    assert_eq!(tune::staggers(&*rules(), 3), ["t-stagger"]);
    assert_eq!(tune::staggers(&*rules(), 1), [""; 0], "there is none to be apart from");
    for (sought, ticks, other) in
        [("t-election", 5, ("t-stagger", 3)), ("t-stagger", 3, ("t-election", 5))]
    {
        let given = Durations::of([("t-heartbeat", 3), other]).expect("two");
        let question = Question {
            rules: rules(),
            scenario: Scenario::calm(3).with_crashes(1, 0),
            given: Timed::of(Delay::AtMost(1), given),
            sought: vec![sought],
            property: TIMEOUTS_ACCURATE.to_owned(),
            most: 8,
            options: Options::default(),
        };
        let row = question.row(1, 0, &mut |_, _, _| {}).expect("possible");
        assert_eq!((sought, row.ticks(sought)), (sought, Some(ticks)));
    }
}
