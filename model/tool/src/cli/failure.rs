//! A command that could not do what it was asked: what is wrong, for people on standard error, or,
//! with `--json`, for programs on standard output, where they read.

use super::{USAGE, complain, text};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Whether the command line asks for JSON. It need not be one that can be read.
pub(super) fn as_json() -> bool {
    let words = std::env::args_os().skip(1);
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// Tells what is wrong, from the whole to its causes, and returns the exit status.
pub(super) fn told(parts: &[String]) -> ExitCode {
    let asked = std::env::args_os().any(|word| word == "--ascii");
    let is_told = as_json() && text::print_json(&object(parts), asked).is_ok();
    if !is_told {
        complain(&parts.join(": "));
    }
    ExitCode::from(USAGE)
}

/// The object. What is to be done stands in a message behind a semicolon.
fn object(parts: &[String]) -> Value {
    let halves = || parts.iter().map(|part| part.split_once("; ").unwrap_or((part.as_str(), "")));
    let mut wrong = halves().map(|(wrong, _)| wrong);
    let message = wrong.next();
    let help = halves().map(|(_, help)| help).find(|help| !help.is_empty());
    let causes: Vec<_> = wrong.collect();
    json!({
        "error": { "message": message, "causes": causes, "help": help },
        "status": USAGE,
    })
}

#[cfg(test)]
mod tests {
    use super::object;
    use serde_json::json;

    #[test]
    fn what_is_wrong_why_and_what_to_do_are_apart() {
        let parts = ["cannot write a; give --out a file", "no room"].map(str::to_owned);
        let told = object(&parts);
        let error = json!({
            "message": "cannot write a", "causes": ["no room"], "help": "give --out a file",
        });
        assert_eq!(told, json!({ "error": error, "status": 2 }));
        let told = object(&["it is wrong".to_owned()]);
        assert_eq!(told["error"], json!({ "message": "it is wrong", "causes": [], "help": null }));
    }
}
