//! What the programs print as JSON: objects with a version.

use serde::Serialize;
use std::io::{self, Write};

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

/// Prints that line.
///
/// # Errors
/// If it cannot be printed, or is not an object.
pub fn print(object: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line(object)?.as_bytes())?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::line;
    use serde_json::json;

    #[test]
    fn only_an_object_has_a_version() {
        let told = line(&json!({ "status": 3 })).expect("an object");
        assert_eq!(told, "{\"version\":1,\"status\":3}\n");
        assert!(line(&[1]).is_err(), "a list has no version");
    }
}
