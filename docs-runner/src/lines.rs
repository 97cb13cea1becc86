//! Command lines that cannot be run.

use crate::object_of;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Returns the exit status and the message of a program that refuses a line. The first words of the
/// line may set variables. The message has the name of the program in place of its path. Fails if
/// the program does not print an error and nothing else: with `--json`, an object that says it.
#[track_caller]
pub fn refused(command: &mut Command, line: &str) -> (i32, String) {
    let mut words = line.split_whitespace().peekable();
    while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
        command.env(name, value);
        words.next();
    }
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().expect("a program has a name").to_string_lossy();
    let output = command.args(words).output().expect("it runs");
    let status = output.status.code().expect("no signal ends it");
    let [stdout, mut stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
    if line.split_whitespace().any(|word| word == "--json") {
        assert_eq!(stderr, "", "{line}");
        stderr = said(line, &stdout, status);
    } else {
        assert_eq!(stdout, "", "{line} prints something else");
    }
    assert!(stderr.starts_with("error: ") && !stderr.contains("panicked"), "{line}: {stderr}");
    let message = stderr.trim_end().trim_end_matches("For more information, try '--help'.");
    (status, message.trim_end().replace(&*program.to_string_lossy(), &name))
}

/// The message of an error that is printed as JSON, as it is printed without that.
#[track_caller]
fn said(line: &str, stdout: &str, status: i32) -> String {
    let object = object_of("error", stdout);
    assert_eq!(object["status"], status, "{line}");
    let error = &object["error"];
    let causes = error["causes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut text = format!("error: {}", error["message"].as_str().unwrap_or_default());
    text.extend(error["help"].as_str().map(|help| format!("; {help}")));
    text.extend(causes.map(|cause| format!(": {cause}")));
    text
}
