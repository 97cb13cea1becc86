//! What the commands print with `--json`: objects with a version, also of what is wrong.

use std::io::{self, Write as _};

use bellwether_cli::asks;
pub(super) use bellwether_cli::json::line;
use bellwether_cli::json::{halves, typed};
use serde_json::json;

use super::USAGE;

/// Tells what is wrong on standard output, where a program reads, if that is asked for. Returns
/// whether it is told.
pub(super) fn refuses(error: &anyhow::Error) -> bool {
    let parts: Vec<String> = error.chain().map(ToString::to_string).collect();
    let typed = typed();
    let halves: Vec<_> = parts.iter().map(|part| halves(part, &typed)).collect();
    let mut wrong = halves.iter().map(|(wrong, _)| wrong);
    let message = wrong.next();
    let help = halves.iter().find_map(|(_, help)| *help);
    let causes: Vec<_> = wrong.collect();
    let object = json!({
        "error": { "message": message, "causes": causes, "help": help },
        "status": USAGE,
    });
    asks("--json")
        && line(&object).is_ok_and(|line| io::stdout().write_all(line.as_bytes()).is_ok())
}
