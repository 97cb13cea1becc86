//! What the programs print as JSON: objects with a version.

use serde::Serialize;

/// The version of what is printed as JSON. It is raised when a key goes, or means something else;
/// a key that is new does not change it.
pub const VERSION: u32 = 1;

/// An object with the version in front of its own keys.
#[derive(Serialize)]
struct Versioned<'o, T> {
    version: u32,
    #[serde(flatten)]
    object: &'o T,
}

/// Returns the line that is printed of an object, with its [version](VERSION).
///
/// # Errors
/// If it is not an object.
pub fn line(object: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(&Versioned { version: VERSION, object })? + "\n")
}

/// Returns what was typed, or set in the environment, and could be taken for two halves of a
/// message: a path may have a semicolon.
#[must_use]
pub fn typed() -> Vec<String> {
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

/// Returns what is wrong, and what is to be done: that stands in a message behind the first
/// semicolon that is no part of what was typed.
#[must_use]
pub fn halves<'t>(text: &'t str, typed: &[String]) -> (&'t str, Option<&'t str>) {
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

#[cfg(test)]
mod tests {
    use super::{halves, line};
    use serde_json::json;

    #[test]
    fn only_an_object_has_a_version() {
        let told = line(&json!({ "status": 3 })).expect("an object");
        assert_eq!(told, "{\"version\":1,\"status\":3}\n");
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
