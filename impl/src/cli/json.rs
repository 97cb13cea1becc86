//! What the commands print with `--json`: objects with a version, also of what is wrong.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Failure, log, print};

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
pub(super) fn line(object: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(&Versioned { version: VERSION, object });
    Ok(text.map_err(Failure::runtime)? + "\n")
}

/// Whether the command line asks for JSON. It need not be one that can be read.
pub(super) fn is_asked() -> bool {
    let words = std::env::args_os().skip(1);
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// What is wrong, as an object.
pub(super) fn failure(text: &str, causes: &[String], status: u8) -> Value {
    let (message, help) = halves(text, &typed());
    json!({
        "error": { "message": message, "causes": causes, "help": help },
        "status": status,
    })
}

/// What was typed, or set in the environment, and could be taken for two halves of a message: a
/// path may have a semicolon.
fn typed() -> Vec<String> {
    let ours = std::env::vars_os()
        .filter(|(name, _)| name.to_string_lossy().starts_with("BELLWETHER_"))
        .map(|(_, value)| value);
    let words = std::env::args_os().skip(1).chain(ours);
    let words = words.map(|word| word.to_string_lossy().into_owned());
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
        assert!(line(&[1]).is_err(), "a list has no version");
    }

    #[test]
    fn a_path_that_was_typed_is_in_one_half() {
        let typed = ["a; b.toml".to_owned()];
        let told = halves("cannot read a; b.toml: it is away; name a; b.toml or c; d", &typed);
        assert_eq!(told, ("cannot read a; b.toml: it is away", Some("name a; b.toml or c; d")));
        assert_eq!(halves("cannot read a; b.toml", &typed), ("cannot read a; b.toml", None));
        assert_eq!(halves("no a; b", &typed), ("no a", Some("b")), "it was not typed");
    }
}
