//! Command lines that cannot be run.

use std::path::PathBuf;
use std::process::Command;

/// Returns the exit status and the message of a program that refuses a line. The first words of the
/// line may set variables. The message has the name of the program in place of its path. Fails if
/// the program does not print an error and nothing else.
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
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(stderr.starts_with("error: ") && !stderr.contains("panicked"), "{line}: {stderr}");
    assert!(output.stdout.is_empty(), "{line} prints something else");
    let status = output.status.code().expect("no signal ends it");
    let message = stderr.trim_end().trim_end_matches("For more information, try '--help'.");
    (status, message.trim_end().replace(&*program.to_string_lossy(), &name))
}
