//! What is printed fits the terminal, and where there is room, each row of a table is a line.

use assert_cmd::Command;
use bellwether_docs_runner::object_of;
use std::collections::HashSet;
use std::path::Path;

/// What `line` prints on a terminal that is so wide, or into a pipe.
fn printed(dir: &Path, line: &str, columns: Option<usize>) -> String {
    let mut command = Command::cargo_bin("bellwether-model").expect("the binary is built");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.envs(columns.map(|columns| ("COLUMNS", columns.to_string())));
    let output = command.args(line.split_whitespace()).current_dir(dir).output();
    let output = output.expect("the binary runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3 | 4)), "{line}: {error}");
    assert!(error.is_ascii(), "{line}: {error}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The protocols.
fn protocols(dir: &Path) -> Vec<String> {
    let list = object_of("bellwether-model-list", printed(dir, "list --json", None));
    let names = list["protocols"].as_array().expect("a list").iter();
    names.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
}

/// Commands that print tables and sentences, and nothing that is drawn.
fn tables(dir: &Path) -> Vec<String> {
    let lines = [
        "list",
        "check bully",
        "check bully --recoveries 1 --max-states 50",
        "check raft-election --variant paper --nodes 4 --without 1-4 --without 2-4 -p votes-stand",
        "bounds bully --variant baseline",
        "tune bully --variant baseline --delay 1 --find t-coord --t-elec 9 --up-to 1",
        "survey bully ospf-dr --max-states 300",
    ];
    let each = protocols(dir).into_iter().map(|name| format!("list {name}"));
    lines.into_iter().map(str::to_owned).chain(each).collect()
}

/// A command or an address, which is not broken: it is there to be copied.
fn is_copied(line: &str) -> bool {
    // It begins as this program was called, which is by cargo where cargo runs the tests.
    let called = ["bellwether-model ", "cargo run --release -- "];
    let is_command = line.starts_with("    ") && called.iter().any(|it| line.contains(it));
    is_command || ["Browse it: ", "       at: "].iter().any(|it| line.starts_with(it))
}

#[test]
fn tables_fit_a_terminal_and_break_no_word() {
    let dir = tempfile::tempdir().expect("a folder");
    for line in tables(dir.path()) {
        let words = |text: &str| -> HashSet<String> {
            text.split_whitespace().map(|word| word.trim_end_matches(':').to_owned()).collect()
        };
        let whole = words(&printed(dir.path(), &line, None));
        for columns in [60, 80, 120] {
            let text = printed(dir.path(), &line, Some(columns));
            let wide = text.lines().find(|line| line.chars().count() > columns && !is_copied(line));
            assert_eq!(wide, None, "{line} in {columns} columns: {text}");
            let is_measured = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
            let is_drawn = |word: &String| word.starts_with(['┌', '╞', '└']);
            let broken: Vec<_> = words(&text)
                .into_iter()
                .filter(|word| !whole.contains(word) && !is_measured(word) && !is_drawn(word))
                .collect();
            assert!(broken.is_empty(), "{line} in {columns} columns: {broken:?}");
        }
    }
}

#[test]
fn a_wide_terminal_gets_one_line_for_each_row() {
    let dir = tempfile::tempdir().expect("a folder");
    let rows = |line: &str| {
        let text = printed(dir.path(), line, Some(500));
        let table = text.lines().skip_while(|line| !line.starts_with('╞')).skip(1);
        table.take_while(|line| line.starts_with('│')).count()
    };
    assert_eq!(rows("list"), protocols(dir.path()).len());
    assert_eq!(rows("survey bully stoller --max-states 100"), 2);
    assert_eq!(rows("check bully --recoveries 1"), 7);
}

#[test]
fn drawings_fit_a_terminal() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = printed(dir.path(), "check bully --recoveries 1", Some(80));
    let lines = text.lines().filter(|line| !is_copied(line));
    let wide: Vec<_> = lines.filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
}
