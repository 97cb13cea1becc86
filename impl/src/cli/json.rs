//! What the commands print with `--json`: objects with a version, also of what is wrong.

use bellwether_cli::json::{halves, typed};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Failure, log, print};

/// The line that is printed of an object.
pub(super) fn line(object: &impl Serialize) -> Result<String, Failure> {
    bellwether_cli::json::line(object).map_err(Failure::runtime)
}

/// Whether the command line asks for JSON. It need not be one that can be read.
pub(super) fn is_asked() -> bool {
    bellwether_cli::asks("--json")
}

/// What is wrong, as an object.
pub(super) fn failure(text: &str, causes: &[String], status: u8) -> Value {
    let (message, help) = halves(text, &typed());
    json!({
        "error": { "message": message, "causes": causes, "help": help },
        "status": status,
    })
}

/// Tells what is wrong: as text on standard error, or with `--json` on standard output, where a
/// program reads.
pub(super) fn complain(text: String, causes: &[String], status: u8) {
    let told = || line(&failure(&text, causes, status)).and_then(|line| print(&line));
    if !is_asked() || told().is_err() {
        log::complain(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_and_what_to_do_are_apart() {
        let causes = ["refused".to_owned()];
        let told = line(&failure("it is not there; start it", &causes, 3)).expect("an object");
        let expected = json!({
            "version": 1,
            "error": { "message": "it is not there", "causes": causes, "help": "start it" },
            "status": 3,
        });
        assert_eq!(serde_json::from_str::<Value>(&told).expect("JSON"), expected);
        assert_eq!(failure("wrong", &[], 2)["error"]["help"], Value::Null);
    }
}
