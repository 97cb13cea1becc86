//! The program as a whole: its texts, its exit statuses, and the page that shows its commands.

use bellwether_docs_runner::script::run_scripts;
use bellwether_docs_runner::{Console, other_statuses, pages, without_verdict};
use std::path::Path;
use std::process::Command;

/// Each line and its exit status, which says what was found, whatever becomes of what is printed. All
/// commands but `check` are those of the checker.
const LINES: &[(&str, i32)] = &[
    ("check bully --property agreement --threads 1", 0),
    ("check bully --recoveries 1 --property at-most-one-leader --threads 1", 1),
    ("check bully --recoveries 1 --property at-most-one-leader --threads 1 --json", 1),
    ("check bully --property stabilises", 2),
    ("check bully --property agreement --max-states 10 --threads 1", 3),
    ("tune bully --variant baseline --delay 1 --max-states 10", 3),
    ("bounds bully --max-states 10", 3),
    ("suite nothing", 2),
    ("explore buly", 2),
    ("list buly", 2),
    ("trace nothing", 2),
    ("completions abacus", 2),
    ("man --out /proc/nothing", 2),
    ("help chek", 2),
];

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-dataflow"));
    command.env_remove("CARGO");
    command
}

/// `UPDATE=1 cargo test -p bellwether-dataflow scripts` writes anew what is printed.
#[test]
fn the_scripts_tell_what_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lines");
    run_scripts(&folder, || {
        let mut command = program();
        command.env_remove("COLUMNS");
        command
    });
}

#[test]
fn no_reader_and_no_room_makes_another_status() {
    let wrong = LINES.iter().flat_map(|&line| other_statuses(program, line, 2));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let without = without_verdict(&mut program(), LINES);
    let expected = ["suite", "explore", "list", "trace", "completions", "man", "help"];
    assert_eq!(without, expected);
}

/// Every command of the program that the page on the dataflow shows is run.
#[test]
fn every_command_of_the_page_prints_what_stands_under_it() {
    let statuses =
        |args: &str| -> &'static [i32] { if args.contains(" --max-") { &[3] } else { &[0] } };
    let console = Console {
        program: env!("CARGO_BIN_EXE_bellwether-dataflow"),
        prompt: "cargo run --release -p bellwether-dataflow -- ",
        statuses: &statuses,
    };
    // This package has no slower tests.
    let commands = console.run(&pages(), false) + console.run(&pages(), true);
    assert!(commands >= 3, "only {commands} commands");
}
