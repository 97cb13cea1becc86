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

/// What was typed, and could be taken for two halves of a message: a path may have a semicolon.
fn typed() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    // A message has a word with its flag in front, or without.
    let values = |word: String| {
        let value = word.split_once('=').map(|(_, value)| value.to_owned());
        [Some(word), value].into_iter().flatten()
    };
    words.flat_map(values).filter(|word| word.contains("; ")).collect()
}

/// What is wrong, and what is to be done: that stands in a message behind the first semicolon that
/// is no part of what was typed.
fn halves<'t>(text: &'t str, typed: &[String]) -> (&'t str, Option<&'t str>) {
    let is_typed = |at: usize| {
        let mut places = typed.iter().flat_map(|word| text.match_indices(word.as_str()));
        places.any(|(from, word)| (from..from + word.len()).contains(&at))
    };
    let mut ends = text.match_indices("; ").map(|(at, _)| at);
    match ends.find(|&at| !is_typed(at)) {
        Some(end) => (&text[..end], Some(&text[end + 2..])),
        None => (text, None),
    }
}

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
    is_asked() && line(&object).is_ok_and(|line| io::stdout().write_all(line.as_bytes()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::halves;

    #[test]
    fn a_path_that_was_typed_is_in_one_half() {
        let typed = ["a; b.toml".to_owned()];
        let told = halves("cannot read a; b.toml; name another", &typed);
        assert_eq!(told, ("cannot read a; b.toml", Some("name another")));
        assert_eq!(halves("no a; b", &typed), ("no a", Some("b")), "it was not typed");
    }
}
