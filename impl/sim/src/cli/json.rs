//! What the commands print with `--json`: objects with a version, also of what is wrong.

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::json;

use super::USAGE;

/// The version of what is printed as JSON. It is raised when a key goes, or means something else;
/// a key that is new does not change it.
const VERSION: u32 = 1;

/// An object with the version in front of its own keys.
#[derive(Serialize)]
struct Versioned<'o, T> {
    version: u32,
    #[serde(flatten)]
    object: &'o T,
}

/// The line that is printed of an object.
pub(super) fn line(object: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(&Versioned { version: VERSION, object })? + "\n")
}

/// Whether the command line asks for JSON. It need not be one that can be read.
fn is_asked() -> bool {
    let words = std::env::args_os().skip(1);
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

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
    is_asked() && line(&object).is_ok_and(|line| io::stdout().write_all(line.as_bytes()).is_ok())
}
