//! The survey: what it says of a protocol is what `check` says, and the README shows what it
//! prints.

use bellwether_model::check::{Limits, Verdict};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::survey::{Cell, How, Most, Row, matrix, surroundings, survey};
use std::fs;
use std::path::Path;

const STATES: Limits = Limits { states: Some(250_000), ..Limits::NONE };

fn rows(protocols: &[&str], threads: usize) -> Vec<Row> {
    let named = protocols.iter().map(|name| REGISTRY.find(name).expect("such a protocol"));
    let how = How { nodes: 3, limits: STATES, threads };
    survey(&named.collect::<Vec<_>>(), how, &|_| {}).expect("every world is possible")
}

fn cell<'r>(row: &'r Row, world: &str) -> &'r Cell {
    row.cells.iter().find(|cell| cell.world == world).expect("such a world")
}

#[test]
fn the_bully_bears_a_crash_and_has_two_leaders_after_a_restart() {
    let rows = rows(&["bully"], 2);
    assert_eq!(cell(&rows[0], "crash-stop").words(), "holds");
    assert_eq!(cell(&rows[0], "crash-recovery").words(), "two leaders");
    assert_eq!(cell(&rows[0], "timed").verdict(), Some(Verdict::Holds));
    let asynchronous = cell(&rows[0], "asynchronous").words();
    assert_eq!(asynchronous, "two leaders, no agreement in the end");
    assert_eq!(rows[0].messages, Most::Unbounded, "heartbeats never end");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let printed = |threads| matrix::markdown(&surroundings(3), &rows(&["bully"], threads));
    assert_eq!(printed(1), printed(3));
}

/// `UPDATE_DOCS=1 cargo test readme_shows_the_matrix` writes the README's table and the picture
/// anew.
#[test]
fn the_readme_shows_the_matrix_and_its_picture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (readme, picture) = (root.join("README.md"), root.join("docs/images/survey.svg"));
    let (worlds, rows) = (surroundings(3), rows(&REGISTRY.names(), 2));
    let (table, drawn) = (matrix::markdown(&worlds, &rows), matrix::svg(&worlds, &rows));
    let text = fs::read_to_string(&readme).expect("the README");
    let (begin, end) = ("<!-- survey -->\n", "<!-- end of survey -->");
    let from = text.find(begin).expect("where the matrix begins") + begin.len();
    let to = from + text[from..].find(end).expect("where the matrix ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let updated = format!("{}{table}{}", &text[..from], &text[to..]);
        fs::write(&readme, updated).expect("written");
        fs::write(&picture, drawn).expect("written");
        return;
    }
    assert_eq!(
        &text[from..to],
        table,
        "UPDATE_DOCS=1 cargo test readme_shows_the_matrix writes it anew"
    );
    assert_eq!(fs::read_to_string(&picture).expect("the picture"), drawn);
}
