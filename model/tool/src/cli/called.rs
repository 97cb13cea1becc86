//! How this program is called: what it prints as the next command works as it stands.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// Returns the beginning of a command that calls this program again: under `cargo run` that of
/// cargo with these arguments of its own, such as `-p PACKAGE`; otherwise what was typed.
#[must_use]
pub fn called(name: &str, cargo: &str) -> String {
    let typed = env::args_os().next().unwrap_or_default();
    let by_cargo = env::var_os("CARGO").is_some() && is_built(Path::new(&typed));
    match typed.to_str() {
        _ if by_cargo && cargo.is_empty() => "cargo run --release --".to_owned(),
        _ if by_cargo => format!("cargo run --release {cargo} --"),
        Some(typed) if !typed.is_empty() && !typed.contains(char::is_whitespace) => {
            typed.to_owned()
        }
        _ => name.to_owned(),
    }
}

/// Whether the program is where cargo builds it, rather than where it is installed.
fn is_built(program: &Path) -> bool {
    let folder = program.parent().and_then(Path::file_name);
    folder.is_some_and(|folder| [OsStr::new("debug"), OsStr::new("release")].contains(&folder))
}

#[cfg(test)]
mod tests {
    use super::is_built;
    use std::path::Path;

    #[test]
    fn what_cargo_builds_is_told_from_what_is_installed() {
        for built in ["target/release/tool", "/home/of/me/target/debug/tool"] {
            assert!(is_built(Path::new(built)), "{built}");
        }
        for installed in ["tool", "./tool", "/usr/local/bin/tool", ""] {
            assert!(!is_built(Path::new(installed)), "{installed}");
        }
    }
}
