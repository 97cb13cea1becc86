//! The page on the dataflow is true: every command of the program that it shows is run, and what it
//! prints is compared with what stands under it.

use bellwether_docs_runner::{Console, pages};

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
