//! The command line as a person or a script meets it: messages, exit statuses, and what is printed
//! where. The scripts in `tests/lines` tell them.

use bellwether_docs_runner::script::run_scripts;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The program, without what the environment says about its output.
fn bellwether() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-model"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

/// What a run printed and returned.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run_in(dir: &Path, line: &str) -> Ran {
    run_args(dir, &line.split_whitespace().collect::<Vec<_>>())
}

pub(crate) fn run_args(dir: &Path, args: &[&str]) -> Ran {
    let mut command = bellwether();
    command.env("CARGO", "cargo").current_dir(dir).args(args);
    let output = command.output().expect("the binary runs");
    let ran = Ran {
        status: output.status.code().expect("it ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    };
    assert!(!ran.stderr.contains("panicked"), "{args:?}: {}", ran.stderr);
    assert!(!ran.stdout.contains('\u{1b}'), "{args:?}: escape codes in a pipe: {}", ran.stdout);
    assert!(!ran.stderr.contains('\u{1b}'), "{args:?}: escape codes in a pipe: {}", ran.stderr);
    ran
}

pub(crate) fn run(line: &str) -> Ran {
    run_in(Path::new("."), line)
}

pub(crate) fn piped(line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-model"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
}

/// `UPDATE=1 cargo test -p bellwether-model scripts` writes anew what is printed.
#[test]
fn the_scripts_tell_what_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lines");
    run_scripts(&folder, || {
        // As if it were installed.
        let mut command = bellwether();
        command.env_remove("CARGO");
        command
    });
}

/// A timed world of the recommended bully.
const TIMED: &str = "--timing timed --delay 1 --t-elec 3 --t-coord 8 --t-detect 1 --t-heartbeat 3";

#[test]
fn every_variant_and_every_property_that_is_listed_can_be_asked() {
    let json_of = |line: &str| -> Value {
        let ran = run(line);
        assert_eq!(ran.stderr, "", "{line}");
        serde_json::from_str(&ran.stdout).expect("one JSON object")
    };
    let (all, one) = (json_of("list --json"), json_of("list bully --json"));
    let variants = one["variants"].as_array().expect("a list");
    let listed = all["protocols"][0]["variants"].as_array();
    assert_eq!(Some(variants.len()), listed.map(Vec::len));
    for variant in variants {
        let name = variant["name"].as_str().expect("a name");
        let line = format!("check bully --variant {name} --max-states 1 --json");
        assert_eq!(json_of(&line)["variant"], *name);
    }
    for property in one["properties"].as_array().expect("a list") {
        let name = property["name"].as_str().expect("a name");
        let timing = match name {
            "agreed-within" => format!(" {TIMED} --within 9"),
            _ if property["timed"] == true => format!(" {TIMED}"),
            _ => String::new(),
        };
        let line = format!("check bully -p {name} --json{timing}");
        assert_eq!(json_of(&line)["properties"][0]["name"], *name);
    }
}
