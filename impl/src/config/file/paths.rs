//! The paths of a configuration: a relative one in the file begins in the folder of the file, and
//! one in a flag or a variable begins in the working directory.

use std::io;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Overrides;

/// The keys whose value is a program and its arguments.
const PROGRAMS: [&str; 3] = ["before_leading", "on_change", "check"];

/// The empty path: what begins there, begins in the working directory.
pub(super) const HERE: &str = "";

/// Returns the folder of a file.
pub(super) fn folder(file: &Path) -> io::Result<String> {
    let mut folder = std::path::absolute(file)?;
    folder.pop();
    let text = folder.into_os_string().into_string();
    text.map_err(|_| io::Error::other("the path of its folder is not UTF-8"))
}

/// Makes the paths of a file in this folder absolute.
pub(super) fn of_file(root: &mut DeTable<'_>, folder: &str) {
    for (_, section) in root {
        let DeValue::Table(section) = section.get_mut() else { continue };
        for (key, value) in section {
            match value.get_mut() {
                DeValue::String(text) => *text = setting(folder, key.get_ref(), text).into(),
                DeValue::Array(words) if PROGRAMS.contains(&key.get_ref().as_ref()) => {
                    if let Some(DeValue::String(word)) = words.first_mut().map(Spanned::get_mut) {
                        *word = program(folder, word).into();
                    }
                }
                _ => {}
            }
        }
    }
}

/// Makes the paths among the keys of the protocol's section absolute, the store included.
pub(super) fn of_settings(overrides: &mut Overrides) {
    let Overrides { settings, store, .. } = overrides;
    settings.extend(store.take().map(|store| ("store".to_owned(), store)));
    for (key, value) in settings {
        *value = setting(HERE, key, value);
    }
}

/// The value of a key; if it is a path, it begins in this folder.
fn setting(folder: &str, key: &str, value: &str) -> String {
    match value.strip_prefix("sqlite:") {
        // A database in memory has no path, and is refused elsewhere.
        Some(path) if key == "store" && path != ":memory:" => {
            format!("sqlite:{}", absolute(folder, path))
        }
        _ if ["directory", "trace"].contains(&key) || key.ends_with("_file") => {
            absolute(folder, value)
        }
        _ => value.to_owned(),
    }
}

/// The name of a program: without a slash, it is looked for in `PATH`.
pub(super) fn program(folder: &str, name: &str) -> String {
    if name.contains('/') { absolute(folder, name) } else { name.to_owned() }
}

fn absolute(folder: &str, path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    let whole = std::path::absolute(Path::new(folder).join(path)).ok();
    let text = whole.and_then(|whole| whole.into_os_string().into_string().ok());
    // If the working directory is gone or not UTF-8, the path leads to the same file as it is.
    text.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SecuritySettings, Source, StorageSettings};
    use crate::protocol::lease::Lease;

    const FILE: &str = "\
cluster = \"orders\"
node = 2
[members]
1 = \"127.0.0.1:7001\"
2 = \"127.0.0.1:7002\"
[storage]
directory = \"./data/{protocol}-{node}\"
[lease]
store = 1
store_ca_file = \"../ca-{node}.pem\"
[security]
mode = \"secret\"
secret_file = \"keys/secret\"
[http]
token_file = \"/etc/token\"
[hooks]
before_leading = [\"./prepare\", \"./data\"]
on_change = [\"tell\"]
[log]
trace = \"trace\"
";

    /// What is written of the file, and the folder in which it is.
    fn written(overrides: Overrides) -> (String, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("orders.toml");
        std::fs::write(&path, FILE).expect("writable");
        let source = Source::read(&path, overrides).expect("readable");
        let (config, log) = source.config::<Lease>().expect("valid");
        (config.to_toml(&log), folder.path().to_str().expect("plain text").to_owned())
    }

    fn has_lines(text: &str, lines: &[String]) {
        for line in lines {
            assert!(text.lines().any(|written| written == line), "{line} is missing in: {text}");
        }
    }

    #[test]
    fn a_path_in_a_file_begins_in_its_folder() {
        let (text, folder) = written(Overrides::default());
        let lines = [
            format!("directory = \"{folder}/data/lease-2\""),
            format!("store_ca_file = \"{folder}/../ca-{{node}}.pem\""),
            format!("secret_file = \"{folder}/keys/secret\""),
            "token_file = \"/etc/token\"".to_owned(),
            format!("before_leading = [\"{folder}/prepare\", \"./data\"]"),
            "on_change = [\"tell\"]".to_owned(),
            format!("trace = \"{folder}/trace\""),
        ];
        has_lines(&text, &lines);
        assert_eq!(setting(&folder, "store", "sqlite:a.db"), format!("sqlite:{folder}/a.db"));
        for value in ["sqlite::memory:", "etcd://db:2379", "3"] {
            assert_eq!(setting(&folder, "store", value), value);
        }
    }

    #[test]
    fn a_path_in_a_flag_begins_in_the_working_directory() {
        let named = |name: &str| Some(name.to_owned());
        let (text, _) = written(Overrides {
            storage: StorageSettings { directory: named("{node}") },
            security: SecuritySettings {
                secret_file: named("secret"),
                ..SecuritySettings::default()
            },
            settings: vec![("store_ca_file".to_owned(), "ca.pem".to_owned())],
            ..Overrides::default()
        });
        let here = std::env::current_dir().expect("a folder");
        let here = here.to_str().expect("plain text");
        let lines = [
            format!("directory = \"{here}/2\""),
            format!("secret_file = \"{here}/secret\""),
            format!("store_ca_file = \"{here}/ca.pem\""),
        ];
        has_lines(&text, &lines);
    }
}
