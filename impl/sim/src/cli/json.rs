//! What the commands print with `--json`: objects with a version, also of what is wrong.

use std::io::{self, Write as _};

use bellwether_cli::asks;
pub(super) use bellwether_cli::json::line;
use serde_json::json;

use super::USAGE;

/// Tells what is wrong on standard output, where a program reads, if that is asked for. Returns
/// whether it is told.
pub(super) fn refuses(error: &anyhow::Error) -> bool {
    let parts: Vec<String> = error.chain().map(ToString::to_string).collect();
    let halves = || parts.iter().map(|part| part.split_once("; ").unwrap_or((part.as_str(), "")));
    let mut wrong = halves().map(|(wrong, _)| wrong);
    let message = wrong.next();
    // What is to be done stands in a message behind a semicolon.
    let help = halves().map(|(_, help)| help).find(|help| !help.is_empty());
    let causes: Vec<_> = wrong.collect();
    let object = json!({
        "error": { "message": message, "causes": causes, "help": help },
        "status": USAGE,
    });
    asks("--json")
        && line(&object).is_ok_and(|line| io::stdout().write_all(line.as_bytes()).is_ok())
}
