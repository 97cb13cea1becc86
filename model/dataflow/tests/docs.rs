//! The page on the dataflow is true: every command of the program that it shows is run, and what it
//! prints is compared with what stands under it.

use crate::examples::{compare, examples};
use assert_cmd::Command;
use std::path::Path;

#[test]
fn every_command_of_the_page_prints_what_stands_under_it() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dataflow.md");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let examples = examples(&page, "$ cargo run --release -p bellwether-dataflow -- ");
    assert!(examples.len() >= 3, "only {} commands", examples.len());
    for example in &examples {
        let mut command = Command::cargo_bin("bellwether-dataflow").expect("it is built");
        command.args(example.args.split(' ')).env_remove("COLUMNS").current_dir(&folder);
        let output = command.output().expect("it runs");
        let limited = example.args.contains(" --max-");
        let expected = if limited { 3 } else { 0 };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(expected), "{}: {said}", example.place);
        compare(example, &String::from_utf8_lossy(&output.stdout));
    }
}
