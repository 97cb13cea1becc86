//! A command that could not do what it was asked: what is wrong, for people on standard error, or,
//! with `--json`, for programs on standard output, where they read.

use super::{USAGE, complain, text};
use bellwether_cli::asks;
use bellwether_cli::json::{halves, typed};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Whether the command line asks for JSON. It need not be one that can be read.
pub(super) fn as_json() -> bool {
    asks("--json")
}

/// Tells what is wrong, from the whole to its causes, and returns the exit status.
pub(super) fn told(parts: &[String]) -> ExitCode {
    let object = || object(parts, &typed());
    let is_told = as_json() && text::print_json(&object(), asks("--ascii")).is_ok();
    if !is_told {
        complain(&parts.join(": "));
    }
    ExitCode::from(USAGE)
}

/// The object. What is to be done stands behind a semicolon in the first line of a message; the
/// next lines show what was typed. If several messages have some, those after the first keep it.
fn object(parts: &[String], typed: &[String]) -> Value {
    let mut help = None;
    let mut wrong = Vec::new();
    for part in parts {
        wrong.push(match halves(part, typed) {
            (wrong, Some(what)) if help.is_none() && !wrong.contains('\n') => {
                help = Some(what);
                wrong
            }
            _ => part.as_str(),
        });
    }
    let message = wrong.first();
    let causes = wrong.get(1..).unwrap_or_default();
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
        let told = object(&parts, &[]);
        let error = json!({
            "message": "cannot write a", "causes": ["no room"], "help": "give --out a file",
        });
        assert_eq!(told, json!({ "error": error, "status": 2 }));
        let told = object(&["it is wrong".to_owned()], &[]);
        assert_eq!(told["error"], json!({ "message": "it is wrong", "causes": [], "help": null }));
    }

    #[test]
    fn nothing_that_was_typed_is_taken_for_help_and_no_help_is_lost() {
        let typed = "';' has no meaning in an expression\n  a; b\n   ^".to_owned();
        let told = object(&[typed.clone(), "no; do".to_owned(), "none; try".to_owned()], &[]);
        let error = json!({ "message": typed, "causes": ["no", "none; try"], "help": "do" });
        assert_eq!(told["error"], error);
    }

    #[test]
    fn a_path_that_was_typed_is_in_one_half() {
        let parts = ["cannot open a; b: no; name c; d".to_owned(), "e; f".to_owned()];
        let told = object(&parts, &["a; b".to_owned()]);
        let error =
            json!({ "message": "cannot open a; b: no", "causes": ["e; f"], "help": "name c; d" });
        assert_eq!(told["error"], error);
        let told = object(&parts, &[]);
        assert_eq!(told["error"]["message"], "cannot open a", "it was not typed");
    }
}
