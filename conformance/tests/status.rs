//! What was found is the exit status, whatever becomes of what is printed. That of a program which
//! differs is in `diverges.rs`.

use crate::files::files;
use bellwether_docs_runner::{other_statuses, without_verdict};
use std::process::Command;

const LINES: &[(&str, i32)] = &[
    ("lockstep bully", 0),
    ("lockstep bully --json", 0),
    ("lockstep buly", 2),
    ("lockstep bully --nodes 4 --recoveries 1 --max-states 1000", 3),
    ("lockstep bully --nodes 4 --recoveries 1 --max-states 1000 --json", 3),
    ("replay nothing", 2),
    ("validate nothing", 2),
    ("suite bully", 0),
    ("suite bully --no-run --json", 0),
    ("suite buly", 2),
    ("suite bully --nodes 4 --recoveries 1 --max-states 1000", 3),
    ("suite bully --nodes 4 --recoveries 1 --max-states 1000 --json", 3),
    ("list", 0),
    ("list --json", 0),
    ("list bully", 2),
    ("completions bash", 0),
    ("completions abacus", 2),
    ("man", 0),
    ("man --out /proc/nothing", 2),
    ("help lockstep", 0),
    ("help lockstp", 2),
];

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"))
}

#[test]
fn no_reader_and_no_room_makes_another_status() {
    let wrong = LINES.iter().flat_map(|&line| other_statuses(program, line, 2));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // That of `replay` is in `diverges.rs`: what the model has saved, the right program does. That
    // of `validate` is in `validate/files.rs`.
    let without = without_verdict(&mut program(), LINES);
    assert_eq!(without, ["replay", "validate", "list", "completions", "man", "help"]);
}

/// A macro that panics when it cannot print takes the status of a verdict away. Only what finds
/// nothing may use one: examples that a reader copies, and what tests print.
#[test]
fn no_program_panics_when_it_cannot_print() {
    const MACROS: [&str; 5] = ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!("];
    let finds_nothing = |file: &str| {
        file.starts_with("examples/")
            || file == "model/examples/liveness_speed.rs"
            || file.contains("/tests/")
            || file.ends_with("/tests.rs")
    };
    let mut wrong = Vec::new();
    let mut looked = 0;
    for (file, text) in files("rs").into_iter().filter(|(file, _)| !finds_nothing(file)) {
        looked += 1;
        for (at, line) in (1..).zip(text.lines()) {
            let code = line.trim_start();
            let is_remark = code.starts_with("//");
            if !is_remark && MACROS.iter().any(|name| code.contains(name)) {
                wrong.push(format!("{file}:{at}: {code}"));
            }
        }
    }
    assert!(looked > 300, "only {looked} files");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
