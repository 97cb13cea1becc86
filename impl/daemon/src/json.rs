//! What the commands print with `--json`: objects with a version, also of what is wrong.

use bellwether_cli::failure::{asks_for_json, told_as_json};
use serde::Serialize;

use super::{Failure, log};

/// The line that is printed of an object.
pub(super) fn line(object: &impl Serialize) -> Result<String, Failure> {
    bellwether_cli::json::line(object).map_err(Failure::runtime)
}

/// Tells what is wrong: as text on standard error, or with `--json` on standard output, where a
/// program reads.
pub(super) fn complain(text: &str, causes: &[String], status: u8) {
    let parts = [std::slice::from_ref(&text.to_owned()), causes].concat();
    if !is_asked() || !told_as_json(&parts, status) {
        log::complain(text);
    }
}

/// Returns whether the command line has `--json`. `exec` has no such flag: the word is one of its
/// command.
pub(super) fn is_asked() -> bool {
    let is_exec = std::env::args_os().nth(1).is_some_and(|word| word == "exec");
    !is_exec && asks_for_json()
}
