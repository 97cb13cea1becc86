//! The exit status of a comparison that finds a difference, whatever becomes of what is printed and
//! saved. The right program shows none, so this test is a wrong one too: it has no harness, and
//! runs itself with the command line of the bridge.

#[allow(dead_code, reason = "the other mistakes are for other tests")]
mod wrong;

use bellwether_conformance::cli::{self, Further};
use bellwether_conformance::mapping::{Comparison, Mappings};
use bellwether_docs_runner::{object_of, other_statuses};
use bellwether_model::protocol::specifications;
use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};
use wrong::ignores_ok;

/// Set where this program is the wrong one.
const WRONG: &str = "BELLWETHER_TEST_IS_WRONG";

const LINES: &[(&str, i32)] = &[
    ("lockstep --recoveries 1 --out found.ndjson", 1),
    ("lockstep --recoveries 1 --json", 1),
    ("lockstep --recoveries 1 --out /dev/full", 1),
    ("lockstep --recoveries 1 --out /dev/full --json", 1),
    ("suite --recoveries 1 --out executions --limit 2", 1),
    ("suite --recoveries 1 --json", 1),
    ("replay executions/divergence.ndjson", 1),
    ("replay found.ndjson", 1),
    ("replay found.ndjson --json", 1),
    ("replay found.ndjson --verbose", 1),
    ("lockstep --recoveries 1 --verbose", 1),
];

fn main() -> ExitCode {
    if env::var_os(WRONG).is_some() {
        let wrong: Box<dyn Comparison> = Box::new(ignores_ok());
        let mappings = Mappings(Box::leak(Box::new([wrong])));
        return cli::main("bellwether-conformance", mappings, Further::default(), specifications());
    }
    // What asks for the names of tests finds none; whatever else is asked, it is one test.
    if !env::args().any(|word| word == "--list") {
        test();
    }
    ExitCode::SUCCESS
}

fn program(folder: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.env(WRONG, "1").env("NO_COLOR", "1").current_dir(folder);
    command
}

fn test() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = || program(folder.path());
    let wrong = LINES.iter().flat_map(|&line| other_statuses(run, line, 2));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let (lost, _) = LINES[2];
    let output = run().args(lost.split(' ')).output().expect("it runs");
    let [said, told] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
    assert!(said.contains("The program diverges.") && !said.contains("Saved: "), "{said}");
    // The recovery that the world allows is not needed.
    assert!(said.contains("Found after 4 steps of 3 nodes, and reduced."), "{said}");
    assert!(said.contains("What the model does:"), "{said}");
    let says = ["error: cannot write /dev/full; give --out", "No space left on device"];
    assert!(says.iter().all(|says| told.contains(says)), "{told}");

    let output = run().args(["replay", "found.ndjson", "--json"]).output().expect("it runs");
    let object = object_of("bellwether-conformance-replay", output.stdout);
    assert_eq!(object["verdict"], "diverges");
    assert!(object["divergence"]["header"].is_object(), "{object}");
}
