//! What SIGHUP does: the configuration is read again, with the files of secrets, keys and
//! certificates that it names, and what may change while a node runs is replaced, all of it or
//! nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bellwether::config::{self, Credentials, Hooks, Log, Overrides, Runnable, Visitor};
use bellwether::http::Options;
use bellwether::{Config, Election};

use super::http::Keys as HttpKeys;
use super::{hooks, log};

/// The keys that may change while a node runs. Its protocol, its timing and its members are what
/// the others count on. What is in the files may always change.
const RELOADABLE: [&str; 10] = [
    "log.level",
    "hooks.on_change",
    "hooks.timeout",
    "hooks.retry",
    "security.secret_file",
    "security.second_secret_file",
    "security.ca_file",
    "security.certificate_file",
    "security.key_file",
    "http.token_file",
];

/// Where a running node has its configuration from, and what it is.
pub(crate) struct Reload {
    path: PathBuf,
    overrides: Overrides,
    current: Keys,
}

/// Keys and values of a configuration, every default included.
type Keys = BTreeMap<String, String>;

impl Reload {
    /// What the node runs with now.
    pub(crate) fn new<C: Runnable>(
        path: PathBuf,
        overrides: Overrides,
        config: &Config<C>,
        log: &Log,
    ) -> Self {
        Self { path, overrides, current: keys(&config.to_toml(log)) }
    }

    /// Reads the configuration again, and replaces what has changed. Says so in the log, or why
    /// nothing is replaced.
    pub(crate) fn reload(&mut self, node: u16, running: &Running<'_>, http: &Options) {
        match self.read() {
            Ok(read) => {
                running.log.set(&read.log.levels);
                running.hooks.set(read.hooks);
                running.election.replace_credentials(read.credentials);
                read.http.replace(http);
                let changed = difference(&self.current, &read.keys).join(", ");
                let changed = if changed.is_empty() { "nothing" } else { &changed };
                tracing::info!(node, changed, "the configuration was read again");
                self.current = read.keys;
            }
            Err(error) => tracing::error!(
                node,
                error,
                "the configuration was read again, and nothing of it is used"
            ),
        }
    }

    fn read(&self) -> Result<Read, String> {
        let read = config::load(&self.path, self.overrides.clone(), Reading).flatten();
        let read = read.map_err(|error| error.to_string())?;
        let changed = difference(&self.current, &read.keys);
        let fixed = changed.into_iter().filter(|key| !RELOADABLE.contains(&key.as_str()));
        let fixed: Vec<_> = fixed.map(|key| format!("`{key}`")).collect();
        if fixed.is_empty() {
            return Ok(read);
        }
        let (keys, cannot) =
            (fixed.join(", "), RELOADABLE.map(|key| format!("`{key}`")).join(", "));
        Err(format!(
            "{keys} cannot change while the node runs: restart it, or change that back; what can \
             change is {cannot}"
        ))
    }
}

/// The parts of a running program that a configuration can change.
pub(crate) struct Running<'a> {
    pub(crate) log: &'a log::Started,
    pub(crate) hooks: &'a hooks::Running,
    pub(crate) election: &'a Election,
}

/// A configuration that was read, and the files that it names.
struct Read {
    keys: Keys,
    log: Log,
    hooks: Hooks,
    credentials: Credentials,
    http: HttpKeys,
}

struct Reading;

impl Visitor for Reading {
    type Output = Result<Read, config::Error>;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output {
        Ok(Read {
            keys: keys(&config.to_toml(&log)),
            credentials: config.credentials()?,
            http: HttpKeys::read(&config)?,
            hooks: config.hooks().clone(),
            log,
        })
    }
}

/// The keys whose values differ.
fn difference(before: &Keys, after: &Keys) -> Vec<String> {
    let all = before.iter().chain(after);
    let differ = all.filter(|&(key, _)| before.get(key) != after.get(key));
    let mut names: Vec<String> = differ.map(|(key, _)| key.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A file that says everything, as keys with their sections.
fn keys(file: &str) -> Keys {
    fn collect(keys: &mut Keys, path: &str, value: &toml::Value) {
        match value {
            toml::Value::Table(table) => table.iter().for_each(|(key, value)| {
                let dot = if path.is_empty() { "" } else { "." };
                collect(keys, &format!("{path}{dot}{key}"), value);
            }),
            value => drop(keys.insert(path.to_owned(), value.to_string())),
        }
    }
    let mut keys = Keys::new();
    // What the program has written itself is well-formed.
    if let Ok(table) = file.parse() {
        collect(&mut keys, "", &toml::Value::Table(table));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_its_section() {
        let before = keys("node = 1\n[log]\nlevel = \"info\"\n[members]\n1 = \"a:1\"\n");
        let after =
            keys("node = 1\n[log]\nlevel = \"warn\"\n[members]\n1 = \"a:1\"\n2 = \"b:1\"\n");
        assert_eq!(before.len(), 3);
        assert_eq!(difference(&before, &after), ["log.level", "members.2"]);
        assert_eq!(difference(&after, &before), ["log.level", "members.2"]);
        assert!(difference(&after, &after).is_empty());
    }
}
